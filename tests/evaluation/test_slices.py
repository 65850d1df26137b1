import dataclasses

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.evaluation import baselines
from hushrec.evaluation.metrics import rmse
from hushrec.evaluation.ranking_metrics import AtK, ndcg
from hushrec.evaluation.rankings import rank
from hushrec.evaluation.slices import (
    by_popularity,
    fifths,
    popularity_fifths,
    ranked_by_activity,
    ranked_by_popularity,
)


def test_fifths_are_of_items_by_training_ratings():
    train, _ = holdout(hr.synthetic.netflix_like(100, 50, 1500, seed=1), 0.1, seed=0)
    fifths, counts = popularity_fifths(train), np.bincount(train.items, minlength=50)
    assert np.bincount(fifths).tolist() == [10] * 5
    assert all(counts[fifths == part].max() <= counts[fifths == part + 1].min() for part in range(4))


def test_errors_of_each_fifth():
    domain = hr.Domain(range(5), scale=(1, 5, 1), max_users=10)
    rows = [(f"u{u}", str(i), 3) for i in range(5) for u in range(i + 1)]  # item i has i + 1 ratings
    import polars as pl

    def table(rows):
        return pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")

    train = hr.load(table(rows), domain)
    test = hr.load(table([("x", "0", 1), ("x", "2", 5), ("y", "2", 3), ("y", "4", 2)]), domain)
    errors = by_popularity(rmse, train, test, np.array([2.0, 3.0, 3.0, 2.0]))
    assert errors == pytest.approx([1, np.nan, np.sqrt(2), np.nan, 0], nan_ok=True)


# -- rankings ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lists():
    train, test = holdout(hr.synthetic.interactions(300, 50, 4000, seed=3), 0.2, seed=0)
    return rank(baselines.popularity(train), train=train, test=test, n=10)


def test_people_are_split_by_what_they_fold_in(lists):
    parts = fifths(lists.n_own)
    assert np.ptp(np.bincount(parts)) <= 1
    assert all(lists.n_own[parts == p].max() <= lists.n_own[parts == p + 1].min() for p in range(4))
    found = ranked_by_activity(AtK("ndcg", 10), lists)
    values = ndcg(lists, 10)
    assert found == pytest.approx([values[parts == p].mean() for p in range(5)])
    assert (found * np.bincount(parts)).sum() == pytest.approx(values.sum())


def test_popularity_finds_popular_items_best(lists):
    """Lists stay as they are, and only items of one fifth are to be found."""
    found, parts = ranked_by_popularity(AtK("recall", 10), lists), fifths(lists.popularity)
    assert found[4] > 0.7 > 0.4 > found[0]
    for part in range(5):
        by_hand = []
        for user, row in enumerate(lists.items):
            sought = lists.held_out[lists.indptr[user] : lists.indptr[user + 1]]
            sought = sought[parts[sought] == part]
            if len(sought):
                by_hand.append(len(np.intersect1d(sought, row)) / min(10, len(sought)))
        assert found[part] == pytest.approx(np.mean(by_hand))


def test_a_fifth_with_nothing_to_be_found_has_no_value(lists):
    kept = lists.finding(fifths(lists.popularity) == 4)
    assert np.isnan(ranked_by_popularity(AtK("recall", 10), kept)).tolist() == [True] * 4 + [False]
    one = dataclasses.replace(kept.finding(np.arange(50) == 999), n_left_out=0)
    assert np.isnan(ranked_by_activity(AtK("recall", 10), one)).all()
