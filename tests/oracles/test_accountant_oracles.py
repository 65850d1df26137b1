"""The accountant against Google's dp-accounting, autodp and mpmath. Skipped where they are not installed.

dp-accounting is asked through its privacy loss distributions, and only under add-or-remove: its Rényi
accountant takes the sensitivity of replacement for that of removal.
"""

import math
import random

import numpy as np
import pytest

from hushrec.privacy.accounting.accountant import (
    Spent,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    price,
    spent_of,
    zcdp_epsilon,
)
from hushrec.privacy.accounting.events import Gaussian, Laplace, Responses

pytestmark = pytest.mark.filterwarnings("ignore")

SIGMAS = (0.5, 1.0, 3.0, 10.0, 40.0)
DELTAS = (1e-9, 1e-6, 1e-5, 1e-3)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("delta", DELTAS)
def test_one_gaussian_is_autodps_and_googles(sigma: float, delta: float) -> None:
    autodp = pytest.importorskip("autodp.mechanism_zoo")
    google = pytest.importorskip("dp_accounting")
    ours = gaussian_epsilon(1 / sigma, delta)
    assert ours == pytest.approx(autodp.GaussianMechanism(sigma).get_approxDP(delta), rel=2e-5, abs=1e-7)
    assert ours == pytest.approx(google.get_epsilon_gaussian(sigma, delta), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_noise_for_a_budget_is_googles(epsilon: float, delta: float) -> None:
    google = pytest.importorskip("dp_accounting")
    assert 1 / gaussian_mu(epsilon, delta) == pytest.approx(
        google.get_sigma_gaussian(epsilon, delta), rel=1e-6
    )


def pessimistic(events: list[Gaussian | Laplace], delta: float, interval: float = 1e-3) -> float:
    """ε at δ of a composition by Google's privacy loss distributions: an upper bound."""
    google = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")
    accountant = pld.PLDAccountant(
        google.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=interval
    )
    for event in events:
        kind = google.GaussianDpEvent if isinstance(event, Gaussian) else google.LaplaceDpEvent
        accountant.compose(kind(event.noise / event.sensitivity))
    return float(accountant.get_epsilon(delta))


def compositions(count: int) -> list[list[Gaussian | Laplace]]:
    draw = random.Random(20)
    found: list[list[Gaussian | Laplace]] = []
    for _ in range(count):
        gaussians = [Gaussian("a", 1.0, draw.uniform(2, 60), 1.0, 1) for _ in range(draw.randint(1, 11))]
        laplaces = [Laplace("b", 1.0, draw.uniform(5, 80), 1.0, 1) for _ in range(draw.randint(0, 4))]
        found.append([*gaussians, *laplaces])
    return found


def test_gaussian_compositions_are_googles_and_never_above_by_a_thousandth() -> None:
    for events in compositions(20):
        events = [event for event in events if isinstance(event, Gaussian)]
        ours, google = spent_of(events).epsilon(1e-6), pessimistic(events, 1e-6, 1e-4)
        # Google's is pessimistic by up to its interval a measurement, ours exact.
        assert google - 1e-4 * (len(events) + 1) <= ours <= google * (1 + 1e-3) + 1e-6


def test_mixed_compositions_are_bounds_on_googles() -> None:
    worst = 0.0
    for events in compositions(20):
        ours, google = spent_of(events).epsilon(1e-6), pessimistic(events, 1e-6)
        assert ours >= google - 1e-3 * (len(events) + 1)
        worst = max(worst, ours / google)
    assert worst < 1.35  # what the two closed forms give away on these


def test_many_laplace_measurements_are_bounds_on_googles() -> None:
    events: list[Gaussian | Laplace] = [Laplace("a", 1.0, 50.0, 1.0, 1)] * 200
    ours, google = spent_of(events).epsilon(1e-6), pessimistic(events, 1e-6)
    assert google <= ours < 1.15 * google
    assert ours < 0.5 * spent_of(events).epsilon(0.0)


def test_randomized_responses_are_bounds_on_googles() -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    chance = 0.45
    one = pld.from_randomized_response(2 * chance, 2, value_discretization_interval=1e-4)
    google = one.self_compose(100).get_epsilon_for_delta(1e-6)
    ours = price(Responses("a", 2, math.nextafter(-math.log(chance), math.inf), 1, 1)) * 100
    assert google <= ours.epsilon(1e-6) < 1.15 * google


def test_autodp_agrees_on_a_composition() -> None:
    zoo = pytest.importorskip("autodp.mechanism_zoo")
    from autodp.transformer_zoo import Composition

    parts = [zoo.GaussianMechanism(sigma) for sigma in (5.0, 8.0, 20.0)]
    theirs = Composition()(parts, [3, 2, 10]).get_approxDP(1e-6)
    ours = sum(
        (price(Gaussian("a", 1.0, s, 1.0, 1)) * n for s, n in ((5.0, 3), (8.0, 2), (20.0, 10))), Spent()
    ).epsilon(1e-6)
    mu = math.sqrt(3 / 5.0**2 + 2 / 8.0**2 + 10 / 20.0**2)
    assert ours == pytest.approx(zoo.GaussianMechanism(1 / mu).get_approxDP(1e-6), rel=2e-5)
    assert ours <= theirs < 1.1 * ours  # autodp composes by Rényi divergences, which give a little away


@pytest.mark.parametrize(("epsilon", "true_delta"), [(10, 1.36e-5), (15, 1.4e-4), (20, 9.7e-4)])
def test_google_too_finds_mcsherry_and_mironov_theorem_3_not_private(
    epsilon: float, true_delta: float
) -> None:
    google = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")
    sigma = math.sqrt(2 * math.log(2 / 1e-5)) / epsilon
    theirs = pld.PLDAccountant(google.NeighboringRelation.ADD_OR_REMOVE_ONE).compose(
        google.GaussianDpEvent(sigma)
    )
    assert theirs.get_delta(epsilon) == pytest.approx(true_delta, rel=0.05)
    assert theirs.get_delta(epsilon) == pytest.approx(gaussian_delta(1 / sigma, epsilon), rel=0.01)
    assert theirs.get_delta(epsilon) > 1e-5


def test_the_zcdp_bound_is_googles() -> None:
    google = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = 1 + np.exp(np.linspace(math.log(1e-2), math.log(1e5), 4000))
    for rho in (0.001, 0.03, 0.5, 5.0):
        theirs = rdp.RdpAccountant(orders.tolist(), google.NeighboringRelation.ADD_OR_REMOVE_ONE).compose(
            google.ZCDpEvent(rho)
        )
        assert zcdp_epsilon(rho, 1e-6) == pytest.approx(theirs.get_epsilon(1e-6), rel=1e-4)


def test_delta_is_mpmaths_to_a_hundred_digits() -> None:
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 400
    draw = random.Random(21)
    worst = 0.0
    for _ in range(400):
        mu = math.exp(draw.uniform(-12, 4))
        epsilon = max(0.0, mu * mu / 2 + draw.uniform(-2, 9) * mu)
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        ours = gaussian_delta(mu, epsilon)
        assert exact <= ours
        worst = max(worst, float(ours / exact - 1) * min(1.0, mu))
    assert worst < 1e-10
