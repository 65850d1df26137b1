"""A low-rank fit of a noisy covariance: signal stays, noise goes, and few ratings are not trusted as many."""

import numpy as np
import pytest

from hushrec.models.mcsherry_mironov import estimate
from hushrec.models.mcsherry_mironov.estimate import weighted_factors

N, WEIGHT, SIGMA = 150, 200.0, 3.0
OFF = np.triu_indices(N, 1)


def noise_of(rng):
    upper = np.triu(rng.normal(0, SIGMA, (N, N)))
    return (upper + np.triu(upper, 1).T + 100 * np.eye(N)).astype(np.float32)


def fitted(covariance, *, row_variance=0.0, sigma=SIGMA, rank=5, prior=None):
    weights = np.full((N, N), WEIGHT, dtype=np.float32)
    return weighted_factors(
        covariance.copy(),
        weights,
        sigma=sigma,
        kappa=0.01,
        row_variance=np.broadcast_to(np.asarray(row_variance, dtype=np.float64), (N,)),
        rank=rank,
        prior=prior,
    )


def test_components_that_noise_hides_vanish_and_a_planted_one_is_found():
    rng = np.random.default_rng(3)
    noise, planted = noise_of(rng), rng.normal(0, 0.3, N)
    assert not fitted(noise).any()
    found = fitted(noise + (WEIGHT * np.outer(planted, planted)).astype(np.float32))
    assert np.count_nonzero(found.any(axis=0)) < 5
    recovered = (found @ found.T)[OFF]
    assert np.corrcoef(recovered, np.outer(planted, planted)[OFF])[0, 1] > 0.95


def test_a_component_of_popular_items_shows_though_all_items_together_hide_it():
    """The noise of a whole catalogue has an eigenvalue of 2σ√n; that of its popular items, of 2σ√m."""
    rng = np.random.default_rng(11)
    popular = np.arange(N) < 60
    planted = np.where(popular, rng.choice([-0.08, 0.08], N), 0.0)
    size = np.where(popular, np.sqrt(WEIGHT), 1.0)
    weights = np.outer(size, size).astype(np.float32)
    covariance = noise_of(rng) + weights * np.outer(planted, planted).astype(np.float32)
    found = weighted_factors(covariance, weights, sigma=SIGMA, kappa=0.01, row_variance=np.zeros(N), rank=5)
    recovered = (found @ found.T)[:60, :60][np.triu_indices(60, 1)]
    truth = np.outer(planted, planted)[:60, :60][np.triu_indices(60, 1)]
    assert np.corrcoef(recovered, truth)[0, 1] > 0.5


@pytest.fixture
def rounds(monkeypatch):
    """An entry for every round."""
    made = []
    real = estimate._round
    monkeypatch.setattr(estimate, "_round", lambda *given: made.append(1) or real(*given))
    return made


def test_nothing_is_fitted_where_the_largest_eigenvalue_is_that_of_noise(rounds):
    for seed in range(5):
        assert not fitted(noise_of(np.random.default_rng(seed))).any()
    assert not rounds


def test_what_is_known_before_stays_where_noise_hides_the_rest():
    rng = np.random.default_rng(7)
    known = rng.normal(0, 0.02, (N, 1))
    kept = fitted(noise_of(rng), prior=known, sigma=300.0)
    np.testing.assert_allclose(kept[:, :1], known, atol=0.02)
    assert np.corrcoef(kept[:, 0], known[:, 0])[0, 1] > 0.9
    assert not kept[:, 1:].any()
