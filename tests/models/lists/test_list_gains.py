"""Votes against slow lists, and the extremes of one vote."""

import numpy as np
import pytest

from hushrec.models.lists.kernels import list_gains, reference_list_gains

N, RANK, ALL = 300, 4, np.uint64(2**64 - 1)


@pytest.fixture
def linear():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((N, RANK))
    return factors, rng.uniform(0.1, 1, N), rng.uniform(0.5, 2, N), rng.standard_normal(RANK)


@pytest.fixture
def rows():
    """Users with 0 to 60 items, in any order."""
    rng = np.random.default_rng(1)
    own = [rng.choice(N, size, replace=False) for size in (0, 1, 2, 60, *rng.integers(3, 60, 80))]
    indptr = np.concatenate([[0], np.cumsum([len(items) for items in own])])
    return indptr, np.concatenate(own).astype(np.int32)


@pytest.mark.parametrize("below", [ALL, np.uint64(2**63), np.uint64(0)])
def test_gains_are_those_of_whole_lists(linear, rows, below):
    places = np.random.default_rng(2).permutation(N)
    found = list_gains(*rows, *linear, places, below)
    expected = reference_list_gains(*rows, *linear, places, below)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    voting = np.isfinite(found).mean()
    assert np.isnan(found[:2]).all(), "with fewer than two items there is nothing to find"
    assert voting == 0 if below == 0 else voting > 0.9 * float(below) / 2**64 - 0.15


def test_a_user_counts_the_same_in_any_order_and_company(linear, rows):
    indptr, items = rows
    places = np.random.default_rng(2).permutation(N)
    together = list_gains(indptr, items, *linear, places, ALL)
    for user in (3, 10, 40):
        own = items[indptr[user] : indptr[user + 1]][::-1].copy()
        alone = list_gains(np.array([0, len(own)]), own, *linear, places, ALL)
        assert alone[0] == pytest.approx(together[user], abs=1e-12)
