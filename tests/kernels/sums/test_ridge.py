"""One person's ridge regression against LAPACK; where there is no solution it says so and never raises."""

import numpy as np
import pytest

from hushrec.kernels.sums.ridge import fit_user, invert


@pytest.mark.parametrize("rank", [1, 2, 5, 17])
def test_the_inverse_is_that_of_lapack(rank):
    root = np.random.default_rng(rank).standard_normal((rank, rank + 1))
    matrix, inverse = root @ root.T + 0.1 * np.eye(rank), np.empty((rank, rank))
    expected = np.linalg.inv(matrix)
    assert invert(matrix, inverse)
    np.testing.assert_allclose(inverse, expected, rtol=1e-9, atol=1e-12)


def fitted(start, stop, items, values, factors, ridge):
    rank = factors.shape[1]
    vector, inverse = np.full(rank, np.nan), np.empty((rank, rank))
    there = fit_user(start, stop, items, values, factors, ridge, np.empty((rank, rank)), inverse, vector)
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
