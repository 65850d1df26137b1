"""The Gram kernel against three lines of NumPy, bit for bit."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from hushrec.kernels.csr import packed_size
from hushrec.sums.kernels import gram
from hushrec.sums.kernels.gram import reference_gram, weighted_gram

ENTRY, WEIGHT = 1 << 12, 1 << 24


def rows_of(mask):
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64)
    return indptr, np.nonzero(mask)[1].astype(np.int32)


def random_case(rng, n_users, n_items, density=0.3):
    """Some users rate nothing or everything, some items nobody; weights 0 and both bounds occur."""
    mask = rng.random((n_users, n_items)) < density * 4 * rng.random((n_users, 1)) * rng.random(n_items)
    mask[rng.random(n_users) < 0.1] = False
    mask[:, rng.random(n_items) < 0.1] = False
    mask[rng.random(n_users) < 0.05] = True
    indptr, items = rows_of(mask)
    entries = rng.integers(-ENTRY, ENTRY + 1, len(items), dtype=np.int32)
    entries[rng.random(len(items)) < 0.05] = 0
    weights = rng.choice([0, 1, WEIGHT, *rng.integers(0, WEIGHT + 1, 20)], n_users)
    return indptr, items, entries, weights


@pytest.mark.parametrize("n_items", [1, 2, 7, 8, 9, 16, 61, 200])
@pytest.mark.parametrize("n_users", [0, 1, 3, 50])
def test_equals_numpy(n_items, n_users):
    rng = default_rng([n_items, n_users])
    for density in (0.02, 0.3, 1.0):
        indptr, items, entries, weights = random_case(rng, n_users, n_items, density)
        co_rating = np.zeros(packed_size(n_items), np.int64)
        got = weighted_gram(indptr, items, entries, weights, n_items, co_rating=co_rating)
        assert got.dtype == np.int64
        assert got.shape == (packed_size(n_items),)
        for sums, a in ((got, entries), (co_rating, np.ones_like(entries))):
            assert np.array_equal(sums, reference_gram(indptr, items, a, weights, n_items))
        assert np.array_equal(got, weighted_gram(indptr, items, entries, weights, n_items))


@pytest.mark.parametrize("tile", [1, 7, 256])
def test_bands_of_rows_are_those_of_the_whole(tile, monkeypatch):
    monkeypatch.setattr(gram, "_TILE", tile)
    indptr, items, entries, weights = random_case(default_rng(tile), 40, 61)
    for of in (entries, np.ones_like(entries)):
        whole = reference_gram(indptr, items, of, weights, 61)
        for cut in ([0, 61], [0, 1, 7, 8, 30, 60, 61], [0, 0, 50, 61]):
            parts = []
            for rows in pairwise(cut):
                size = packed_size(61 - rows[0]) - packed_size(61 - rows[1])
                low, co_rating = np.zeros((2, size), np.int64)
                weighted_gram(indptr, items, entries, weights, 61, out=low, co_rating=co_rating, rows=rows)
                parts.append(low if of is entries else co_rating)
            assert np.array_equal(np.concatenate(parts), whole)
    for rows in ((-1, 3), (3, 2), (60, 62)):
        with pytest.raises(ValueError, match="rows must lie among the items"):
            weighted_gram(indptr, items, entries, weights, 61, rows=rows)
    with pytest.raises(ValueError, match="packed rows"):
        weighted_gram(
            indptr, items, entries, weights, 61, out=np.zeros(packed_size(61), np.int64), rows=(1, 3)
        )


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.data())
def test_equals_numpy_on_any_small_case(data):
    n_items = data.draw(st.integers(1, 20))
    users = data.draw(
        st.lists(st.dictionaries(st.integers(0, n_items - 1), st.integers(-ENTRY, ENTRY)), max_size=6)
    )
    weights = np.array(data.draw(st.lists(st.integers(0, WEIGHT), min_size=6, max_size=6)), np.int64)
    weights = weights[: len(users)]
    indptr = np.cumsum([0, *map(len, users)])
    items = np.array([i for user in users for i in sorted(user)], np.int32)
    entries = np.array([user[i] for user in users for i in sorted(user)], np.int32)
    got = weighted_gram(indptr, items, entries, weights, n_items, threads=data.draw(st.integers(1, 3)))
    assert np.array_equal(got, reference_gram(indptr, items, entries, weights, n_items))


def test_threads_and_order_of_users_change_no_bit():
    rng = default_rng(1)
    n_users, n_items = 300, 90
    indptr, items, entries, weights = random_case(rng, n_users, n_items)
    expected = weighted_gram(indptr, items, entries, weights, n_items, threads=1)
    for threads in (2, 3, 8):
        assert np.array_equal(
            weighted_gram(indptr, items, entries, weights, n_items, threads=threads), expected
        )
    order = rng.permutation(n_users)
    counts = np.diff(indptr)
    starts = np.concatenate([[0], np.cumsum(counts[order])])
    where = np.repeat(indptr[order] - starts[:-1], counts[order]) + np.arange(starts[-1])
    shuffled = weighted_gram(starts, items[where], entries[where], weights[order], n_items)
    assert np.array_equal(shuffled, expected)


def test_sums_of_others_are_added_to_in_place():
    rng = default_rng(5)
    rows, more = random_case(rng, 80, 50), random_case(rng, 60, 50)
    expected = reference_gram(*rows, 50) + reference_gram(*more, 50)
    out = weighted_gram(*rows, 50)
    assert weighted_gram(*more, 50, threads=3, out=out) is out
    assert np.array_equal(out, expected)
    assert not np.array_equal(weighted_gram(*more, 50), expected), "the test would see a difference"


def test_sums_that_overflow_with_those_of_others_are_refused():
    """Each of the two is below 2^62, and together they are not."""
    one = np.array([0, 1]), np.zeros(1, np.int32), np.full(1, ENTRY, np.int32), np.full(1, WEIGHT, np.int64)
    out = np.full(1, 2**62 - ENTRY**2 * WEIGHT - 1, np.int64)
    assert weighted_gram(*one, 1, out=out) == 2**62 - 1
    with pytest.raises(OverflowError, match="coarser"):
        weighted_gram(*one, 1, out=out)


def test_sums_up_to_the_bounds_are_exact():
    """2,000 users at the largest weight and entries sum to 2^59: far beyond float64's 2^53."""
    rng = default_rng(3)
    n_users, n_items = 2000, 12
    indptr, items = rows_of(rng.random((n_users, n_items)) < 0.9)
    entries = np.where(rng.random(len(items)) < 0.98, -ENTRY, ENTRY - 1).astype(np.int32)
    weights = WEIGHT - rng.integers(0, 2, n_users)
    got = weighted_gram(indptr, items, entries, weights, n_items)
    dense = np.zeros((n_users, n_items), dtype=object)
    dense[np.repeat(np.arange(n_users), np.diff(indptr)), items] = entries.astype(object)
    exact = dense.T @ (weights.astype(object)[:, None] * dense)  # Python's integers
    assert got.tolist() == exact[np.triu_indices(n_items)].tolist()
    assert got.max() > 2**58


def test_overflow_is_refused_below_2_to_63():
    """2^14 users of weight 2^24 with entry 2^12 reach 2^62 exactly; one user fewer does not."""
    n_users = 1 << 14
    indptr = np.arange(n_users + 1)
    items, entries = np.zeros(n_users, np.int32), np.full(n_users, -ENTRY, np.int32)
    weights = np.full(n_users, WEIGHT)
    with pytest.raises(OverflowError, match="coarser grid"):
        weighted_gram(indptr, items, entries, weights, 1)
    one_less = weighted_gram(indptr[:-1], items[1:], entries[1:], weights[1:], 1)
    assert one_less.tolist() == [((1 << 14) - 1) << 48]


def test_tiles_and_runs_change_no_bit(monkeypatch):
    """The last run has one user, and the first tile fewer items than the others."""
    indptr, items, entries, weights = random_case(default_rng(6), 80, 61)
    both = np.zeros((2, packed_size(61)), np.int64)
    weighted_gram(indptr, items, entries, weights, 61, out=both[0], co_rating=both[1])
    monkeypatch.setattr(gram, "_TILE", 7)
    for run in (1, 100, 10**6):
        monkeypatch.setattr(gram, "_RUN", run)
        again = np.zeros_like(both)
        weighted_gram(indptr, items, entries, weights, 61, threads=3, out=again[0], co_rating=again[1])
        assert np.array_equal(again, both)
