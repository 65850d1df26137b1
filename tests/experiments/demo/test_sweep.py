import math
import statistics

import pytest

from hushrec.data.split import holdout
from hushrec.evaluation import baselines
from hushrec.evaluation.metrics import rmse
from hushrec.experiments.demo import demonstration, sweep
from hushrec.models.covariance_svd import CovarianceSVD


def test_every_seed_has_every_budget_no_noise_and_the_references(runs):
    expected = [
        ("CovarianceSVD", 1.0),
        ("CovarianceSVD", 8.0),
        ("CovarianceSVD", math.inf),
        ("item average", math.inf),
        ("global average", math.inf),
    ]
    for seed in (0, 1):
        assert [(run.name, run.epsilon) for run in runs if run.seed == seed] == expected
    assert all(len(run.fifths) == 5 for run in runs)


def test_a_run_is_repeatable(ratings, runs):
    again = next(sweep.sweep(ratings, CovarianceSVD(rank=3), [demonstration.budget(1)], [1]))
    assert again.rmse == next(run.rmse for run in runs if run.seed == 1)
    assert again.rmse != next(run.rmse for run in runs if run.seed == 0)


def test_references_are_measured_on_the_same_split(ratings, runs):
    train, test = holdout(ratings, sweep.HELD_OUT, 1)
    expected = rmse(test.values(), baselines.item_average(train, test))
    assert next(r.rmse for r in runs if r.seed == 1 and r.name == "item average") == expected


def test_summary_is_over_the_seeds(runs, rows):
    first = [run for run in runs if (run.name, run.epsilon) == ("CovarianceSVD", 1.0)]
    exact = {run.seed: run.rmse for run in runs if (run.name, run.epsilon) == ("CovarianceSVD", math.inf)}
    row = rows[0]
    assert (row.name, row.epsilon, row.seeds) == ("CovarianceSVD", 1.0, 2)
    assert row.rmse == pytest.approx(statistics.mean(run.rmse for run in first))
    assert row.deviation == pytest.approx(statistics.stdev(run.rmse for run in first))
    assert row.loss == pytest.approx(statistics.mean(run.rmse / exact[run.seed] - 1 for run in first))
    assert row.rare == row.fifths[0]
    assert next(r for r in rows if r.name == "CovarianceSVD" and math.isinf(r.epsilon)).loss == 0


def test_one_seed_has_no_deviation(runs):
    assert all(math.isnan(row.deviation) for row in sweep.summary(run for run in runs if run.seed == 0))
