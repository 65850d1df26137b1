import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.stats import chi2

from hushrec.data.domain import Domain
from hushrec.data.feedback import Ratings
from hushrec.data.load import load
from hushrec.errors import DataError, DomainError


def table(counts, n_items, seed=0):
    """Users u0, u1, … with the given numbers of random items, rated at random."""
    rng = default_rng(seed)
    rows = [
        (f"u{user}", str(item), int(rng.integers(1, 6)), int(rng.integers(0, 99)))
        for user, count in enumerate(counts)
        for item in rng.choice(n_items, count, replace=False)
    ]
    return pl.DataFrame(rows, schema=["user_id", "item_id", "rating", "timestamp"], orient="row")


def ratings_of(frame, n_items):
    return load(frame, Domain(range(n_items), scale=(1, 5, 1), max_users=1000))


@pytest.fixture
def ratings(domain):
    frame = pl.DataFrame({"user": ["y", "x", "y"], "item": ["b", "007", "a"], "rating": [5, 1, 3]})
    return load(frame, domain)


def test_compressed_rows(ratings):
    assert ratings.users.to_list() == ["x", "y"]
    assert ratings.indptr.tolist() == [0, 1, 3]
    assert ratings.items.tolist() == [2, 0, 1]
    assert ratings.steps.tolist() == [0, 2, 4]
    assert ratings.values().tolist() == [1, 3, 5]
    assert ratings.counts.tolist() == [1, 2]
    assert ratings.user_index().tolist() == [0, 1, 1]
    assert (ratings.n_users, ratings.n_ratings) == (2, 3)
    assert (ratings.indptr.dtype, ratings.items.dtype, ratings.steps.dtype) == (np.int64, np.int32, np.uint8)


def test_arrays_are_read_only(ratings):
    for array in (ratings.indptr, ratings.items, ratings.steps):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        ratings.items = np.zeros(3, dtype=np.int32)


def test_a_callers_array_stays_writeable(domain):
    steps = np.array([1], dtype=np.uint8)
    Ratings(domain, pl.Series(["x"]), np.array([0, 1]), np.array([0], dtype=np.int32), steps)
    steps[0] = 2


def test_repr_tells_the_domain_alone(ratings, domain):
    assert repr(ratings) == f"Ratings({domain!r}, private)" == str(ratings)


def test_polars_and_back(ratings, domain):
    frame = ratings.to_polars()
    assert frame.columns == ["user_id", "item_id", "rating"]
    assert frame.rows() == [("x", "007", 1.0), ("y", "a", 3.0), ("y", "b", 5.0)]
    again = load(frame, domain)
    assert again.users.equals(ratings.users)
    assert (again.steps == ratings.steps).all()


@pytest.mark.parametrize(
    ("indptr", "items", "steps"),
    [
        ([0, 2], [0], [0]),
        ([0, 0, 1], [0], [0]),
        ([1, 2], [0, 1], [0, 0]),
        ([], [], []),
        ([0, 1, 2], [0, 1], [0, 0]),
        ([0, 1], [3], [0]),
        ([0, 1], [-1], [0]),
        ([0, 1], [0], [5]),
        ([0, 1], [0], [0, 0]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(domain, indptr, items, steps):
    with pytest.raises(DataError, match="not compressed rows"):
        Ratings(domain, pl.Series(["x"]), np.array(indptr), np.array(items), np.array(steps))


def test_select_drops_users_that_have_nothing_left(ratings):
    kept = ratings.select(np.array([False, True, False]))
    assert kept.users.to_list() == ["y"]
    assert (kept.indptr.tolist(), kept.items.tolist(), kept.steps.tolist()) == ([0, 1], [0], [2])
    nothing = ratings.select(np.zeros(3, dtype=np.bool_))
    assert (nothing.n_users, nothing.n_ratings, nothing.indptr.tolist()) == (0, 0, [0])
    assert nothing.select(np.zeros(0, dtype=np.bool_)).n_users == 0
    assert nothing.capped(1).to_polars().height == 0


def test_select_takes_one_boolean_for_each_rating(ratings):
    for mask in (np.ones(2, dtype=np.bool_), np.array([0, 1, 2])):
        with pytest.raises(DataError, match="one boolean for each"):
            ratings.select(mask)


def test_select_keeps_timestamps_along():
    all_of_them = ratings_of(table([5, 9], 20), 20)
    odd = np.arange(14) % 2 == 1
    assert all_of_them.select(odd).timestamps.tolist() == all_of_them.timestamps[odd].tolist()


def test_more_users_than_declared_is_told_not_raised(domain):
    frame = pl.DataFrame({"user": ["w", "x", "y", "z"], "item": ["a"] * 4, "rating": [1] * 4})
    assert load(frame, domain).exceeds_declared_users
    assert not load(frame[:3], domain).exceeds_declared_users


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 31), st.integers(0, 9))
def test_a_cap_keeps_the_smaller_of_count_and_cap(counts, cap, seed):
    ratings = ratings_of(table(counts, 30, seed), 30)
    capped = ratings.capped(cap)
    assert capped.users.equals(ratings.users)
    assert capped.counts.tolist() == np.minimum(ratings.counts, cap).tolist()
    assert set(capped.to_polars().rows()) <= set(ratings.to_polars().rows())


@settings(derandomize=True, max_examples=12, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_cap_looks_at_each_user_alone(random):
    """Neither other users nor the order of rows matter; a cap over a shared order would fail this."""
    frame = table([25, 30, 3, 18], 30)
    capped = ratings_of(frame, 30).capped(7).to_polars()
    mixed = frame[random.sample(range(frame.height), frame.height)]
    assert ratings_of(mixed, 30).capped(7).to_polars().equals(capped)
    for user in ("u0", "u1", "u2", "u3"):
        alone = ratings_of(mixed.filter(pl.col("user_id") == user), 30).capped(7).to_polars()
        assert alone.equals(capped.filter(pl.col("user_id") == user))


def test_a_cap_does_not_depend_on_the_chunk(monkeypatch):
    ratings = ratings_of(table(range(1, 40), 50), 50)
    whole = ratings.capped(5).to_polars()
    monkeypatch.setattr("hushrec.data.capping._CHUNK", 64)
    assert ratings.capped(5).to_polars().equals(whole)


def test_a_cap_is_the_same_for_ever():
    """Which ratings are capped away belongs to a release, so another version must not choose others."""
    kept = ratings_of(table([30], 30), 30).capped(6)
    assert hashlib.sha256(kept.items.tobytes()).hexdigest()[:16] == "e26ca9b91da60c64"


def unevenness(kept_items, n_users, n_items, cap):
    """Tail probability of the χ² statistic of how often each item stays, if each is equally likely to.

    A user keeps ``max_per_user`` of ``n_items`` without replacement, hence the factor below.
    """
    seen = np.bincount(kept_items, minlength=n_items)
    expected = n_users * cap / n_items
    statistic = ((seen - expected) ** 2 / expected).sum() * (n_items - 1) / (n_items - cap)
    return chi2.sf(statistic, n_items - 1)


def test_a_cap_is_neutral_towards_items():
    """4,000 users who rated all of 40 items keep 10. Faults to catch: first come first kept, one key for all.

    A neutral choice fails with probability 1e-6; each fault has a statistic beyond any float.
    """
    n_users, n_items, cap = 4_000, 40, 10
    ratings = Ratings(
        Domain(range(n_items), scale=(1, 5, 1), max_users=10_000),
        pl.Series([f"user {user:04}" for user in range(n_users)]),
        np.arange(n_users + 1) * n_items,
        np.tile(np.arange(n_items, dtype=np.int32), n_users),
        np.zeros(n_users * n_items, dtype=np.uint8),
    )
    assert unevenness(ratings.capped(cap).items, n_users, n_items, cap) > 1e-6
    first_kept = np.tile(np.arange(cap), n_users)
    assert unevenness(first_kept, n_users, n_items, cap) < 1e-6


def test_a_cap_below_one_is_refused(ratings):
    with pytest.raises(DataError, match="1 or more"):
        ratings.capped(0)


# -- the roster -------------------------------------------------------------------------------------------


def listed(domain, users):
    return Domain(domain.items, scale=domain.scale, max_users=100, users=users)


def test_rows_over_the_roster(ratings, domain):
    """People w and z, before and after, and xx, in between, have rated nothing."""
    made = load(ratings.to_polars(), listed(domain, ["z", "y", "xx", "w", "x"]))
    assert made.domain.users == ("w", "x", "xx", "y", "z")
    indptr = made.roster_indptr()
    assert indptr.tolist() == [0, 0, 1, 1, 3, 3]
    assert indptr.dtype == np.int64
    assert made.items[indptr[3] : indptr[4]].tolist() == [0, 1]


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(0, 99))
def test_every_part_has_rows_over_the_whole_roster(counts, seed):
    domain = Domain(range(9), scale=(1, 5, 1), max_users=99, users=[f"u{user}" for user in range(20)])
    whole = load(table(counts, 9, seed), domain)
    part = whole.select(default_rng(seed).random(whole.n_ratings) < 0.3)
    indptr = part.roster_indptr()
    assert len(indptr) == 21
    found = {
        user: part.items[indptr[place] : indptr[place + 1]].tolist()
        for place, user in enumerate(domain.users)
        if indptr[place] < indptr[place + 1]
    }
    wanted = {
        user: part.items[part.indptr[row] : part.indptr[row + 1]].tolist()
        for row, user in enumerate(part.users.to_list())
    }
    assert found == wanted


def test_without_a_roster_the_fix_is_named(ratings):
    with pytest.raises(DomainError, match=r"Domain\(users=\[...\]\) or hushrec domain --users FILE"):
        ratings.roster_indptr()


@pytest.mark.parametrize("users", [["x", "secret"], ["secret", "x"], ["y", "x"], ["x", "x"]])
def test_users_who_are_not_the_rosters_in_its_order_are_refused(domain, users):
    with pytest.raises(DataError, match="not those of the domain's roster") as caught:
        Ratings(
            listed(domain, ["x", "y"]),
            pl.Series(users),
            np.array([0, 1, 2]),
            np.array([0, 0], dtype=np.int32),
            np.array([1, 1], dtype=np.uint8),
        )
    assert "secret" not in str(caught.value)
