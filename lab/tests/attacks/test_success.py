"""Rates of attackers, and the bound on all of them."""

import numpy as np
import pytest

from hushrec.documents.odds import gaussian_mu
from lab.attacks.membership import bound, interval, success


def test_rates_of_a_known_order():
    members = np.array([True] * 4 + [False] * 200)
    suspicion = np.concatenate([[9.0, 9.0, 5.0, -1.0], np.linspace(0, 7, 200)])
    found = success(suspicion, members)
    assert found.caught == pytest.approx(2 / 4)  # two of the others may stand above the threshold
    above = [(score > suspicion[4:]).mean() for score in suspicion[:4]]
    assert found.auc == pytest.approx(np.mean(above))
    assert success(-suspicion, members).auc == pytest.approx(1 - found.auc)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_no_attack_on_gaussian_noise_exceeds_the_bound_and_the_best_meets_it(epsilon):
    """The best attack on N(0, 1) against N(μ, 1) is its value. 400,000 draws: six standard errors."""
    mu, rng = gaussian_mu(epsilon, 1e-6), np.random.default_rng(0)
    members = rng.random(400_000) < 0.5
    found = success(rng.normal(size=400_000) + mu * members, members)
    limit = bound(epsilon, 1e-6)
    assert found.auc == pytest.approx(limit.auc, abs=6 * 0.0012)
    assert found.caught == pytest.approx(limit.caught, abs=6 * 0.006)


def test_without_noise_there_is_no_bound():
    assert bound(np.inf, 1e-6).auc == bound(np.inf, 1e-6).caught == 1


def test_an_interval_is_students():
    assert interval(np.array([1.0, 2.0, 3.0])) == pytest.approx((2, 2 - 2.4841, 2 + 2.4841), abs=1e-3)
    mean, low, high = interval(np.array([0.7]))
    assert mean == 0.7
    assert np.isnan([low, high]).all()
