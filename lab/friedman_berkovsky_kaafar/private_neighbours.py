"""Friedman, Berkovsky & Kaafar 2016, Fig. 5a: private neighbours, with a ridge for each ε and each split.

The ridge is trained as in ``lab/mcsherry_mironov/refitting.py``: a part of the training ratings is held back,
a model is fitted to the rest under the noise of ε, and its RMSE on the part is taken exactly and **not
charged**: no ε here covers these looks. The test part chooses nothing.

Privacy: private. All noise is seeded, and errors are measured on real ratings.
"""

import itertools
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import polars as pl

import hushrec as hr
from hushrec.evaluation.compare import METRICS
from lab import published
from lab.experiments.source import Data, Split
from lab.experiments.tables import markdown
from lab.friedman_berkovsky_kaafar.published_neighbours import ListedNeighbours, listed_predictions
from lab.mcsherry_mironov.refitting import Place, descend, with_ridge
from lab.reproduction import Held, Trial, Trials

FORM = published.FriedmanKNN()
HELD = 0.01
"""Part of the training ratings that chooses, and is then fitted like the others."""
START, FACTOR, STEPS = 256.0, 4.0, range(-5, 4)
"""Multiple of the constant ridge where the walk begins, factor of a step, and steps: 1/4 to 16,384 times."""
TYPES = {
    "data": pl.String,
    **dict.fromkeys(("split", "looks"), pl.Int64),
    **dict.fromkeys(("epsilon", "ridge", "held_rmse", "rmse", "mae"), pl.Float64),
    **dict.fromkeys(("true_epsilon", "claimed_epsilon", "fit_seconds"), pl.Float64),
}


def work(data: Data, split: Split, epsilons: Sequence[float]) -> Trials:
    """One run for each ε and each split, of bounded privacy."""
    listed = [
        Trial("kNN", {"data": data.title, "split": number, "epsilon": epsilon})
        for number, epsilon in itertools.product(split.numbers, epsilons)
    ]
    return Trials(listed, Trained(data, split), TYPES)


class Trained(Held):
    """Where a ridge is chosen and then measured."""

    def measure(self, trial: Trial) -> list[dict[str, Any]]:
        """The ridge that was chosen, and what it comes to on the test part."""
        number, epsilon = trial.settings["split"], trial.settings["epsilon"]
        train, test, rest, held = self.parts(number, HELD)
        budget = hr.Budget(epsilon=epsilon, delta=0, unit="record", adjacency="replace")
        entropy = self.split.entropy(number, 0)
        tried = published.fit(rest, FORM, budget, entropy)

        @cache
        def error(place: Place) -> float:
            made = cast(ListedNeighbours, with_ridge(tried, START * FACTOR ** place[0]))
            return METRICS["rmse"](held.numbers(), listed_predictions(made, train=rest, test=held))

        place = descend(error, [STEPS])
        ridge, start = START * FACTOR ** place[0], time.perf_counter()
        release = published.fit(train, FORM, budget, entropy)
        seconds = time.perf_counter() - start
        made = cast(ListedNeighbours, with_ridge(release, ridge))
        predicted = listed_predictions(made, train=train, test=test)
        cost = published.cost(FORM, train.domain, budget)
        return [
            {
                "ridge": ridge,
                "looks": error.cache_info().currsize,
                "held_rmse": error(place),
                **{name: metric(test.numbers(), predicted) for name, metric in METRICS.items()},
                "true_epsilon": cost.true,
                "claimed_epsilon": cost.claimed,
                "fit_seconds": seconds,
            }
        ]


def as_curve(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows as those of a grid."""
    kept = ("name", "split", "epsilon", "rmse", "mae", "true_epsilon", "claimed_epsilon", "fit_seconds")
    said = {
        "unit": "record",
        "adjacency": "replace",
        "analysis": "published",
        "model": published.name_of(type(FORM)),
    }
    return rows.select(
        *kept,
        *(pl.lit(value).alias(name) for name, value in said.items()),
        delta=pl.lit(0.0),
        seed=pl.lit(0, pl.Int64),
        predict_seconds=pl.lit(None, pl.Float64),
    )


def ridges(rows: pl.DataFrame) -> str:
    """The ridges that were chosen, by ε, as a table."""
    body = []
    for (epsilon,), each in rows.sort("epsilon").group_by("epsilon", maintain_order=True):
        found = sorted(set(each["ridge"].to_list()))
        body.append([f"ε = {epsilon:g}", " and ".join(f"{ridge:,g}" for ridge in found)])
    return markdown([head for head, _ in body], [[chosen for _, chosen in body]])
