"""What features say of counts and of pairs, against the same by dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hushrec.estimation.shrinkage import denoised_counts
from hushrec.models.lists.estimate import pair_factors
from hushrec.models.lists.estimate.feature_values import count_model
from hushrec.models.lists.estimate.pair_factors import feature_factors
from hushrec.privacy.noisy import Noisy

N = 150


@pytest.fixture
def world():
    """Weights of the items, and the direction of the average user, of length 1."""
    rng = np.random.default_rng(7)
    variance = rng.gamma(2, size=N)
    direction = np.sqrt(variance) / np.linalg.norm(np.sqrt(variance))
    return variance / variance.mean(), rng.uniform(0.5, 2, N), direction


def labelled(n_values, seed):
    """A group of as many values, of which every item has one."""
    table = np.zeros((N, n_values))
    table[np.arange(N), np.random.default_rng(seed).integers(0, n_values, N)] = 1
    return csr_array(table)


def centred(tables, variance, scale, direction):
    """(I − v₁ v₂ᵀ) √t/√r F of each group, dense."""
    root = np.sqrt(scale)
    project = np.eye(N) - np.outer(direction / root, direction * root)
    return [project @ ((np.sqrt(variance) / root)[:, None] * table.toarray()) for table in tables]


def seen(groups, coefficients, noise=1.0, seed=3):
    """Whitened pairs with this mean, and a zero diagonal."""
    mean = sum(c * group @ group.T for c, group in zip(coefficients, groups, strict=True))
    drawn = np.triu(np.random.default_rng(seed).normal(0, noise, (N, N)), 1)
    pairs = mean + drawn + drawn.T
    np.fill_diagonal(pairs, 0)
    return mean, pairs.astype(np.float32)


def off_diagonal(matrix):
    return matrix[np.triu_indices(N, 1)]


def test_coefficients_are_those_of_least_squares_off_the_diagonal(world):
    tables = [labelled(12, 0), labelled(40, 1)]
    dense = centred(tables, *world)
    _, pairs = seen(dense, (1.5, 3.0), noise=0.01)
    root = np.sqrt(world[1])
    groups = [
        pair_factors._Centred.of(
            csr_array((np.sqrt(world[0]) / root)[:, None] * table.toarray()), world[2] / root, world[2] * root
        )
        for table in tables
    ]
    columns = np.column_stack([off_diagonal(group @ group.T) for group in dense])
    expected = np.linalg.lstsq(columns, off_diagonal(pairs), rcond=None)[0]
    # What is fitted shrinks by its variance under noise of deviation 1, as it is assumed to be.
    variances = np.diag(np.linalg.inv(columns.T @ columns))
    shrunk = expected * (1 - variances / expected**2)
    assert pair_factors._coefficients(groups, pairs) == pytest.approx(shrunk, rel=1e-3)


@pytest.mark.parametrize("useless", [11, 23, 36])
def test_a_kind_within_two_errors_of_none_says_nothing(world, useless):
    """One that noise lets seem of some use, such as words of titles, takes nothing from the others.

    Of the first 40 seeds, those whose useless kind lies between one error and two.
    """
    tables = [labelled(12, 0), labelled(40, 100 + useless)]
    _, pairs = seen(centred(tables, *world), (1.0, 0.0), seed=useless)
    alone, both = (feature_factors(pairs, some, *world).factors for some in (tables[:1], tables))
    np.testing.assert_allclose(both @ both.T, alone @ alone.T, atol=1e-9)


def test_features_that_explain_pairs_are_followed(world):
    tables = [labelled(10, 0), labelled(30, 1)]
    mean, pairs = seen(centred(tables, *world), (1.0, 0.0))
    factors = feature_factors(pairs, tables, *world).factors
    error = np.linalg.norm(off_diagonal(factors @ factors.T - mean)) / np.linalg.norm(off_diagonal(mean))
    assert error < 0.25
    assert error < 0.5 * np.linalg.norm(off_diagonal(pairs - mean)) / np.linalg.norm(off_diagonal(mean))
    sizes = (factors**2).sum(axis=0)
    assert (np.diff(sizes) <= 1e-9).all(), "the largest first"


# -- counts that features let expect: near those that are there, and the mean where features say ----------


MANY = 1000


def noisy(counts, sigma, seed=1):
    drawn = np.random.default_rng(seed).normal(0, sigma, len(counts))
    return Noisy("item counts", counts + drawn, sigma, 1.0, None)


@pytest.fixture
def genres():
    """Ten genres that differ by a factor of up to a hundred, and the counts of their items."""
    rng = np.random.default_rng(0)
    genre = rng.integers(0, 10, MANY)
    table = csr_array(np.eye(10)[genre])
    counts = np.exp(np.linspace(0, 4.6, 10)[genre]) * rng.gamma(1, size=MANY)
    return table, counts


def error(found, counts):
    return float(np.sqrt(np.mean((found - counts) ** 2)))


def test_features_predict_counts_that_the_noise_hides(genres):
    table, counts = genres
    seen = noisy(counts, 100.0)
    expected = count_model(seen, [table]).expected
    assert np.corrcoef(expected, counts)[0, 1] > 0.4
    with_features, without = denoised_counts(seen, expected), denoised_counts(seen)
    assert error(with_features, counts) < 0.85 * error(without, counts)
    assert np.corrcoef(with_features, counts)[0, 1] > np.corrcoef(without, counts)[0, 1] + 0.2


@pytest.mark.parametrize("sigma", [0.0, 10.0])
def test_the_regression_says_what_items_to_come_expect(genres, sigma):
    """Rows of the table times the coefficients; values that are too rare count for nothing."""
    table, counts = genres
    expected, intercept, coefficients = count_model(noisy(counts, sigma), [csr_array((MANY, 2)), table])
    assert np.exp(intercept + table @ coefficients[2:]) == pytest.approx(expected, rel=1e-9)
    assert (coefficients[:2] == 0).all()
    assert np.corrcoef(coefficients[2:], np.linspace(0, 4.6, 10))[0, 1] > 0.95
