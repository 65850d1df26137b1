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
from hushrec.data.split import (
    held_out_people,
    holdout,
    kfold,
    latest,
    listed,
    since,
)
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
    "since": lambda ratings, _: [since(ratings, fraction=0.3)],
    "listed": lambda ratings, _: [listed(ratings, ratings.to_polars()[::3])],
}


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@settings(derandomize=True, max_examples=10, deadline=None)
@for_all(counts=st.lists(st.integers(1, 40), max_size=9), random=st.randoms(use_true_random=False))
@pytest.mark.full
def test_parts_are_a_partition_whatever_the_order_of_rows(split, counts, random):
    frame = made(counts)
    ratings = ratings_of(frame)
    mixed = ratings_of(frame[random.sample(range(frame.height), frame.height)])
    for (train, test), (mixed_train, mixed_test) in zip(split(ratings, 5), split(mixed, 5), strict=True):
        assert sorted(rows(train) + rows(test)) == sorted(rows(ratings))
        assert train.domain is test.domain is ratings.domain
        assert (rows(train), rows(test)) == (rows(mixed_train), rows(mixed_test))


@pytest.mark.parametrize("split", [SPLITS["holdout"], SPLITS["kfold"]])
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


def test_listed_passes_over_what_is_not_rated():
    ratings = ratings_of(made([3]))
    pairs = ratings.to_polars().select("user_id", "item_id")[:1]
    more = pl.DataFrame({"user_id": ["u0", "nobody"], "item_id": ["no item", pairs["item_id"][0]]})
    train, test = listed(ratings, pl.concat([pairs, more]))
    assert rows(test) == rows(ratings)[:1]
    assert train.n_ratings == 2


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


# -- people held out whole --------------------------------------------------------------------------------


def people(part):
    return set(part.users.to_list())


def test_people_are_held_out_whole_and_only_those_with_enough():
    ratings = ratings_of(made([*[20] * 30, *[4] * 10, *[5] * 10]))
    train, fold_in, test = held_out_people(ratings, 12, 0, fraction=0.3)
    assert people(fold_in) == people(test)
    assert not people(train) & people(test)
    assert people(train) | people(test) == people(ratings)
    assert (len(people(test)), train.n_users) == (12, 38)
    assert sorted(rows(train) + rows(fold_in) + rows(test)) == sorted(rows(ratings))
    given_by = dict(zip(ratings.users.to_list(), ratings.counts.tolist(), strict=True))
    assert [given_by[user] for user in test.users.to_list()] == (fold_in.counts + test.counts).tolist()
    assert test.counts.tolist() == [{20: 6, 5: 2}[count] for count in (fold_in.counts + test.counts).tolist()]
    everybody = held_out_people(ratings, 40, 0)  # all who have five or more
    assert people(everybody[0]) == {f"u{user}" for user in range(30, 40)}
    with pytest.raises(DataError, match="fewer than 41 people have 5 items or more; lower people or least"):
        held_out_people(ratings, 41, 0)


def test_each_held_out_person_has_something_to_fold_in_and_something_to_find():
    ratings = ratings_of(made([2, 3, 60]))
    for fraction in (0.001, 0.999):
        _, fold_in, test = held_out_people(ratings, 3, 0, fraction=fraction, least=2)
        assert fold_in.counts.min() == test.counts.min() == 1


def test_held_out_items_are_random_and_so_are_the_people():
    """Every item of 20 is held out of a fifth of 2,000 people: binomial counts, each outside once in 10^7."""
    ratings = ratings_of(made([20] * 4000))
    _, fold_in, test = held_out_people(ratings, 2000, 0)
    low, high = binom.ppf([1e-7, 1 - 1e-7], 2000, 1 / 5)
    offsets = np.concatenate([fold_in.items, test.items])
    held_out = np.repeat([False, True], [len(fold_in.items), len(test.items)])
    users = np.concatenate([fold_in.user_index(), test.user_index()])
    order = np.lexsort((offsets, users))
    by_place = held_out[order].reshape(2000, 20).sum(axis=0)
    assert ((low <= by_place) & (by_place <= high)).all()
    numbers = np.array([int(user[1:]) for user in test.users.to_list()])
    halves = binom.ppf([1e-7, 1 - 1e-7], 2000, 1 / 2)
    assert halves[0] <= (numbers < 2000).sum() <= halves[1]


@settings(derandomize=True, max_examples=10, deadline=None)
@for_all(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=9), random=st.randoms(use_true_random=False)
)
def test_people_are_the_same_whatever_the_order_of_rows(counts, random):
    frame = made([9, *counts])
    ratings = ratings_of(frame)
    mixed = ratings_of(frame[random.sample(range(frame.height), frame.height)])
    first, second, other = (
        held_out_people(of, 1, seed) for of, seed in ((ratings, 3), (mixed, 3), (ratings, 4))
    )
    assert [rows(part) for part in first] == [rows(part) for part in second]
    assert sorted(row for part in other for row in rows(part)) == sorted(rows(ratings))


@pytest.mark.parametrize("wrong", [{"people": 0}, {"fraction": 0}, {"fraction": 1}, {"least": 1}])
def test_wrong_numbers_of_people_are_explained(wrong):
    with pytest.raises(DataError, match="change people, fraction or least"):
        held_out_people(ratings_of(made([9, 9])), **{"people": 1, "seed": 0} | wrong)


# -- one moment for everybody -----------------------------------------------------------------------------


def test_everything_since_a_moment_is_the_test_part():
    frame = made([20, 30, 7])
    train, test = since(ratings_of(frame), time=12)
    assert train.timestamps.max() < 12 <= test.timestamps.min()
    assert train.n_ratings + test.n_ratings == 57


@pytest.mark.parametrize(("fraction", "least"), [(0, 0), (0.1, 10), (0.5, 50), (1, 100)])
def test_the_last_fraction_is_a_moment_too(fraction, least):
    """Thirty moments for a hundred ratings: those of one moment stay together."""
    ratings = ratings_of(made([40, 60]))
    train, test = since(ratings, fraction=fraction)
    assert test.n_ratings >= least
    if least:
        moment = test.timestamps.min()
        assert (test.timestamps > moment).sum() < least
        assert train.n_ratings == (ratings.timestamps < moment).sum()


def test_wrong_moments_are_explained():
    ratings = ratings_of(made([9]))
    for wrong in ({}, {"time": 3, "fraction": 0.1}):
        with pytest.raises(DataError, match="either time or fraction"):
            since(ratings, **wrong)
    with pytest.raises(DataError, match="between 0 and 1"):
        since(ratings, fraction=1.5)
    with pytest.raises(DataError, match="these ratings have none"):
        since(ratings_of(made([9]).drop("timestamp")), time=3)
    nothing = ratings_of(made([]))
    assert [part.n_ratings for part in since(nothing, fraction=0.5)] == [0, 0]
