"""Factorisers against plain NumPy."""

import numpy as np
import pytest

from hushrec.models.factorization.factorizers import Sparse, least_squares
from support.least_squares import als_wr, dense


def small(seed=0, n_users=20, n_items=9, share=0.5):
    """Ratings in compressed rows; one row and one column are empty."""
    rng = np.random.default_rng(seed)
    rated = rng.random((n_users, n_items)) < share
    rated[3], rated[:, 4] = False, False
    indptr = np.concatenate([[0], np.cumsum(rated.sum(axis=1))])
    values = rng.standard_normal(rated.sum()).astype(np.float32)
    return Sparse(indptr, np.nonzero(rated)[1].astype(np.int32), values, n_items)


def objective(ratings, found, reg, power, scales=(0.0, 0.0)):
    """What ``least_squares`` says that it minimises."""
    table = dense(ratings)
    rated = ~np.isnan(table)
    predicted = found.rows @ found.columns.T + found.row_effects[:, None] + found.column_effects
    total = np.nansum((table - predicted) ** 2)
    sides = (
        (found.rows, found.row_effects, rated.sum(axis=1)),
        (
            found.columns,
            found.column_effects,
            rated.sum(axis=0),
        ),
    )
    for (factors, effects, counts), scale in zip(sides, scales, strict=True):
        size = (factors**2).sum(axis=1) + (effects**2 / scale**2 if scale else 0)
        total += (reg * np.maximum(counts, 1.0) ** power * size).sum()
    return total


@pytest.mark.parametrize(("rank", "reg"), [(1, 0.3), (4, 0.05), (5, 2.0)])
def test_it_is_alternating_least_squares_with_weighted_regularisation(rank, reg):
    ratings = small()
    found = least_squares(ratings, rank, 4, reg=reg, power=1.0)
    rows, columns = als_wr(ratings, rank, 4, reg)
    np.testing.assert_allclose(found.rows, rows, atol=2e-4)
    np.testing.assert_allclose(found.columns, columns, atol=2e-4)
    assert not found.row_effects.any()
    assert not found.column_effects.any()


@pytest.mark.parametrize(("power", "scales"), [(0.5, (1.0, 1.0)), (0.0, (3.0, 0.5)), (1.0, (0.3, 2.0))])
def test_each_side_is_the_minimum_given_the_other(power, scales):
    """No small change of any row's factors or effects lowers the objective, the other side held fixed."""
    ratings, rng = small(seed=5, share=0.7), np.random.default_rng(6)
    found = least_squares(ratings, 2, 3, reg=0.4, power=power, row_scale=scales[0], column_scale=scales[1])
    least = objective(ratings, found, 0.4, power, scales)
    for name in ("columns", "column_effects"):
        part = getattr(found, name)
        for _ in range(20):
            change = 1e-3 * rng.standard_normal(part.shape)
            both = [
                objective(ratings, found._replace(**{name: part + sign * change}), 0.4, power, scales)
                for sign in (1, -1)
            ]
            # A parabola with its bottom here: as far up on one side as on the other.
            assert min(both) > least
            assert abs(both[0] - both[1]) < 0.05 * (sum(both) - 2 * least)
