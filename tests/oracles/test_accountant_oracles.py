"""The accountant against Google's dp-accounting, autodp and mpmath. Skipped where they are not installed.

dp-accounting is asked through its privacy loss distributions, and only under add-or-remove: its Rényi
accountant takes the sensitivity of replacement for that of removal.
"""

import math
import random
from fractions import Fraction

import pytest

from hushrec.privacy.accounting.accountant import (
    Spent,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    laplace_cost,
    pure_cost,
    spent_of,
)
from hushrec.privacy.accounting.measurement import Measurement, Responses

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


def noisy(norm: str, noise: float) -> Measurement:
    """One sum of sensitivity 1."""
    return Measurement("sum", 1.0, norm, 1.0, 1, noise=noise)


def pessimistic(events: list[Measurement], delta: float, interval: float = 1e-3) -> float:
    """ε at δ of a composition by Google's privacy loss distributions: an upper bound."""
    google = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")
    accountant = pld.PLDAccountant(
        google.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=interval
    )
    for event in events:
        kind = google.GaussianDpEvent if event.norm == "l2" else google.LaplaceDpEvent
        accountant.compose(kind(event.noise / event.sensitivity))
    return float(accountant.get_epsilon(delta))


RATIO = 1.5
"""How much larger ε by μ is than Google's, at most, where several measurements add up."""


def compositions(count: int) -> list[list[Measurement]]:
    draw = random.Random(20)
    found: list[list[Measurement]] = []
    for _ in range(count):
        gaussians = [noisy("l2", draw.uniform(2, 60)) for _ in range(draw.randint(1, 11))]
        laplaces = [noisy("l1", draw.uniform(5, 80)) for _ in range(draw.randint(0, 4))]
        found.append([*gaussians, *laplaces])
    return found


def test_gaussian_compositions_are_googles_and_never_above_by_a_thousandth() -> None:
    for events in compositions(20):
        events = [event for event in events if event.norm == "l2"]
        ours, google = spent_of(events).epsilon_at(1e-6), pessimistic(events, 1e-6, 1e-4)
        # Google's is pessimistic by up to its interval a measurement, ours exact.
        assert google - 1e-4 * (len(events) + 1) <= ours <= google * (1 + 1e-3) + 1e-6


@pytest.mark.parametrize("delta", DELTAS)
def test_mixed_compositions_are_bounds_on_googles(delta: float) -> None:
    worst = 0.0
    for events in compositions(8):
        ours, google = spent_of(events).epsilon_at(delta), pessimistic(events, delta)
        assert ours >= google - 1e-3 * (len(events) + 1)
        worst = max(worst, ours / google)
    assert worst < 1.8


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("scale", "count"), [(1.0, 1), (0.25, 1), (1.0, 10), (10.0, 100), (50.0, 200)])
def test_laplace_measurements_are_bounds_on_googles(scale: float, count: int, delta: float) -> None:
    events: list[Measurement] = [noisy("l1", scale)] * count
    ours, google = spent_of(events).epsilon_at(delta), pessimistic(events, delta)
    assert google - 1e-3 * (count + 1) <= ours
    if count >= 100:  # one costs much more by μ than by its ε
        assert ours < RATIO * google


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("symbols", [2, 6])
def test_randomized_responses_are_bounds_on_googles(symbols: int, delta: float) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    other = 0.45 if symbols == 2 else 0.15  # chance of each untrue answer
    one = pld.from_randomized_response(symbols * other, symbols, value_discretization_interval=1e-4)
    google = one.self_compose(100).get_epsilon_for_delta(delta)
    exponent = math.nextafter(-math.log((symbols - 1) * other), math.inf)
    ours = Responses.of("a", symbols, exponent, 100, 100).spent().epsilon_at(delta)
    assert google - 1e-2 <= ours < RATIO * google


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_pure_losses_are_bounds_on_googles(epsilon: float, delta: float) -> None:
    """The worst mechanism of an ε is an answer of two symbols."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    one = pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2, value_discretization_interval=1e-4)
    google = one.self_compose(50).get_epsilon_for_delta(delta)
    ours = (pure_cost(Fraction(epsilon)) * 50).epsilon_at(delta)
    assert google - 1e-2 <= ours < 1.8 * google


def test_autodp_agrees_on_a_composition() -> None:
    zoo = pytest.importorskip("autodp.mechanism_zoo")
    from autodp.transformer_zoo import Composition

    parts = [zoo.GaussianMechanism(sigma) for sigma in (5.0, 8.0, 20.0)]
    theirs = Composition()(parts, [3, 2, 10]).get_approxDP(1e-6)
    ours = sum((noisy("l2", s).spent() * n for s, n in ((5.0, 3), (8.0, 2), (20.0, 10))), Spent()).epsilon_at(
        1e-6
    )
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


def test_mu_of_laplace_noise_and_of_pure_losses_is_mpmaths() -> None:
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 250  # 1 − e^−403 has so many
    draw = random.Random(22)
    for _ in range(200):
        epsilon = Fraction(math.exp(draw.uniform(-12, 6)))
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        for cost, tail in ((laplace_cost, mpmath.exp(-e / 2) / 2), (pure_cost, 1 / (1 + mpmath.exp(e)))):
            exact = 8 * mpmath.erfinv(1 - 2 * tail) ** 2  # μ² = (2 z)², Φ(−z) = tail
            units = cost(epsilon).mu_squared
            assert exact * 10**12 <= units <= exact * 10**12 * (1 + 1e-11) + 1
