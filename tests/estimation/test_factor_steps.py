"""Steps and solutions from sums under noise: how far each sum is believed."""

import numpy as np
import pytest

from hushrec.estimation import factor_steps
from hushrec.estimation.factor_steps import langevin_step
from hushrec.estimation.shrinkage import RATING_VARIANCE
from hushrec.privacy.noisy import Noisy


def simulated(sigma, n=600, m=80, rank=3, seed=0):
    """Right-hand sides by the model's own assumptions, but for a curvature that is not quite n M."""
    rng = np.random.default_rng(seed)
    others = rng.standard_normal((m, rank)) / np.sqrt(rank)
    rated = rng.random((n, m)) < rng.uniform(0.1, 0.9, (n, 1))
    counts = rated.sum(axis=1).astype(float)
    prior = factor_steps.FACTOR_VARIANCE * 16 / np.mean((others**2).sum(axis=1))
    truth = np.sqrt(prior) * rng.standard_normal((n, rank))
    ratings = truth @ others.T + np.sqrt(RATING_VARIANCE * 16) * rng.standard_normal((n, m))
    right = (rated * ratings) @ others + sigma * rng.standard_normal((n, rank))
    return truth, Noisy("users", right, sigma, 1.0, None), counts, others, rated.sum(axis=0).astype(float)


@pytest.mark.parametrize("sigma", [0.0, 1.0, 5.0, 25.0])
def test_the_posterior_mean_trusts_what_the_noise_leaves(sigma):
    """Neither less trust nor more would come nearer to the truth."""
    truth, *known = simulated(sigma)
    found = factor_steps.solve(*known, 4.0)
    errors = [np.mean((factor * found - truth) ** 2) for factor in (0.0, 0.7, 1.0, 1.4)]
    assert errors[2] < min(errors[0], errors[1], errors[3])


def planted(sigma, n=400, m=40, rank=2, seed=0):
    """Rows whose every entry of the other side is rated, and their gradient at zero."""
    rng = np.random.default_rng(seed)
    others = rng.standard_normal((m, rank)) / np.sqrt(rank)
    counts, other_counts = np.full(n, float(m)), np.full(m, float(n))
    prior = factor_steps.FACTOR_VARIANCE * 16 / np.mean((others**2).sum(axis=1))
    truth = np.sqrt(prior) * rng.standard_normal((n, rank))
    ratings = truth @ others.T + np.sqrt(RATING_VARIANCE * 16) * rng.standard_normal((n, m))
    noise = sigma * rng.standard_normal((n, rank))
    return truth, Noisy("users", ratings @ others + noise, sigma, 1.0, None), counts, others, other_counts


@pytest.mark.parametrize("sigma", [0.0, 1.0, 10.0])
def test_a_step_goes_as_far_as_its_noise_allows(sigma):
    """A much shorter or much longer step would come no nearer to the truth."""
    truth, sums, counts, others, other_counts = planted(sigma)
    pace = {"width": 1.0, "span": 4.0, "remaining_variance": 1.0}
    found = factor_steps.step(np.zeros_like(truth), sums, counts, others, other_counts, **pace)
    errors = [np.mean((factor * found - truth) ** 2) for factor in (0.0, 0.5, 1.0, 1.5)]
    assert errors[2] < min(errors[0], 1.1 * errors[1], errors[3])


def test_a_step_into_pure_noise_goes_nowhere():
    truth, sums, counts, others, other_counts = planted(1e6)
    pace = {"width": 1.0, "span": 4.0, "remaining_variance": 1.0}
    found = factor_steps.step(np.zeros_like(truth), sums, counts, others, other_counts, **pace)
    assert np.abs(found).max() < 1e-3
    pace = {"ridge": 13.3, "span": 4.0, "remaining_variance": 1.0}
    item, part = factor_steps.user_gradient_step(others, sums_of(others, 1e6), other_counts, **pace)
    assert np.abs(item - others).max() < 1e-3
    assert (part > 0).all()
    assert (part < 1e-6).all()
    _, part = factor_steps.user_gradient_step(others, sums_of(others, 1e-6), other_counts, **pace)
    assert part == pytest.approx(1)


def sums_of(items, sigma):
    rng = np.random.default_rng(1)
    return Noisy("items, epoch 1", sigma * rng.standard_normal(items.shape), sigma, 1.0, None)


def test_repeated_steps_reach_the_posterior_mean_of_a_gaussian():
    """One item, everybody's p known to be N(0, 1) and told exactly: a linear pull toward the mean."""
    prior, noise, counts = 0.5, 0.8, np.array([40.0, 3.0, 0.0])
    curvature = counts[:, None] * 0.5
    truth = np.array([[0.7], [-0.4], [0.3]])
    mean = curvature * truth / (curvature + noise / prior)
    q = np.zeros((3, 1))
    for _ in range(200):
        q, part = langevin_step(
            q,
            curvature * (truth - q),
            np.full(3, 1e-6),
            curvature[:, 0],
            mean=np.zeros((3, 1)),
            pull=np.full(3, noise / prior),
            variance=np.full(3, prior),
        )
    np.testing.assert_allclose(q, mean, atol=1e-6)
    assert ((part > 0) & (part <= 1)).all()
