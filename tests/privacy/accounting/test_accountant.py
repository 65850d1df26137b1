"""The accountant against exact arithmetic of a thousand digits and against numerical integration."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import (
    Spent,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_pure,
    largest_rho,
    price,
    spent_of,
    zcdp_epsilon,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Gaussian, Laplace

MUS = (1e-5, 1e-3, 0.02, 0.24, 1.0, 3.3, 12.0, 50.0)
DELTAS = (1e-15, 1e-9, 1e-6, 1e-5, 1e-3)


def budget(epsilon: float = 1.0, delta: float = 1e-6) -> Budget:
    return Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")


def pi(digits: int) -> Decimal:
    """Machin's formula, 16 arctan(1/5) − 4 arctan(1/239), in integers."""

    def arctan(x: int) -> int:
        term = total = 10 ** (digits + 10) // x
        k = 1
        while term:
            term //= -x * x
            k += 2
            total += term // k
        return total

    with localcontext() as context:
        context.prec = digits
        return Decimal(16 * arctan(5) - 4 * arctan(239)).scaleb(-digits - 10)


PI = pi(1010)


def exact_delta(mu: float, epsilon: float) -> Decimal:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) in up to 1000 digits, Φ by its power series, which never cancels."""

    def phi(x: Decimal) -> Decimal:
        term = total = abs(x)
        for k in range(1, 20_000):
            term *= x * x / (2 * k + 1)
            total += term
            if term < total.scaleb(-context.prec):
                break
        half = (-x * x / 2).exp() / (2 * PI).sqrt() * total
        return Decimal("0.5") + (half if x > 0 else -half)

    with localcontext() as context:
        context.prec = 60 + int((epsilon / mu + mu / 2) ** 2 / 4)  # 1 − Φ cancels that many digits
        m, e = Decimal(mu), Decimal(epsilon)
        return phi(m / 2 - e / m) - e.exp() * phi(-m / 2 - e / m)


def spread(mu: float) -> list[float]:
    """ε at which δ goes from about one half to 1e-20."""
    return [max(0.0, mu * mu / 2 + t * mu) for t in (-1.0, 0.0, 0.7, 2.0, 5.0, 9.0)]


@pytest.mark.parametrize("mu", MUS)
def test_delta_is_exact_and_never_below(mu: float) -> None:
    for epsilon in spread(mu):
        exact = exact_delta(mu, epsilon)
        found = Decimal(gaussian_delta(mu, epsilon))
        assert exact <= found <= exact * (1 + Decimal(1e-10 + 1e-11 / mu)), epsilon


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.1), (1.0, 1.0), (2.0, 6.0)])
def test_delta_is_the_integral_of_the_definition(mu: float, epsilon: float) -> None:
    def excess(x: float) -> float:
        return max(0.0, float(norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x)))

    start = epsilon / mu + mu / 2
    integral, error = quad(excess, start, start + 40, epsabs=1e-14)
    assert gaussian_delta(mu, epsilon) == pytest.approx(integral, abs=max(error, 1e-12))


def epsilon_is_safe_and_tight(solve: Callable[[float, float], float]) -> bool:
    for mu in MUS:
        for delta in DELTAS:
            epsilon = solve(mu, delta)
            if exact_delta(mu, epsilon) > Decimal(delta):
                return False
            if epsilon > 0 and exact_delta(mu, epsilon * (1 - 1e-8)) <= Decimal(delta):
                return False
    return True


def test_epsilon_is_never_below_the_true_one_and_hardly_above() -> None:
    assert epsilon_is_safe_and_tight(gaussian_epsilon)


@pytest.mark.parametrize("factor", [1 - 1e-9, 1 + 1e-7])
def test_the_check_of_epsilon_finds_a_wrong_one(factor: float) -> None:
    assert not epsilon_is_safe_and_tight(lambda mu, delta: factor * gaussian_epsilon(mu, delta))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0, 40.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_mu_is_never_above_the_true_one_and_hardly_below(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= Decimal(delta) < exact_delta(mu * (1 + 1e-8), epsilon)


def test_the_ends_of_the_curves() -> None:
    assert gaussian_epsilon(0.0, 0.0) == 0.0
    assert gaussian_epsilon(1.0, 0.0) == gaussian_epsilon(math.inf, 1e-6) == math.inf
    assert gaussian_mu(1.0, 0.0) == 0.0
    assert zcdp_epsilon(0.0, 0.0) == 0.0
    assert zcdp_epsilon(1.0, 0.0) == math.inf
    assert gaussian_epsilon(1e-7, 1e-6) == 0.0


def test_known_figures() -> None:
    # σ of the analytic Gaussian mechanism at ε = 1, δ = 1e-6, and ε of σ = 10, as dp-accounting and autodp
    # have them.
    assert 1 / gaussian_mu(1.0, 1e-6) == pytest.approx(4.22468, abs=1e-5)
    assert gaussian_epsilon(0.1, 1e-6) == pytest.approx(0.39686, abs=1e-5)


class TestMcSherryMironovTheorem3:
    """σ = Δ√(2 ln(2/δ))/ε: too much noise for small ε, not private for large ones."""

    @staticmethod
    def mu(epsilon: float, delta: float) -> float:
        return epsilon / math.sqrt(2 * math.log(2 / delta))

    @pytest.mark.parametrize(("epsilon", "true_delta"), [(10, 1.36e-5), (15, 1.4e-4), (20, 9.7e-4)])
    def test_the_published_noise_is_not_private_and_ours_is(self, epsilon: float, true_delta: float) -> None:
        delta = 1e-5
        published = float(exact_delta(self.mu(epsilon, delta), epsilon))
        assert published > delta
        assert published == pytest.approx(true_delta, rel=0.03)
        assert exact_delta(gaussian_mu(epsilon, delta), epsilon) <= Decimal(delta)

    def test_it_fails_from_about_nine_and_a_half_on(self) -> None:
        assert exact_delta(self.mu(9.3, 1e-5), 9.3) < Decimal("1e-5") < exact_delta(self.mu(9.5, 1e-5), 9.5)

    def test_it_wastes_a_third_at_one(self) -> None:
        assert gaussian_mu(1.0, 1e-5) / self.mu(1.0, 1e-5) == pytest.approx(1.32, abs=0.01)

    def test_its_true_price_exceeds_the_claim(self) -> None:
        event = Gaussian("sums", self.mu(10.0, 1e-5), 1.0, 1.0, 1)
        assert spent_of([event]).epsilon(1e-5) > 10.0


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.028, 0.5, 20.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_zcdp_bound_is_the_best_over_all_orders(rho: float, delta: float) -> None:
    order = np.exp(np.linspace(math.log(1e-3), math.log(1e7), 200_001))
    grid = rho * (1 + order) - np.log1p(1 / order) - (math.log(delta) + np.log1p(order)) / order
    best = max(0.0, float(grid.min()))
    assert best * (1 - 1e-7) <= zcdp_epsilon(rho, delta) <= best * (1 + 1e-9) + 1e-15
    assert zcdp_epsilon(rho, delta) >= gaussian_epsilon(math.sqrt(2 * rho), delta)


def test_the_zcdp_loss_of_laplace_noise_is_the_supremum_over_all_orders() -> None:
    for epsilon in (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 12.0):
        order = 1 + np.exp(np.linspace(math.log(1e-5), math.log(1e4), 4001))
        log_moment = np.logaddexp(
            np.log(order / (2 * order - 1)) + (order - 1) * epsilon,
            np.log((order - 1) / (2 * order - 1)) - order * epsilon,
        )
        worst = float((log_moment / (order - 1) / order).max())
        charged = price(Laplace("sums", epsilon, 1.0, 1.0, 1)).pure_rho / fixed_point.PER_ONE
        assert worst - 1e-9 <= charged
        assert charged <= worst * 1.001 + 1e-11


def test_prices_are_rational_and_rounded_up() -> None:
    assert price(Gaussian("sums", 1.0, 3.0, 1.0, 9)) == Spent(rho=55_555_555_556)
    assert price(Laplace("sums", 1.0, 3.0, 1.0, 9)).epsilon_sum == 333_333_333_334
    assert price(Gaussian("sums", 1e-9, 1.0, 1.0, 1)).rho == 1  # the smallest loss is still a loss


def test_less_noise_costs_more() -> None:
    for kind in (Gaussian, Laplace):
        costs = [spent_of([kind("sums", 1.0, noise, 1.0, 1)]) for noise in np.geomspace(0.1, 1e3, 60)]
        for dear, cheap in pairwise(costs):
            assert (dear.rho, dear.epsilon_sum, dear.pure_rho) > (
                cheap.rho,
                cheap.epsilon_sum,
                cheap.pure_rho,
            )
            assert dear.epsilon_units(1e-6) >= cheap.epsilon_units(1e-6)


EVENTS = st.builds(
    lambda kind, sensitivity, noise: kind("sums", sensitivity, noise, 1.0, 1),
    st.sampled_from([Gaussian, Laplace]),
    st.floats(1e-3, 1e3),
    st.floats(0.1, 1e6),
)


@settings(derandomize=True, max_examples=60)
@given(st.lists(EVENTS, max_size=6), st.integers(1, 50), st.randoms(use_true_random=False))
def test_composition_adds(events: list[Gaussian | Laplace], times: int, random) -> None:
    together = spent_of(events)
    shuffled = random.sample(events, len(events))
    assert spent_of(shuffled) == together
    assert spent_of(events * times) == together * times == sum([together] * times, Spent())
    assert (together + price(Gaussian("more", 1.0, 1.0, 1.0, 1))).epsilon_units(
        1e-6
    ) > together.epsilon_units(1e-6)


def test_twenty_halves_are_ten() -> None:
    half = Laplace("sums", 1.0, 2.0, 1.0, 1)
    assert spent_of([half] * 20).epsilon(0.0) == 10.0


def test_years_of_weekly_releases() -> None:
    week = Spent(rho=largest_rho(budget()))
    for weeks, epsilon in ((1, 1.0), (52, 9.1), (260, 24.8), (520, 39.5)):
        assert (week * weeks).epsilon(1e-6) == pytest.approx(epsilon, rel=0.005)


def test_many_small_pure_losses_cost_less_than_their_sum() -> None:
    many = spent_of([Laplace("sums", 1.0, 100.0, 1.0, 1)] * 1000)
    assert many.epsilon(0.0) == 10.0
    assert many.epsilon(1e-6) < 1.7
    assert spent_of([Laplace("sums", 1.0, 1.0, 1.0, 1)]).epsilon(1e-6) == 1.0


def test_gaussian_noise_has_no_epsilon_at_delta_zero() -> None:
    loss = Spent(rho=1)
    assert loss.epsilon(0.0) == math.inf
    with pytest.raises(BudgetError, match="give a δ"):
        loss.epsilon_units(0.0)
    with pytest.raises(BudgetError, match="give a δ"):
        largest_rho(budget(delta=0.0))


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 1.0, 10.0, 3000.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 9e-3])
def test_the_largest_rho_fits_and_one_more_does_not(epsilon: float, delta: float) -> None:
    rho = largest_rho(budget(epsilon, delta))
    allowed = fixed_point.allowance(epsilon)
    assert Spent(rho=rho).epsilon_units(delta) <= allowed < Spent(rho=rho + 1).epsilon_units(delta)


def test_the_largest_pure_loss_is_the_budget_or_more() -> None:
    assert largest_pure(budget(0.3, 0.0)) == largest_pure(budget(0.3)) == 300_000_000_000
    hundred = [Fraction(1, 100)] * 100
    assert largest_pure(budget(1.0, 0.0), hundred) == fixed_point.PER_ONE
    assert largest_pure(budget(1.0), hundred) > 2 * fixed_point.PER_ONE
