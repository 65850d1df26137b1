"""Least squares from right-hand sides under noise: what is particular to it."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.estimation import factor_steps
from hushrec.privacy.bounded import Noisy
from hushrec.solvers.initial import normal_factors


def test_least_squares_find_what_averages_leave(listed_rmse, budget):
    config = hr.PrivateALS(rank=4)
    assert listed_rmse(config) < listed_rmse(hr.GlobalEffects(levels="released")) - 0.02
    found, left = (listed_rmse(m, budget(20.0)) for m in (config, hr.GlobalEffects(levels="released")))
    assert found < left - 0.005


def test_each_epoch_solves_each_side_once(listed, budget):
    planned = hr.plan(hr.PrivateALS(rank=3, epochs=3), listed[0].domain, budget())
    rounds = [m for m in planned.measurements if ", round " in m.event.name]
    names = [f"{side}, round {t}" for t in range(1, 4) for side in ("users", "items")]
    assert [m.event.name for m in rounds] == names
    assert [m.event.sensitivity for m in rounds] == pytest.approx([0.9] * 6, rel=1e-3)
    assert 0.7 < sum(m.share for m in rounds) < 0.9, "the averages get the rest"
    more = hr.plan(hr.PrivateALS(rank=3, epochs=3), listed[0].domain, budget(0.5))
    assert sum(m.share for m in more.measurements if ", round " in m.event.name) < 0.5, "factors drown"


def test_published_noise_is_less_where_bounds_are_not_exchanged(listed, budget):
    for exchanged, epsilon in ((True, 4.0 * 1.0175), (False, 4.0)):
        config = hr.PrivateALS(analysis="published", exchanged_bounds=exchanged)
        planned = hr.plan(config, listed[0].domain, budget(adjacency="replace"))
        assert planned.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert planned.claimed_epsilon == 4


def test_a_published_fit_without_noise_is_weighted_least_squares(listed_rmse):
    assert listed_rmse(hr.PrivateALS(rank=4, analysis="published")) < 0.93


# -- the posterior ----------------------------------------------------------------------------------------


def simulated(sigma, n=600, m=80, rank=3, seed=0):
    """Right-hand sides by the model's own assumptions, but for a curvature that is not quite n M."""
    rng = np.random.default_rng(seed)
    others = rng.standard_normal((m, rank)) / np.sqrt(rank)
    rated = rng.random((n, m)) < rng.uniform(0.1, 0.9, (n, 1))
    counts = rated.sum(axis=1).astype(float)
    prior = factor_steps.TASTE * 16 / np.mean((others**2).sum(axis=1))
    truth = np.sqrt(prior) * rng.standard_normal((n, rank))
    ratings = truth @ others.T + np.sqrt(factor_steps.RESIDUAL * 16) * rng.standard_normal((n, m))
    right = (rated * ratings) @ others + sigma * rng.standard_normal((n, rank))
    return truth, Noisy("users", right, sigma, 1.0, None), counts, others, rated.sum(axis=0).astype(float)


@pytest.mark.parametrize("sigma", [0.0, 1.0, 5.0, 25.0])
def test_the_posterior_mean_trusts_what_the_noise_leaves(sigma):
    """Neither less trust nor more would come nearer to the truth."""
    truth, *known = simulated(sigma)
    found = factor_steps.solve(*known, 4.0)
    errors = [np.mean((factor * found - truth) ** 2) for factor in (0.0, 0.7, 1.0, 1.4)]
    assert errors[2] < min(errors[0], errors[1], errors[3])


def test_in_one_dimension_it_is_the_scalar_formula():
    sums = Noisy("users", np.array([[2.0], [-1.0]]), 0.5, 1.0, None)
    counts, others, other_counts = np.array([4.0, 10.0]), np.array([[0.5], [-1.0]]), np.array([3.0, 1.0])
    moment = (3 * 0.25 + 1) / 4
    prior, noise = factor_steps.TASTE * 16 / moment, factor_steps.RESIDUAL * 16
    curvature = counts * moment
    variance = prior * curvature**2 + noise * curvature + 0.25
    exact = prior * curvature / variance * sums.values[:, 0]
    found = factor_steps.solve(sums, counts, others, other_counts, 4.0)
    np.testing.assert_allclose(found[:, 0], exact, rtol=1e-9)


def test_nobody_is_known_by_noise_alone():
    truth, sums, counts, others, other_counts = simulated(1e7)
    assert np.abs(factor_steps.solve(sums, counts, others, other_counts, 4.0)).max() < 1e-3
    nothing = factor_steps.solve(sums, np.zeros_like(counts), others, other_counts, 4.0)
    assert np.isfinite(nothing).all()
    assert len(truth) == len(nothing)


def test_filled_puts_nineteen_rows_of_twenty_into_the_unit_ball():
    rows = np.random.default_rng(0).standard_normal((1000, 4)) * 7
    norms = np.linalg.norm(factor_steps.filled(rows), axis=1)
    assert (norms <= 1).mean() == pytest.approx(0.95, abs=0.002)
    assert not factor_steps.filled(np.zeros((5, 2))).any()


def test_initial_factors_are_public():
    """The same for everybody who knows their number, and others for the other side."""
    one = normal_factors(90, 4)
    np.testing.assert_array_equal(one, normal_factors(90, 4))
    assert np.linalg.norm(one, axis=1).mean() == pytest.approx(1, abs=0.1)
    assert abs(np.corrcoef(one[:50].ravel(), normal_factors(50, 4).ravel())[0, 1]) < 0.3


def test_the_ridge_at_home_is_the_ratio_of_variances():
    items, counts = np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([1.0, 3.0])
    moment = (1 + 3 * 0.25) / 4
    assert factor_steps.home_ridge(items, counts) == pytest.approx(
        factor_steps.RESIDUAL / factor_steps.TASTE * moment
    )
