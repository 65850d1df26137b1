"""Each kernel against a reference in plain NumPy or in Python's integers, on rows that are hard on it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.sums.kernels import gradients

LEVELS = np.arange(5, dtype=np.int64) << 12
LARGEST = 2**31 - 1


def rows(rng, n_users, n_items, share=0.4):
    """Compressed rows; many users have none at all, and some everything."""
    chosen = rng.random((n_users, n_items)) < share * rng.choice([0, 1, 2, 9], size=(n_users, 1))
    indptr = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int64)
    return indptr, np.nonzero(chosen)[1].astype(np.int32)


def users_of(indptr):
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)).astype(np.int32)


@pytest.fixture(params=[(0, 3), (1, 1), (7, 5), (40, 12)], ids=str)
def case(request):
    """Rows of ratings with steps, entries and factors in grid steps, some at their ends."""
    n_users, n_items = request.param
    rng = np.random.default_rng(n_users)
    indptr, items = rows(rng, n_users, n_items)
    n = len(items)
    return {
        "indptr": indptr,
        "items": items,
        "steps": rng.integers(0, 5, n).astype(np.uint8),
        "entries": rng.choice([-(2**16), -1, 0, 1, 2**16, 777], n).astype(np.int32),
        "people": rng.integers(-(2**14), 2**14 + 1, (n_users, 3)).astype(np.int32),
        "films": rng.integers(-(2**14), 2**14 + 1, (n_items, 3)).astype(np.int32),
        "rng": rng,
    }


@pytest.mark.parametrize("bound", [1, 500, 10**6])
def test_residuals_equal_their_reference(case, bound):
    rng, n_items, n_users = case["rng"], len(case["films"]), len(case["people"])
    offsets = rng.integers(-9000, 30_000, n_items), rng.integers(-9000, 9000, n_users)
    arguments = (case["indptr"], case["items"], case["steps"], LEVELS, *offsets, bound)
    found = gradients.residuals(*arguments)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, gradients.reference_residuals(*arguments))
    assert np.abs(found).max(initial=0) <= bound


@pytest.mark.parametrize("shift", [0, 14])
@pytest.mark.parametrize("bound", [1, 3000, LARGEST])
def test_errors_equal_their_reference(case, shift, bound):
    arguments = (case["indptr"], case["items"], case["entries"], case["people"], case["films"], shift, bound)
    found = gradients.errors(*arguments)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, gradients.reference_errors(*arguments))


def test_sums_equal_their_reference(case):
    indptr, items, entries, people, films = (
        case[name] for name in ("indptr", "items", "entries", "people", "films")
    )
    users = users_of(indptr)
    of_users = gradients.user_sums(indptr, items, entries, films)
    of_items = gradients.item_sums(indptr, items, entries, people, len(films))
    np.testing.assert_array_equal(
        of_users, gradients.reference_sums(users, entries, films[items], len(people))
    )
    np.testing.assert_array_equal(
        of_items, gradients.reference_sums(items, entries, people[users], len(films))
    )
    assert of_users.dtype == of_items.dtype == np.int64
    assert not of_users[np.diff(indptr) == 0].any(), "who rated nothing adds nothing"


def test_a_product_is_rounded_down_whatever_its_sign():
    indptr, items = np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    entries, one = np.zeros(2, dtype=np.int32), np.ones((1, 1), dtype=np.int32)
    films = np.array([[1], [-1]], dtype=np.int32)
    found = gradients.errors(indptr, items, entries, one, films, 14, 100)
    assert found.tolist() == [0, 1]  # ⌊2^-14⌋ = 0 and ⌊−2^-14⌋ = −1


def test_the_largest_integers_are_exact():
    """Thousands of entries and factors at the ends of 32 bits: Python's integers agree to the last digit."""
    n = 2000
    indptr = np.array([0, 0, n, n, 2 * n])
    items = np.tile(np.arange(n, dtype=np.int32), 2)
    entries = np.full(2 * n, 2**20, dtype=np.int32)
    entries[n:] = -(2**20)
    films = np.full((n, 2), LARGEST, dtype=np.int32)
    people = np.full((4, 2), -LARGEST, dtype=np.int32)
    found = gradients.user_sums(indptr, items, entries, films)
    assert found[:, 0].tolist() == [0, n * 2**20 * LARGEST, 0, -n * 2**20 * LARGEST]
    assert not gradients.item_sums(indptr, items, entries, people, n).any(), "the two users cancel"
    # A product of two factors takes 62 bits, and the bound is the last thing that is applied.
    found = gradients.errors(indptr, items, entries, people[:, :1], films[:, :1], 31, LARGEST)
    exact = [int(e) - ((-LARGEST * LARGEST) >> 31) for e in entries]
    assert found.tolist() == [min(max(e, -LARGEST), LARGEST) for e in exact]


# -- gradients from home ----------------------------------------------------------------------------------


def reference_home(items, values, factors, ridge, bound, clip):
    """One user's gradient in real numbers: shape (n_items, rank)."""
    mine = factors[items]
    taste = np.linalg.solve(mine.T @ mine + ridge * np.eye(factors.shape[1]), mine.T @ values)
    given = np.zeros(factors.shape)
    np.add.at(given, items, np.clip(values - mine @ taste, -bound, bound)[:, None] * taste)
    norm = np.linalg.norm(given)
    return given * min(1.0, clip / norm) if norm > 0 else given


def home_case(seed, n_users=12, n_items=15, rank=3, spread=1.0, size=1.0):
    rng = np.random.default_rng(seed)
    indptr, items = rows(rng, n_users, n_items)
    values = spread * rng.standard_normal(len(items))
    return indptr, items, values, size * rng.standard_normal((n_items, rank)) / np.sqrt(rank)


def each_alone(indptr, items, values, factors, *settings):
    """Every user's gradient as if nobody else were there."""
    for start, stop in itertools.pairwise(indptr):
        mine = slice(start, stop)
        alone = np.array([0, stop - start])
        yield mine, gradients.ridge_gradients(alone, items[mine], values[mine], factors, *settings)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("bound", "clip"), [(0.8, 1.5), (100.0, 0.1), (0.1, 1e6)])
def test_gradients_from_home_equal_a_plain_reference(seed, bound, clip):
    indptr, items, values, factors = home_case(seed)
    step, ridge = 2.0**-20, 0.3
    settings = (ridge, bound, clip, step)
    for mine, found in each_alone(indptr, items, values, factors, *settings):
        if mine.start == mine.stop:
            assert not found.any()
            continue
        exact = reference_home(items[mine], values[mine], factors, ridge, bound, clip) / step
        slack = 1e-8 * np.abs(exact) + 1e-6
        # Toward zero, so never further out than it is, and by less than a step nearer.
        assert (np.abs(found) <= np.abs(exact) + slack).all()
        assert (np.abs(found) > np.abs(exact) - 1 - slack).all()
        assert (found * exact >= 0).all()


@settings(max_examples=120, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_items=st.integers(1, 60),
    rank=st.integers(1, 6),
    spread=st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 1e3, 1e6]),
    size=st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 30.0]),
    ridge=st.sampled_from([1e-10, 1e-4, 1.0, 100.0]),
    bound=st.sampled_from([1e-6, 0.8, 1e9]),
    clip=st.sampled_from([1e-3, 0.7, 1.5, 40.0]),
    bits=st.integers(3, 30),
)
def test_nobody_gives_more_than_the_clip(seed, n_items, rank, spread, size, ridge, bound, clip, bits):
    """In exact arithmetic, whatever the ratings, the factors, the ridge and the grid."""
    rng = np.random.default_rng(seed)
    items = np.arange(n_items, dtype=np.int32)
    factors = size * rng.standard_normal((n_items, rank))
    values = spread * rng.standard_normal(n_items)
    step = 2.0 ** (math.floor(math.log2(clip)) - bits)
    found = gradients.ridge_gradients(
        np.array([0, n_items]), items, values, factors, ridge, bound, clip, step
    )
    squared = sum(int(entry) ** 2 for entry in found.ravel())
    assert squared * Fraction(step) ** 2 <= Fraction(clip) ** 2


@pytest.mark.parametrize("size", [1e12, 1e160, np.inf, np.nan])
def test_factors_beyond_floating_point_raise_nothing_at_home(size):
    """An error of LAPACK's, which finds such a matrix singular, would tell that somebody is there."""
    indptr, items, factors = np.array([0, 2]), np.array([0, 1], np.int32), np.full((2, 2), size)
    found = gradients.ridge_gradients(indptr, items, np.ones(2), factors, 1e-12, 1.0, 1.0, 2.0**-16)
    assert np.abs(found).max() <= 2**16
