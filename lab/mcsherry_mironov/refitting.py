"""McSherry & Mironov 2009, §5.1: ridge and both β of the cleaning, trained for each set and each θ.

The paper descends by the gradient of the RMSE, which it measures with noise and charges for. Here a part of
the training ratings is held back, a model is fitted to the rest under the noise of θ, and its RMSE on the
part is taken exactly and **not charged**: no ε here covers these looks. What they choose is then fitted to
all training ratings, and measured on the test part, which chose nothing.

Privacy: private. All noise is seeded, and errors are measured on real ratings.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import hushrec as hr
from hushrec.evaluation.compare import METRICS
from hushrec.evaluation.protocol import predictions
from lab import published
from lab.experiments.source import Data, Split
from lab.mcsherry_mironov.over_time import budget, claimed
from lab.reproduction import Held, Trial, Trials

HELD = 0.05
"""Part of the training ratings that chooses, and is then fitted like the others."""
SHRINKAGE = (10.0, 100.0)
"""β of the diagonal and of the rest where the walk begins."""
RIDGES, BETAS = (2.0, range(-3, 13)), (4.0, range(-3, 5))
"""Factor of a step, and which powers of it the walk may take: 1/8 to 4,096 times, 1/64 to 256 times."""
TYPES = {
    **dict.fromkeys(("data", "model", "cleaning"), pl.String),
    **dict.fromkeys(("split", "looks"), pl.Int64),
    **dict.fromkeys(("theta", "ridge", "diagonal", "rest", "held_rmse", "rmse", "true_epsilon"), pl.Float64),
}
Place = tuple[int, ...]


def work(
    data: Data, split: Split, thetas: Sequence[float | None], curves: Mapping[str, tuple[str, str]]
) -> Trials:
    """Every curve, with parameters of its own at each θ and each split.

    Args:
        data: the ratings.
        split: training and test parts.
        thetas: of the noise; None without.
        curves: name → model and cleaning.
    """
    listed = [
        Trial(name, {"data": data.title, "split": n, "model": model, "cleaning": cleaning, "theta": theta})
        for n, theta, (name, (model, cleaning)) in itertools.product(split.numbers, thetas, curves.items())
    ]
    return Trials(listed, Refit(data, split), TYPES)


def descend(error: Callable[[Place], float], steps: Sequence[range]) -> Place:
    """Walk from zeros along one coordinate at a time to a place that no single step improves.

    Args:
        error: of a place, an integer for each coordinate.
        steps: the integers that each coordinate may take; 0 among them.
    """
    place: Place = (0,) * len(steps)
    best, last = error(place), None
    while place != last:
        last = place
        for axis, way in itertools.product(range(len(steps)), (1, -1)):
            while (to := place[axis] + way) in steps[axis]:
                beside = (*place[:axis], to, *place[axis + 1 :])
                if (found := error(beside)) >= best:
                    break
                place, best = beside, found
    return place


def with_ridge(release: hr.Release, factor: float) -> hr.Release:
    """The release with another ridge: the variance of a rating that its predictions take, times a factor."""
    noise = release.tensors["item_noise"] * np.float32(factor)
    return replace(release, tensors={**release.tensors, "item_noise": noise})


class Refit(Held):
    """Where parameters are chosen and then measured."""

    def measure(self, trial: Trial) -> list[dict[str, Any]]:
        """What was chosen, and its RMSE on the test part."""
        said = trial.settings
        return [self._of(said["split"], said["model"], said["cleaning"], said["theta"])]

    def _of(self, number: int, model: str, cleaning: str, theta: float | None) -> dict[str, Any]:
        train, test, rest, held = self.parts(number, HELD)
        spent = None if theta is None else budget(claimed(theta))
        shrinks = cleaning == "shrink"

        def released(ratings: hr.People, betas: Place) -> hr.Release:
            how: dict[str, Any] = {"cleaning": cleaning, "threads": 1}
            if shrinks:
                how["shrinkage"] = tuple(
                    start * BETAS[0] ** power for start, power in zip(SHRINKAGE, betas, strict=True)
                )
            form = published.class_of(model)(covariance=how)
            if spent:
                return published.fit(ratings, form, spent, self.split.entropy(number, 0))
            made: hr.Release = hr.baseline(ratings, form)
            return made

        known = cache(lambda betas: released(rest, betas))

        @cache
        def error(place: Place) -> float:
            made = with_ridge(known(place[1:]), RIDGES[0] ** place[0])
            return METRICS["rmse"](held.numbers(), predictions(made, train=rest, test=held))

        place = descend(error, [RIDGES[1], *([BETAS[1]] * 2 if shrinks else [])])
        made = with_ridge(released(train, place[1:]), RIDGES[0] ** place[0])
        betas = [start * BETAS[0] ** power for start, power in zip(SHRINKAGE, place[1:], strict=False)]
        return {
            "ridge": RIDGES[0] ** place[0],
            "diagonal": betas[0] if betas else None,
            "rest": betas[1] if betas else None,
            "looks": error.cache_info().currsize,
            "held_rmse": error(place),
            "rmse": METRICS["rmse"](test.numbers(), predictions(made, train=train, test=test)),
            "true_epsilon": _worth(model, cleaning, train, spent),
        }


def _worth(model: str, cleaning: str, train: hr.People, spent: hr.Budget | None) -> float:
    """True ε of a curve; infinite without noise."""
    if spent is None:
        return math.inf
    form = published.class_of(model)(covariance={"cleaning": cleaning})
    return published.cost(form, train.domain, spent).true


def as_curves(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows as those of a grid whose ε is θ."""
    return rows.select(
        "name",
        "split",
        "rmse",
        "true_epsilon",
        *(
            pl.lit(None, pl.Float64).alias(name)
            for name in ("claimed_epsilon", "fit_seconds", "predict_seconds")
        ),
        seed=pl.lit(0, pl.Int64),
        unit=pl.when(pl.col("theta").is_not_null()).then(pl.lit("record")),
        adjacency=pl.when(pl.col("theta").is_not_null()).then(pl.lit("add-remove")),
        analysis=pl.lit("published"),
        epsilon=pl.col("theta").fill_null(math.inf),
    )


def chosen(rows: pl.DataFrame) -> dict[tuple[str, float], str]:
    """Curve and θ (infinite without noise) → what was chosen, in words; a range where the splits differ."""
    found = {}
    for (name, theta), lines in rows.group_by("name", "theta", maintain_order=True):
        said = [f"ridge × {_range(lines['ridge'])}"]
        if lines["rest"].null_count() == 0:
            said.append(f"β {_range(lines['diagonal'])}, {_range(lines['rest'])}")
        found[str(name), math.inf if theta is None else float(str(theta))] = "; ".join(said)
    return found


def _range(values: pl.Series) -> str:
    low, high = (f"{value:g}" for value in (values.to_numpy().min(), values.to_numpy().max()))
    return low if low == high else f"{low} to {high}"
