"""Errors of predicted ratings over budgets and seeds, and what they come to on average."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.interactions import Interactions
from hushrec.data.ratings import Ratings
from hushrec.evaluation.metrics import rmse
from hushrec.evaluation.slices import by_popularity
from hushrec.experiments.case import Case
from hushrec.experiments.measure import Bench
from hushrec.experiments.source import Split
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget

HELD_OUT = 0.1
"""Part of the ratings that is predicted."""
REFERENCES = ("item average", "global average")


@dataclass(frozen=True, slots=True)
class Run:
    """One fit, or one reference, on one split.

    Attributes:
        name: of the model or the reference.
        epsilon: ε of its budget; infinite without noise.
        seed: of the split and of the noise.
        rmse: on the held-out ratings.
        fifths: RMSE by popularity of the item, least rated fifth of the catalogue first; NaN where nothing
            was held out.
        seconds: wall time of the fit.

    Privacy: private; the noise is seeded and the error measured on held-out ratings.
    """

    name: str
    epsilon: float
    seed: int
    rmse: float
    fifths: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """The runs of one name and ε over their seeds.

    Attributes:
        name: of the model or the reference.
        epsilon: ε of the budget; infinite without noise.
        seeds: number of runs.
        rmse: mean over the seeds.
        deviation: standard deviation over the seeds; NaN for a single one.
        loss: mean of RMSE/(RMSE of the same model without noise on the same split) − 1.
        fifths: mean RMSE by popularity, as in ``Run``.
        seconds: mean wall time of a fit.

    Privacy: private, as the runs.
    """

    name: str
    epsilon: float
    seeds: int
    rmse: float
    deviation: float
    loss: float
    fifths: tuple[float, ...]
    seconds: float

    @property
    def rare(self) -> float:
        """RMSE on the least rated fifth of the catalogue."""
        return self.fifths[0]


def sweep(ratings: Ratings, config: Model, budgets: Sequence[Budget], seeds: Iterable[int]) -> Iterator[Run]:
    """Fit one model under several budgets and without noise, on a random split for every seed.

    Args:
        ratings: all of them; nine tenths are the training part.
        config: the model.
        budgets: what to spend.
        seeds: each gives one split and one draw of all noise.

    Yields:
        For every seed: one run a budget, one without noise, one for each of ``REFERENCES``.

    Privacy: private. Nothing is charged, so nothing here may be published unless the ratings are made up.
    """
    bench = _Bench(Given(ratings), Split.model_validate({"kind": "holdout", "fraction": HELD_OUT}))
    model = type(config).__name__
    for seed in seeds:
        cases = [Case(model, seed, config, budget, entropy=seed) for budget in (*budgets, None)]
        for case in (*cases, *(Case(name, seed) for name in REFERENCES)):
            found = bench.measure(case)[0]
            seconds = found["fit_seconds" if case.config else "predict_seconds"]
            epsilon = case.coordinates()["epsilon"]
            yield Run(case.name, epsilon, seed, found["rmse"], found["fifths"], seconds)


@dataclass(frozen=True)
class Given:
    """Ratings or interactions that are there already. Privacy: private."""

    feedback: Ratings | Interactions

    def load(self) -> Ratings | Interactions:
        """They themselves. Privacy: private."""
        return self.feedback


class _Bench(Bench):
    """Errors by popularity beside those over all ratings."""

    def errors(self, train: Ratings, test: Ratings, predicted: Floats) -> dict[str, Any]:
        fifths = tuple(by_popularity(rmse, train, test, predicted).tolist())
        return {**super().errors(train, test, predicted), "fifths": fifths}


def summary(runs: Iterable[Run]) -> list[Row]:
    """Means over the seeds, in the order in which names and ε first appear.

    Args:
        runs: of one model and its references, as ``sweep`` yields them.

    Privacy: private, as the runs.
    """
    groups: dict[tuple[str, float], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.name, run.epsilon), []).append(run)
    model = next(runs for (name, e), runs in groups.items() if math.isinf(e) and name not in REFERENCES)
    without_noise = {run.seed: run.rmse for run in model}
    return [_row(group, without_noise) for group in groups.values()]


def _row(runs: list[Run], without_noise: dict[int, float]) -> Row:
    errors = [run.rmse for run in runs]
    return Row(
        name=runs[0].name,
        epsilon=runs[0].epsilon,
        seeds=len(runs),
        rmse=statistics.fmean(errors),
        deviation=statistics.stdev(errors) if len(errors) > 1 else math.nan,
        loss=statistics.fmean(run.rmse / without_noise[run.seed] - 1 for run in runs),
        fifths=tuple(np.mean([run.fifths for run in runs], axis=0).tolist()),
        seconds=statistics.fmean(run.seconds for run in runs),
    )
