"""The marginal gradient against NumPy, and against differences of the likelihood itself."""

import numpy as np
import pytest

from hushrec.models.liu_wang_smola.kernels import marginal_gradients, reference_marginal_gradients

STEP = 2.0**-24


def rows(seed, n_people=40, n_items=30, rank=3):
    rng = np.random.default_rng(seed)
    chosen = rng.random((n_people, n_items)) < rng.choice([0.0, 0.05, 0.4, 1.0], size=(n_people, 1))
    indptr = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]).astype(np.int64)
    items = np.nonzero(chosen)[1].astype(np.int32)
    return indptr, items, rng.normal(0, 1, len(items)), rng.normal(0, 0.5, (n_items, rank))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bound", [0.3, 100.0])
def test_it_equals_its_reference_with_any_number_of_threads(seed, bound):
    data = rows(seed, rank=1 + seed)
    clips = np.random.default_rng(seed).choice([0.0, 0.2, 1.0, 50.0], len(data[0]) - 1)
    scales = np.random.default_rng(seed).uniform(0.2, 3, len(data[3]))
    arguments = *data, 0.6, bound, clips, scales, STEP
    found = marginal_gradients(*arguments)
    expected = reference_marginal_gradients(*arguments)
    assert np.abs(found - expected).max() <= len(clips), "a rounding a person"
    assert np.abs(found).max() > 10**4
    for threads in (2, 5):
        np.testing.assert_array_equal(found, marginal_gradients(*arguments, threads=threads))


@pytest.mark.parametrize("size", [1e12, 1e160, np.inf, np.nan])
def test_factors_beyond_floating_point_raise_nothing(size):
    """An error would tell that somebody is there."""
    indptr, items = np.array([0, 2]), np.array([0, 1], np.int32)
    factors = np.array([[size, size], [size, size]])
    found = marginal_gradients(indptr, items, np.ones(2), factors, 1e-12, 1.0, np.ones(1), np.ones(2), STEP)
    assert np.abs(found).max() * STEP <= 1


def log_likelihood(data, factors, noise):
    """Σ ln N(x; 0, Q Qᵀ + noise · I) over people."""
    indptr, items, values, _ = data
    total = 0.0
    for person in range(len(indptr) - 1):
        own = slice(indptr[person], indptr[person + 1])
        q, x = factors[items[own]], values[own]
        covariance = q @ q.T + noise * np.eye(len(x))
        total -= (np.linalg.slogdet(covariance)[1] + x @ np.linalg.solve(covariance, x)) / 2
    return total


def differences(data, factors, noise, h=1e-5):
    """∂ ln p/∂q by central differences."""
    found = np.zeros_like(factors)
    for place in np.ndindex(*factors.shape):
        moved = [factors.copy(), factors.copy()]
        moved[0][place] += h
        moved[1][place] -= h
        found[place] = (log_likelihood(data, moved[0], noise) - log_likelihood(data, moved[1], noise)) / (
            2 * h
        )
    return found


def test_unclipped_it_is_the_gradient_of_the_likelihood():
    data, noise = rows(7, n_people=12, n_items=6, rank=2), 0.6
    clips = np.full(len(data[0]) - 1, 1e6)
    scales = np.linspace(0.5, 2, len(data[3]))
    found = marginal_gradients(*data, noise, 1e6, clips, scales, STEP) * STEP
    expected = noise * scales[:, None] * differences(data, data[3], noise)
    np.testing.assert_allclose(found, expected, atol=1e-5)
