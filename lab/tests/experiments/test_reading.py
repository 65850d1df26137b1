import itertools
import math
from functools import cache

import numpy as np
import polars as pl
import pytest

from lab.experiments.reading import Curve, crossing, summary

OURS = Curve("ours", "record", "replace", "corrected")
EPSILONS = [0.1, 0.5, 1.0, 2.0, 10.0]


def row(curve, epsilon, split, rmse, seed=0, **more):
    return {
        **curve._asdict(),
        "epsilon": epsilon,
        "split": split,
        "seed": seed,
        "rmse": rmse,
        "mae": rmse and 0.8 * rmse,
        "true_epsilon": epsilon,
        "claimed_epsilon": None,
        "fit_seconds": 1.0,
        "predict_seconds": 2.0,
        "settings": "{}",
        **more,
    }


def level(name, split, rmse):
    return row(Curve(name, None, None, None), math.inf, split, rmse, settings=None)


def table(rows):
    return pl.DataFrame(list(rows), infer_schema_length=None).with_columns(pl.col("settings").cast(pl.String))


@cache
def straight(crossing, splits=6, noise=0.0, slope=0.1, seed=0):
    """A curve linear in log ε that crosses "average" where it is told; a split moves both alike."""
    draw = np.random.default_rng(seed)
    moves, own = draw.normal(0, 0.05, splits), draw.normal(0, noise, (splits, len(EPSILONS)))
    rows = [level("average", split, 0.95 + moves[split]) for split in range(splits)]
    for split, (at, epsilon) in itertools.product(range(splits), enumerate(EPSILONS)):
        error = 0.95 - slope * math.log(epsilon / crossing) + moves[split] + own[split, at]
        rows.append(row(OURS, epsilon, split, error))
    return table(rows)


@pytest.mark.parametrize("place", [0.11, 1.0, 9.0])
def test_a_known_crossing_is_found(place):
    found = crossing(straight(place), OURS, "average")
    assert (found.value, found.low, found.high) == pytest.approx((place,) * 3)
    assert str(found).split()[0] == f"{place:.2g}"


@pytest.mark.parametrize(("place", "shown", "value"), [(0.05, "≤ 0.1", 0), (15, "> 10", math.inf)])
def test_a_crossing_outside_the_grid_is_said_to_be(place, shown, value):
    found = crossing(straight(place), OURS, "average")
    assert str(found) == shown
    assert found.value == value


def test_summary_is_over_splits_of_means_over_seeds():
    rows = [
        row(OURS, 1.0, s, r, seed=k) for s, pair in enumerate([(1, 3), (4, 6)]) for k, r in enumerate(pair)
    ]
    rows += [row(OURS, 1.0, 0, None, seed=2)]  # it failed
    line = summary(table(rows)).row(0, named=True)
    assert (line["splits"], line["runs"]) == (2, 4)
    assert line["rmse"] == 3.5
    assert line["mae"] == pytest.approx(2.8)
    assert line["standard_error"] == pytest.approx(np.std([2, 5], ddof=1) / math.sqrt(2))
    assert (line["low"], line["high"]) == (2, 5)


# -- rankings ---------------------------------------------------------------------------------------------


def ranked(rows):
    """The same rows with metrics of rankings: 2 less the error, so that more is better."""
    return rows.rename({"rmse": "ndcg@10", "mae": "recall@5"}).with_columns(
        (2 - pl.col("ndcg@10")).alias("ndcg@10")
    )


@pytest.mark.parametrize("place", [0.11, 9.0])
def test_a_ranking_crosses_from_below(place):
    """The planted fault, more taken for worse, would put every crossing at the last ε or nowhere."""
    found = crossing(ranked(straight(place)), OURS, "average")
    assert found.value == pytest.approx(place)
