"""Counts that features let expect: near those that are there, and the mean where features say nothing."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hushrec.estimation.shrinkage import denoised_counts
from hushrec.models.lists.estimate.feature_values import count_model
from hushrec.privacy.noisy import Noisy

N = 1000


def noisy(counts, sigma, seed=1):
    drawn = np.random.default_rng(seed).normal(0, sigma, len(counts))
    return Noisy("item counts", counts + drawn, sigma, 1.0, None)


@pytest.fixture
def world():
    """Ten genres that differ by a factor of up to a hundred, and the counts of their items."""
    rng = np.random.default_rng(0)
    genre = rng.integers(0, 10, N)
    table = csr_array(np.eye(10)[genre])
    counts = np.exp(np.linspace(0, 4.6, 10)[genre]) * rng.gamma(1, size=N)
    return table, counts


def error(found, counts):
    return float(np.sqrt(np.mean((found - counts) ** 2)))


def test_features_predict_counts_that_the_noise_hides(world):
    table, counts = world
    seen = noisy(counts, 100.0)
    expected = count_model(seen, [table]).expected
    assert np.corrcoef(expected, counts)[0, 1] > 0.4
    with_features, without = denoised_counts(seen, expected), denoised_counts(seen)
    assert error(with_features, counts) < 0.85 * error(without, counts)
    assert np.corrcoef(with_features, counts)[0, 1] > np.corrcoef(without, counts)[0, 1] + 0.2


@pytest.mark.parametrize("sigma", [0.0, 10.0])
def test_the_regression_says_what_items_to_come_expect(world, sigma):
    """Rows of the table times the coefficients; values that are too rare count for nothing."""
    table, counts = world
    expected, intercept, coefficients = count_model(noisy(counts, sigma), [csr_array((N, 2)), table])
    assert np.exp(intercept + table @ coefficients[2:]) == pytest.approx(expected, rel=1e-9)
    assert (coefficients[:2] == 0).all()
    assert np.corrcoef(coefficients[2:], np.linspace(0, 4.6, 10))[0, 1] > 0.95
