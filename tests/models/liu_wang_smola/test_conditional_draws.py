"""Draws of one side given the other: their sums, their normal law and what is accepted, against NumPy."""

import numpy as np
import pytest

from hushrec.models.liu_wang_smola.kernels import (
    Sides,
    accept_proposals,
    add,
    draw,
    reference_normal,
    triangle_size,
    weigh,
)

USERS, ITEMS, RANK, LOW, HIGH = 7, 5, 3, -0.6, 0.9


@pytest.fixture
def made():
    """Dense ratings, NaN where there is none (the second user has none), weights and both sides."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(USERS, ITEMS)).astype(np.float32)
    table[rng.random(table.shape) < 0.3] = np.nan
    table[1] = np.nan
    scales = rng.uniform(0.1, 2, USERS).astype(np.float32)
    sides = Sides(
        *(rng.normal(size=size).astype(np.float32) for size in ((USERS, RANK), USERS, (ITEMS, RANK), ITEMS))
    )
    return table, scales, sides


def rows(table, scales, sides):
    """The arguments of the kernels."""
    rated = ~np.isnan(table)
    indptr = np.concatenate([[0], np.cumsum(rated.sum(axis=1))])
    return indptr, np.nonzero(rated)[1].astype(np.int32), table[rated], scales, sides


def sums(made, of_users, first=0, size=None):
    size = (USERS if of_users else ITEMS) if size is None else size
    triangle, pull = np.zeros((size, triangle_size(RANK))), np.zeros((size, RANK + 1))
    add(of_users, first, *rows(*made), triangle, pull)
    return triangle, pull


def expected(made, of_users, precision):
    table, scales, sides = made
    weights = np.where(np.isnan(table), 0, scales[:, None]).astype(float)
    others = sides.item_factors if of_users else sides.user_factors
    effects = sides.item_effects if of_users else sides.user_effects
    values = np.nan_to_num(table).astype(float)
    if not of_users:
        weights, values = weights.T, values.T
    x = np.column_stack([np.ones(len(others)), others])
    return reference_normal(weights, values - effects, x, precision)


@pytest.mark.parametrize("of_users", [True, False])
def test_sums_equal_numpy_and_may_be_taken_in_bands(made, of_users):
    triangle, pull = sums(made, of_users)
    curvature, right = expected(made, of_users, np.zeros(RANK + 1))
    lower = np.tril_indices(RANK + 1)
    np.testing.assert_allclose(triangle, curvature[:, lower[0], lower[1]], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(pull, right, rtol=1e-5, atol=1e-6)
    for first in range(len(pull) - 1):
        some = sums(made, of_users, first, 2)
        np.testing.assert_array_equal(some[0], triangle[first : first + 2])
        np.testing.assert_array_equal(some[1], pull[first : first + 2])


@pytest.mark.parametrize("temperature", [1.0, 0.25])
def test_a_draw_is_the_normal_whose_precision_was_summed(made, temperature):
    """A v = a + √T L z with L Lᵀ = A: mean A⁻¹ a, covariance T A⁻¹."""
    precision = np.array([3.0, 0.5, 1.0, 2.0])
    normals = np.random.default_rng(1).normal(size=(ITEMS, RANK + 1))
    out = np.empty((ITEMS, RANK + 1), np.float32)
    draw(*sums(made, False), precision, temperature, normals, out)
    curvature, right = expected(made, False, precision)
    lower = np.linalg.cholesky(curvature)
    noise = np.sqrt(temperature) * np.einsum("rab,rb->ra", lower, normals)
    np.testing.assert_allclose(np.einsum("rab,rb->ra", curvature, out), right + noise, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("of_users", [True, False])
def test_gains_equal_numpy(made, of_users):
    """Of the clamped loss, and of what the clamp takes off it."""
    table, scales, sides = made
    size = USERS if of_users else ITEMS
    proposals = np.random.default_rng(2).normal(size=(size, RANK + 1)).astype(np.float32)

    def by_row(side, clamped):
        predicted = side.user_factors @ side.item_factors.T + side.user_effects[:, None] + side.item_effects
        error = table - (predicted.clip(LOW, HIGH) if clamped else predicted)
        return (scales[:, None] * np.nan_to_num(error**2)).sum(axis=1 if of_users else 0)

    moved = (
        sides._replace(user_factors=proposals[:, 1:], user_effects=proposals[:, 0])
        if of_users
        else sides._replace(item_factors=proposals[:, 1:], item_effects=proposals[:, 0])
    )
    loss = by_row(sides, True) - by_row(moved, True)
    taken = by_row(moved, False) - by_row(moved, True) - by_row(sides, False) + by_row(sides, True)
    for whole, right in ((True, loss), (False, taken)):
        gains = np.zeros(size)
        weigh(of_users, 0, *rows(*made), proposals, whole, LOW, HIGH, gains)
        np.testing.assert_allclose(gains, right, rtol=1e-4, atol=1e-5)


def test_what_gains_is_accepted_and_what_loses_by_its_chance():
    gains, chances = (
        np.array([3.0, 0.0, -1.0, -1.0, np.nan, -np.inf]),
        np.array([0.99, 0.99, 0.36, 0.37, 0, 0]),
    )
    assert accept_proposals(gains, 1.0, chances).tolist() == [True, True, True, False, False, False]
    assert accept_proposals(gains, 2.0, chances).tolist() == [True, True, True, True, False, False]
