"""Factorisers against plain NumPy."""

import numpy as np
import pytest

from hushrec.models.factorization.factorizers import Sparse, least_squares
from support.least_squares import als_wr


def small(seed=0, n_users=20, n_items=9, share=0.5):
    """Ratings in compressed rows; one row and one column are empty."""
    rng = np.random.default_rng(seed)
    rated = rng.random((n_users, n_items)) < share
    rated[3], rated[:, 4] = False, False
    indptr = np.concatenate([[0], np.cumsum(rated.sum(axis=1))])
    values = rng.standard_normal(rated.sum()).astype(np.float32)
    return Sparse(indptr, np.nonzero(rated)[1].astype(np.int32), values, n_items)


@pytest.mark.parametrize(("rank", "reg"), [(1, 0.3), (4, 0.05), (5, 2.0)])
def test_it_is_alternating_least_squares_with_weighted_regularisation(rank, reg):
    ratings = small()
    found = least_squares(ratings, rank, 4, reg=reg, power=1.0)
    rows, columns = als_wr(ratings, rank, 4, reg)
    np.testing.assert_allclose(found.rows, rows, atol=2e-4)
    np.testing.assert_allclose(found.columns, columns, atol=2e-4)
    assert not found.row_effects.any()
    assert not found.column_effects.any()
