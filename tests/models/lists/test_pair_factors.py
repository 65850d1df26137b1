"""Factors of noisy pairs: those that are there are found, and those that the noise hides are not made up."""

import math

import numpy as np
import pytest

from hushrec.models.lists.estimate.pair_factors import (
    Crowd,
    ItemFactors,
    ease,
    muting,
    pair_factors,
)

N, RANK = 120, 3


@pytest.fixture(scope="module")
def planted():
    """Variances of mean 1, factors by the model's own assumption, and the pairs that follow."""
    rng = np.random.default_rng(1)
    variance = rng.gamma(2, size=N)
    variance /= variance.mean()
    factors = rng.standard_normal((N, RANK)) * np.sqrt(variance)[:, None] * [3.0, 2.0, 1.5]
    pairs = factors @ factors.T
    np.fill_diagonal(pairs, 0)
    return variance, factors, pairs


def noisy(pairs, sigma, seed=2):
    noise = np.triu(np.random.default_rng(seed).normal(0, sigma, pairs.shape), 1)
    return (pairs + noise + noise.T).astype(np.float32)


def off_diagonal(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


def fitted(pairs, sigma, variance, rank, means=None):
    """Factors of pairs whose noise has deviation σ."""
    means = np.zeros((len(pairs), 0)) if means is None else means
    root = math.sqrt(sigma)
    return root * pair_factors(pairs / np.float32(sigma), variance / sigma, means / root, rank)[0]


def solved(factors, *rest):
    """The scores of EASE, without features."""
    return ease(ItemFactors(factors, np.zeros((0, factors.shape[1]))), *rest)[0]


def error(found, truth):
    """Of the products of items' factors, relative to their size."""
    wrong = off_diagonal(found @ found.T - truth @ truth.T)
    return float(np.linalg.norm(wrong) / np.linalg.norm(off_diagonal(truth @ truth.T)))


def test_planted_factors_are_found(planted):
    """With noise, better than by the pairs themselves, and better than by the leading eigenvectors."""
    variance, factors, pairs = planted
    assert error(fitted(noisy(pairs, 0.01), 0.01, variance, RANK), factors) < 0.01
    for sigma in (3.0, 10.0):
        seen = noisy(pairs, sigma)
        found = error(fitted(seen, sigma, variance, 10), factors)
        itself = np.linalg.norm(off_diagonal(seen - pairs)) / np.linalg.norm(off_diagonal(pairs))
        values, vectors = np.linalg.eigh(seen)
        leading = error(vectors[:, -10:] * np.sqrt(values[-10:]), factors)
        assert found < min(0.6 * itself, leading)


def test_factors_that_the_noise_hides_are_silent(planted):
    """The noise's own eigenvalues reach 2σ√n = 2,200; the strongest factor has about 1,000."""
    variance, factors, pairs = planted
    found = fitted(noisy(pairs, 100.0), 100.0, variance, 10)
    assert np.linalg.norm(found @ found.T) < 0.02 * np.linalg.norm(factors @ factors.T)
    noise = fitted(noisy(0 * pairs, 5.0), 5.0, variance, 10)
    assert np.linalg.norm(noise @ noise.T) < 0.2 * 2 * 5 * math.sqrt(N)
    taken_for_signal = fitted(noisy(0 * pairs, 5.0), 0.5, variance, 10)
    assert np.linalg.norm(taken_for_signal @ taken_for_signal.T) > 5 * math.sqrt(N)


# -- muting -----------------------------------------------------------------------------------------------


def crowd(signal, reach, total=1.0, users=1e30, cosine=0.0):
    """A crowd so large that its own sampling error is nothing."""
    return Crowd(total, users, signal, reach, cosine)


# -- EASE -------------------------------------------------------------------------------------------------


def covariance(factors, weights, part, total):
    """C of the docstring, dense: its factors, and on its diagonal what they leave and a ridge."""
    low = (1 - part / total) * factors @ factors.T + part * np.outer(weights.direction, weights.direction)
    own = total * weights.variance / weights.variance.sum()
    return low + np.diag(np.maximum(own - np.diag(low), 0.05 * own) + 0.5 * own.mean())


@pytest.mark.parametrize("rank", [0, 1, 12])
def test_ease_is_the_inverse_of_the_same_covariance(rank):
    """B = I − P diag(1/P_jj) of weighted items: −d_i P_ij/(P_jj d_j), and zeros on the diagonal."""
    rng = np.random.default_rng(rank)
    weights = muting(rng.gamma(0.5, 100, 40) + 1e-3, 1e4)
    factors, part, total = rng.standard_normal((40, rank)) * 3, 40.0, 1000.0
    precision = np.linalg.inv(covariance(factors, weights, part, total))
    scale = weights.weights[:, None] / (np.diag(precision) * weights.weights)
    expected = -precision * scale
    np.fill_diagonal(expected, 0)
    linear = solved(factors, weights, part, crowd(1e4, 1e4, total))
    found = linear.inputs[:, None] * (linear.factors @ linear.factors.T) * linear.outputs
    np.fill_diagonal(found, 0)
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()


def test_the_intercept_is_a_mean_along_the_direction_of_the_average_user():
    """The scores of x are those of a ridge regression towards v · cosine · |d ∘ x|, by dense algebra."""
    rng = np.random.default_rng(3)
    weights = muting(rng.gamma(0.5, 100, 30) + 1e-3, 1e4)
    factors, part, total = rng.standard_normal((30, 4)) * 3, 40.0, 1000.0
    linear = solved(factors, weights, part, crowd(1e4, 1e4, total, cosine=0.15))
    directions = np.column_stack([factors, weights.direction])
    values = np.append(np.full(4, 1 - part / total), part)
    dense = covariance(factors, weights, part, total)
    diagonal = np.diag(dense) - (directions**2) @ values
    x = weights.weights * (rng.random(30) < 0.2)
    mean = np.append(np.zeros(4), 0.15 * np.linalg.norm(x))
    inner = np.diag(1 / values) + directions.T @ (directions / diagonal[:, None])
    user = np.linalg.solve(inner, directions.T @ (x / diagonal) + mean / values)
    expected = directions @ user / (np.diag(np.linalg.inv(dense)) * weights.weights) / diagonal
    vector = (x @ linear.factors) + np.linalg.norm(x) * linear.intercept
    assert linear.outputs * (linear.factors @ vector) == pytest.approx(expected, rel=1e-9)
    most = solved(factors, weights, part, crowd(1e4, 1e4, total, cosine=9.0)).intercept
    assert most == pytest.approx(linear.intercept * math.sqrt(0.9 * part / total) / 0.15, rel=1e-9)


# -- means that are expected ------------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "total"), [(-5.0, 100.0), (500.0, 100.0), (1.0, -100.0), (0.0, 0.0)])
def test_noisy_parts_and_totals_that_cannot_be_still_give_scores(part, total):
    weights = muting(np.array([5.0, 3.0, 1.0]), 1e4)
    linear = solved(np.ones((3, 1)), weights, part, crowd(1e4, 1e4, total, cosine=2.0))
    assert all(np.isfinite(array).all() for array in linear)
    assert (linear.outputs > 0).all()
