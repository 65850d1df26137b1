import numpy as np
import polars as pl
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.stats import binom

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.split import given, holdout, kfold, latest, listed, netflix_probe
from hushrec.errors import DataError

N_ITEMS = 60


def made(counts, seed=0):
    rng = default_rng(seed)
    rows = [
        (f"u{user}", str(item), int(rng.integers(1, 6)), int(rng.integers(0, 30)))
        for user, count in enumerate(counts)
        for item in rng.choice(N_ITEMS, count, replace=False)
    ]
    return pl.DataFrame(rows, schema=["user_id", "item_id", "rating", "timestamp"], orient="row")


def ratings_of(frame):
    return load(frame, Domain(range(N_ITEMS), scale=(1, 5, 1), max_users=10_000))


def rows(ratings):
    return ratings.to_polars().rows()


SPLITS = {
    "holdout": lambda ratings, seed: [holdout(ratings, 0.3, seed)],
    "kfold": lambda ratings, seed: kfold(ratings, 4, seed),
    "latest": lambda ratings, _: [latest(ratings, 3)],
    "netflix_probe": lambda ratings, seed: [netflix_probe(ratings, seed)],
    "listed": lambda ratings, _: [listed(ratings, ratings.to_polars()[::3])],
}


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@settings(derandomize=True, max_examples=10, deadline=None)
@for_all(counts=st.lists(st.integers(1, 40), max_size=9), random=st.randoms(use_true_random=False))
def test_parts_are_a_partition_whatever_the_order_of_rows(split, counts, random):
    frame = made(counts)
    ratings = ratings_of(frame)
    mixed = ratings_of(frame[random.sample(range(frame.height), frame.height)])
    for (train, test), (mixed_train, mixed_test) in zip(split(ratings, 5), split(mixed, 5), strict=True):
        assert sorted(rows(train) + rows(test)) == sorted(rows(ratings))
        assert train.domain is test.domain is ratings.domain
        assert (rows(train), rows(test)) == (rows(mixed_train), rows(mixed_test))


@pytest.mark.parametrize("split", [SPLITS["holdout"], SPLITS["kfold"], SPLITS["netflix_probe"]])
def test_another_seed_splits_otherwise(split):
    ratings = ratings_of(made([40] * 20))
    one, same, other = (rows(next(iter(split(ratings, seed)))[1]) for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(("fraction", "size"), [(0, 0), (0.1, 20), (0.333, 67), (1, 200)])
def test_holdout_has_the_asked_size(fraction, size):
    train, test = holdout(ratings_of(made([40] * 5)), fraction, 0)
    assert (train.n_ratings, test.n_ratings) == (200 - size, size)


def test_folds_are_disjoint_and_even():
    ratings = ratings_of(made([30, 17, 1, 55]))
    tests = [rows(test) for _, test in kfold(ratings, 5, 0)]
    assert sorted(map(len, tests)) == [20, 20, 21, 21, 21]
    assert sorted(row for test in tests for row in test) == sorted(rows(ratings))


def test_latest_is_by_timestamp_then_catalogue():
    frame = made([40, 7, 2])
    _, test = latest(ratings_of(frame), 5)
    expected = []
    for user in ("u0", "u1", "u2"):
        mine = [row for row in frame.rows() if row[0] == user]
        mine.sort(key=lambda row: (row[3], int(row[1])))
        expected += mine[-5:]
    assert {row[:2] for row in rows(test)} == {row[:2] for row in expected}
    assert test.n_ratings == len(expected)


def test_the_probe_is_a_third_of_the_nine_latest():
    """A binomial count: a correct split fails with probability 1e-6; 1/4, or 10 latest, are caught."""
    n_users = 4000
    frame = made([12] * n_users)
    ratings = ratings_of(frame)
    _, test = netflix_probe(ratings, 0)
    _, nine = latest(ratings, 9)
    assert set(rows(test)) < set(rows(nine))
    low, high = binom.ppf([5e-7, 1 - 5e-7], 9 * n_users, 1 / 3)
    assert low <= test.n_ratings <= high
    assert not low <= nine.n_ratings / 4 <= high
    assert not low <= n_users * 10 / 3 <= high


def test_listed_passes_over_what_is_not_rated():
    ratings = ratings_of(made([3]))
    pairs = ratings.to_polars().select("user_id", "item_id")[:1]
    more = pl.DataFrame({"user_id": ["u0", "nobody"], "item_id": ["no item", pairs["item_id"][0]]})
    train, test = listed(ratings, pl.concat([pairs, more]))
    assert rows(test) == rows(ratings)[:1]
    assert train.n_ratings == 2


def test_published_parts_need_one_domain():
    ratings = ratings_of(made([3]))
    assert given(ratings, ratings) == (ratings, ratings)
    other = load(made([3]), Domain(range(N_ITEMS), scale=(1, 5, 1), max_users=9))
    with pytest.raises(DataError, match="same domain"):
        given(ratings, other)


def test_wrong_requests_are_explained():
    ratings = ratings_of(made([9]).drop("timestamp"))
    with pytest.raises(DataError, match="between 0 and 1"):
        holdout(ratings, 1.5, 0)
    for k in (1, 256):
        with pytest.raises(DataError, match="2 to 255"):
            kfold(ratings, k, 0)
    with pytest.raises(DataError, match="these ratings have none"):
        latest(ratings, 3)
    with pytest.raises(DataError, match="columns user_id and item_id"):
        listed(ratings, pl.DataFrame({"user": ["x"]}))


def test_nothing_splits_into_nothing():
    train, test = holdout(ratings_of(made([])), 0.5, 0)
    assert train.n_ratings == test.n_ratings == 0
    assert np.array_equal(test.indptr, [0])
