"""Lists by a model of people's tastes beside lists by popularity, on interactions."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hushrec.data.interactions import Interactions
from hushrec.experiments.case import Case
from hushrec.experiments.demo.sweep import Given
from hushrec.experiments.measure import Bench
from hushrec.experiments.source import Split
from hushrec.models.base import Model
from hushrec.models.popularity import Popularity
from hushrec.privacy.accounting.budget import Budget

METRICS = ("recall@20", "ndcg@100")


class Found(NamedTuple):
    """What lists find of the items that were held out: the values of ``METRICS``. Privacy: private."""

    recall: float
    ndcg: float


@dataclass(frozen=True, slots=True)
class ListRun:
    """One fit of the model and one of popularity under the same budget, on one split.

    Attributes:
        epsilon: ε of the budget of each of the two; infinite without noise.
        seed: of the split and of the noise.
        found: by the model's lists.
        popular: by popularity's list.
        seconds: wall time of the model's fit.

    Privacy: private; the noise is seeded and the values measured on held-out users.
    """

    epsilon: float
    seed: int
    found: Found
    popular: Found
    seconds: float


@dataclass(frozen=True, slots=True)
class ListRow:
    """The runs of one ε over their seeds.

    Attributes:
        name: of the model.
        epsilon: ε of the budget; infinite without noise.
        seeds: number of runs.
        found: means over the seeds, of the model.
        deviation: standard deviation of the model's nDCG over the seeds; NaN for a single one.
        popular: means over the seeds, of popularity.
        seconds: mean wall time of a fit of the model.

    Privacy: private, as the runs.
    """

    name: str
    epsilon: float
    seeds: int
    found: Found
    deviation: float
    popular: Found
    seconds: float


def list_sweep(
    clicks: Interactions, config: Model, budgets: Sequence[Budget], seeds: Iterable[int], people: int
) -> Iterator[ListRun]:
    """Fit a model and popularity under several budgets and without noise; each seed holds other users out.

    Args:
        clicks: all of them.
        config: the model.
        budgets: what to spend.
        seeds: each gives one split and one draw of all noise.
        people: number of users who are held out whole.

    Yields:
        For every seed: one run a budget, and one without noise.

    Privacy: private. Nothing is charged, so nothing here may be published unless the clicks are made up.
    """
    bench = Bench(Given(clicks), Split.model_validate({"kind": "people", "people": people}), METRICS)
    for seed in seeds:
        for budget in (*budgets, None):
            of_model, of_popularity = (
                bench.measure(Case(type(model).__name__, seed, model, budget, entropy=seed))[0]
                for model in (config, Popularity())
            )
            yield ListRun(
                epsilon=budget.epsilon if budget else math.inf,
                seed=seed,
                found=Found(*(of_model[name] for name in METRICS)),
                popular=Found(*(of_popularity[name] for name in METRICS)),
                seconds=of_model["fit_seconds"],
            )


def list_summary(name: str, runs: Iterable[ListRun]) -> list[ListRow]:
    """Means over the seeds, in the order in which ε first appear.

    Args:
        name: of the model.
        runs: as ``list_sweep`` yields them.

    Privacy: private, as the runs.
    """
    groups: dict[float, list[ListRun]] = {}
    for run in runs:
        groups.setdefault(run.epsilon, []).append(run)
    return [_row(name, group) for group in groups.values()]


def _row(name: str, runs: list[ListRun]) -> ListRow:
    values = [run.found.ndcg for run in runs]
    return ListRow(
        name=name,
        epsilon=runs[0].epsilon,
        seeds=len(runs),
        found=_mean([run.found for run in runs]),
        deviation=statistics.stdev(values) if len(values) > 1 else math.nan,
        popular=_mean([run.popular for run in runs]),
        seconds=statistics.fmean(run.seconds for run in runs),
    )


def _mean(found: list[Found]) -> Found:
    return Found(*map(statistics.fmean, zip(*found, strict=True)))
