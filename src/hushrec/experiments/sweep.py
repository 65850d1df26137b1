"""Runs over budgets and seeds, and what they come to on average."""

import math
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats
from hushrec.curator.fit import fit
from hushrec.data.ratings import Ratings
from hushrec.data.split import holdout
from hushrec.evaluation import baselines
from hushrec.evaluation.metrics import rmse
from hushrec.evaluation.protocol import predictions
from hushrec.evaluation.slices import by_popularity
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.noise.entropy import Seeded

HELD_OUT = 0.1
"""Part of the ratings that is predicted."""
REFERENCES = {"item average": baselines.item_average, "global average": baselines.global_average}


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
    for seed in seeds:
        train, test = holdout(ratings, HELD_OUT, seed)
        for budget in (*budgets, None):
            start = time.perf_counter()
            release = fit(train, config, budget, entropy=Seeded(seed) if budget else None)
            seconds = time.perf_counter() - start
            epsilon = budget.epsilon if budget else math.inf
            predicted = predictions(release, train=train, test=test)
            yield _run(release.model, epsilon, seed, train, test, predicted, seconds)
        for name, reference in REFERENCES.items():
            start = time.perf_counter()
            predicted = reference(train, test)
            yield _run(name, math.inf, seed, train, test, predicted, time.perf_counter() - start)


def summary(runs: Iterable[Run]) -> list[Row]:
    """Means over the seeds, in the order in which names and ε first appear.

    Args:
        runs: of one model and its references, as ``sweep`` yields them.

    Privacy: private, as the runs.
    """
    groups: dict[tuple[str, float], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.name, run.epsilon), []).append(run)
    without_noise = {run.seed: run.rmse for run in _without_noise(groups)}
    return [_row(group, without_noise) for group in groups.values()]


def _without_noise(groups: dict[tuple[str, float], list[Run]]) -> list[Run]:
    return next(
        runs for (name, epsilon), runs in groups.items() if math.isinf(epsilon) and name not in REFERENCES
    )


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


def _run(
    name: str, epsilon: float, seed: int, train: Ratings, test: Ratings, predicted: Floats, seconds: float
) -> Run:
    fifths = tuple(by_popularity(rmse, train, test, predicted).tolist())
    return Run(name, epsilon, seed, rmse(test.values(), predicted), fifths, seconds)
