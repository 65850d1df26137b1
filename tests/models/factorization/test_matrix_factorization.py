"""The model that has no noise and its factoriser: what they find, and whom the model lists."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.estimation.factor_steps import normal_factors
from hushrec.models.factorization.factorizers import Sparse, least_squares


def dense(ratings):
    found = np.full((len(ratings.counts), ratings.n_columns), np.nan)
    rows = np.repeat(np.arange(len(ratings.counts)), ratings.counts)
    found[rows, ratings.columns] = ratings.values
    return found


def als_wr(ratings, rank, epochs, reg):
    """Zhou et al. 2008, §3.1, as it is written."""
    table = dense(ratings)
    columns, rows = 0.3 * normal_factors(table.shape[1], rank), np.zeros((table.shape[0], rank))

    def solved(table, others):
        found = np.zeros((len(table), others.shape[1]))
        for row, own in enumerate(table):
            rated = ~np.isnan(own)
            if rated.any():
                q = others[rated]
                normal = q.T @ q + reg * rated.sum() * np.eye(others.shape[1])
                found[row] = np.linalg.solve(normal, q.T @ own[rated])
        return found

    for _ in range(epochs):
        rows = solved(table, columns)
        columns = solved(table.T, rows)
    return rows, columns


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


@pytest.mark.parametrize(
    "settings", [{}, {"effects": False, "power": 1.0, "reg": 0.08}, {"solver": "sgd", "reg": 0.05}], ids=str
)
@pytest.mark.full
def test_it_finds_what_averages_leave(rmse, listed_rmse, settings):
    """With a roster or without; its vectors predict as well as folding in does."""
    config = hr.MatrixFactorization(rank=4, **settings)
    assert listed_rmse(config) < rmse(hr.GlobalEffects()) - 0.01
    assert rmse(config) == pytest.approx(listed_rmse(config), abs=0.01)


def test_without_a_roster_it_lists_those_who_rated(world):
    train, _ = world
    release = hr.baseline(train, hr.MatrixFactorization(rank=3))
    assert release.users == tuple(train.users.to_pylist())
    assert release.tensors["user_factors"].shape == (train.n_users, 3)
