import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from hushrec.data.ratings import Ratings
from hushrec.data.split import holdout
from hushrec.data.synthetic import netflix_like
from hushrec.evaluation import baselines
from hushrec.evaluation.metrics import METRICS
from hushrec.experiments.case import Case
from hushrec.experiments.measure import Bench
from hushrec.privacy.accounting.budget import Budget
from hushrec.published.mcsherry_mironov import McSherryEffects

REFERENCE = Case("item average", 0)
BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="rating", adjacency="add-remove")
MODEL = Case("effects", 0, McSherryEffects(), BUDGET, entropy=7)


@dataclass
class Watched:
    """Ratings and their splits, which note how often they are asked for."""

    loads: int = 0
    divided: list[int] = field(default_factory=list)

    def load(self) -> Ratings:
        self.loads += 1
        return netflix_like(60, 20, 600, 3)

    def parts(self, ratings: Ratings, number: int) -> tuple[Ratings, Ratings]:
        self.divided.append(number)
        return holdout(ratings, 0.2, number)


@pytest.fixture
def watched():
    return Watched()


@pytest.fixture
def bench(watched):
    return Bench(watched, watched)


def test_only_the_latest_split_is_kept_and_the_ratings_are_loaded_once(bench, watched):
    bench.open()
    for split in (0, 0, 1, 1, 0):
        bench.measure(Case("item average", split))
    assert watched.loads == 1
    assert watched.divided == [0, 1, 0]  # not divided again while the split is the same
    assert len(bench._latest) == 1


def test_a_reference_gives_one_row_with_all_metrics(bench, watched):
    (row,) = bench.measure(REFERENCE)
    train, test = holdout(watched.load(), 0.2, 0)
    predicted = baselines.item_average(train, test)
    assert row.pop("predict_seconds") >= 0
    assert row == {name: metric(test.values(), predicted) for name, metric in METRICS.items()}


def test_a_model_gives_one_row_with_all_metrics_and_its_epsilons(bench, watched):
    (row,) = bench.measure(MODEL)
    times = {"fit_seconds", "predict_seconds"}
    assert set(row) == {*METRICS, "true_epsilon", "claimed_epsilon", *times}
    assert row["claimed_epsilon"] == 1
    planned = MODEL.config.plan(watched.load().domain, BUDGET)
    assert row["true_epsilon"] == planned.epsilon != 1  # the published form spends other than it claims
    (plain,) = bench.measure(Case("effects", 0, MODEL.config))
    assert plain["true_epsilon"] == math.inf
    assert plain["rmse"] < row["rmse"]


def test_noise_comes_from_the_seed_of_the_case(bench):
    again = Case("effects", 0, MODEL.config, BUDGET, entropy=8)
    first, same, other = (bench.measure(case)[0]["rmse"] for case in (MODEL, MODEL, again))
    assert first == same != other


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_one_prediction_that_is_not_finite_is_an_error(bench, monkeypatch, wrong):
    def predicted(train, test):
        found = np.full(test.n_ratings, 3.0)
        found[-1] = wrong
        return found

    monkeypatch.setattr(baselines, "item_average", predicted)
    monkeypatch.setattr(
        "hushrec.experiments.measure.predictions", lambda _, train, test, **__: predicted(train, test)
    )
    for case in (REFERENCE, MODEL):
        with pytest.raises(ArithmeticError, match="a prediction is not a finite number"):
            bench.measure(case)
