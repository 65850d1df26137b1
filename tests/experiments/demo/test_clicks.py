import math
import statistics

import pytest

from hushrec.curator.fit import fit
from hushrec.data.split import held_out_people
from hushrec.evaluation.protocol import evaluate
from hushrec.experiments.demo import clicks as lists
from hushrec.experiments.demo import demonstration
from hushrec.models.popularity import Popularity
from hushrec.models.private_ease import PrivateEASE
from hushrec.privacy.noise.entropy import Seeded


def test_every_seed_has_every_budget_and_no_noise(list_runs):
    expected = [(seed, epsilon) for seed in (0, 1) for epsilon in (1.0, 8.0, math.inf)]
    assert [(run.seed, run.epsilon) for run in list_runs] == expected


def test_both_are_measured_as_evaluate_measures_them(clicks, list_runs):
    """On the same people, under the same budget and with the same noise."""
    train, fold_in, test = held_out_people(clicks, 100, seed=1)
    run = next(run for run in list_runs if (run.seed, run.epsilon) == (1, 8.0))
    for model, found in ((PrivateEASE(), run.found), (Popularity(), run.popular)):
        release = fit(train, model, demonstration.budget(8), entropy=Seeded(1))
        expected = evaluate(release, train=fold_in, test=test, metrics=lists.METRICS)
        assert found == tuple(expected[name] for name in lists.METRICS)


def test_personal_lists_find_more_than_popularity(list_rows):
    """Fixed seeds; fails if the columns are swapped, or if nobody folds in what they have."""
    for row in list_rows:
        assert row.found.recall > row.popular.recall
        assert row.found.ndcg > row.popular.ndcg


def test_summary_is_over_the_seeds(list_runs, list_rows):
    first = [run for run in list_runs if run.epsilon == 1]
    row = list_rows[0]
    assert (row.name, row.epsilon, row.seeds) == ("PrivateEASE", 1.0, 2)
    assert row.found.recall == pytest.approx(statistics.mean(run.found.recall for run in first))
    assert row.popular.ndcg == pytest.approx(statistics.mean(run.popular.ndcg for run in first))
    assert row.deviation == pytest.approx(statistics.stdev(run.found.ndcg for run in first))
    assert math.isinf(list_rows[-1].epsilon)


def test_one_seed_has_no_deviation(list_runs):
    (row, *_) = lists.list_summary("PrivateEASE", [run for run in list_runs if run.seed == 0])
    assert math.isnan(row.deviation)
