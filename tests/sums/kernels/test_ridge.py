"""One person's ridge regression against LAPACK; where there is no solution it says so and never raises."""

import numpy as np
import pytest

from hushrec.sums.kernels.gradients import fit_user, gather, invert, user_errors, user_residuals


@pytest.mark.parametrize("rank", [1, 2, 5, 17])
def test_the_inverse_is_that_of_lapack(rank):
    root = np.random.default_rng(rank).standard_normal((rank, rank + 1))
    matrix, inverse = root @ root.T + 0.1 * np.eye(rank), np.empty((rank, rank))
    expected = np.linalg.inv(matrix)
    assert invert(matrix, inverse)
    np.testing.assert_allclose(inverse, expected, rtol=1e-9, atol=1e-12)


def fitted(start, stop, items, values, factors, ridge):
    rank = factors.shape[1]
    vector, inverse, normal = np.full(rank, np.nan), np.empty((rank, rank)), np.empty((rank, rank))
    rows = np.full((rank, stop - start + 2), np.nan)  # with room for a user of more ratings
    gather(start, stop, items, factors, rows)
    there = fit_user(rows, values[start:stop], ridge, normal, inverse, vector)
    return there, vector, inverse


@pytest.mark.parametrize(("start", "stop"), [(0, 9), (3, 5), (4, 4)])
def test_a_person_is_fitted_as_by_lapack(start, stop):
    rng = np.random.default_rng(0)
    items, values = rng.permutation(9).astype(np.int32), rng.standard_normal(9)
    factors = rng.standard_normal((9, 4))
    there, vector, inverse = fitted(start, stop, items, values, factors, 0.3)
    own, x = factors[items[start:stop]], values[start:stop]
    matrix = own.T @ own + 0.3 * np.eye(4)
    assert there
    np.testing.assert_allclose(vector, np.linalg.solve(matrix, own.T @ x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(inverse @ matrix, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("factor", [0.0, np.nan, np.inf, 1e200])
def test_where_floating_point_has_no_solution_it_says_so(factor):
    items, factors = np.arange(2, dtype=np.int32), np.full((2, 3), factor)
    assert not fitted(0, 2, items, np.ones(2), factors, 0.0)[0]
    assert fitted(0, 2, items, np.ones(2), np.ones((2, 3)), 1.0)[0]


def test_errors_are_clamped_and_those_of_other_ratings_are_left():
    rng = np.random.default_rng(1)
    rows, values, vector = rng.standard_normal((3, 8)), rng.standard_normal(5), rng.standard_normal(3)
    errors = np.full(8, 9.0)
    user_errors(rows, values, vector, 0.7, errors)
    expected = np.clip(values - vector @ rows[:, :5], -0.7, 0.7)
    np.testing.assert_allclose(errors[:5], expected, atol=1e-12)
    assert (np.abs(expected) == 0.7).any()
    assert errors[5:].tolist() == [9.0] * 3


def test_residuals_are_without_the_items_effects_and_the_users_bias():
    rng = np.random.default_rng(2)
    indptr, items = np.array([0, 4, 4, 9]), rng.integers(0, 6, 9).astype(np.int32)
    steps, levels, effects = rng.integers(0, 5, 9).astype(np.uint8), np.arange(1.0, 6), rng.normal(3, 1, 6)
    residuals = np.full(9, np.nan)
    user_residuals(0, 3, indptr, items, steps, levels, effects, 5.0, residuals)
    for start, stop in ((0, 4), (4, 9)):
        alone = levels[steps[start:stop]] - effects[items[start:stop]]
        bias = alone.sum() / (stop - start + 5)
        np.testing.assert_allclose(residuals[start:stop], alone - bias, atol=1e-12)
