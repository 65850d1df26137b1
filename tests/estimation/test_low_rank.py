"""Factors from a covariance under noise: what is signal stays, what is noise goes."""

import numpy as np
import pytest

from hushrec.estimation import low_rank


def test_spectral_cleaning_keeps_signal_and_drops_noise():
    rng = np.random.default_rng(4)
    n = 200
    noise = np.triu(rng.normal(0, 1.0, (n, n)))
    noise = noise + np.triu(noise, 1).T
    direction = np.full(n, 1 / np.sqrt(n))
    factors = low_rank.spectral_factors((noise + 80 * np.outer(direction, direction)).astype(np.float32), 1.0)
    assert factors.shape[1] == 1
    assert np.linalg.norm(factors @ factors.T - 80 * np.outer(direction, direction)) < 0.6 * np.linalg.norm(
        noise
    )
    assert not low_rank.spectral_factors(noise.astype(np.float32), 1.0).any()


def test_leading_eigenvectors_equal_lapack():
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.normal(size=(120, 120)))[0]
    spectrum = np.concatenate([[50, 30, 20], rng.normal(0, 1, 117)])
    matrix = ((basis * spectrum) @ basis.T).astype(np.float32)
    values, vectors = low_rank.leading(matrix, 3)
    np.testing.assert_allclose(values, [50, 30, 20], rtol=1e-4)
    np.testing.assert_allclose(np.abs(vectors.T @ basis[:, :3]), np.eye(3), atol=1e-3)


def test_a_raw_average_divides_by_no_noisy_weight_below_the_floor(monkeypatch):
    """Cov/max(Wgt, 1): square or packed, and so does shrinking by a β of 0, on the diagonal and off it."""
    covariance = np.array([[6.0, -2.0], [-2.0, 0.5]], np.float32)
    weights = np.array([[3.0, -4.0], [-4.0, 0.25]], np.float32)
    for floor in (1.0, 2.0):
        monkeypatch.setattr(low_rank, "LEAST_WEIGHT", floor)
        wanted = [[2.0, -2.0 / floor], [-2.0 / floor, 0.5 / floor]]
        assert low_rank.raw_average(covariance, weights).tolist() == wanted
        assert low_rank.shrunk_average(covariance, weights, (0.0, 0.0)).tolist() == wanted
    assert low_rank.raw_average(covariance, weights).dtype == np.float32


@pytest.mark.parametrize("variance", [0.0, 1e-300, 1e-9, 1e-5, 0.3, 0.9799, 5.0])
def test_unclipping_has_an_answer_for_every_variance(variance):
    assert 1 <= low_rank.unclipping_factor(variance, 1.0) < 100
