"""The accountant against exact arithmetic of a thousand digits and against numerical integration."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
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
    budget_of,
    epsilon_of,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_cost,
    spent_of,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement

MUS = (1e-5, 1e-3, 0.02, 0.24, 1.0, 3.3, 12.0, 50.0)
NORMS = "l2", "l1"
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
        published = Measurement("sums", self.mu(10.0, 1e-5), "l2", 1.0, 1, noise=1.0)
        assert published.spent().epsilon_at(1e-5) > 10.0


def test_prices_are_rounded_up() -> None:
    assert Measurement("sums", 1.0, "l2", 1.0, 9, noise=3.0).spent() == Spent(111_111_111_112, None)
    assert Measurement("sums", 1.0, "l1", 1.0, 9, noise=3.0).spent().epsilon == 333_333_333_334
    for kind in NORMS:
        assert (
            Measurement("sums", 1e-9, kind, 1.0, 1, noise=1.0).spent().mu_squared == 1
        )  # the smallest loss is still a loss


def test_less_noise_costs_more() -> None:
    for kind in NORMS:
        costs = [
            Measurement("sums", 1.0, kind, 1.0, 1, noise=noise).spent()
            for noise in np.geomspace(0.1, 1e3, 60)
        ]
        for dear, cheap in pairwise(costs):
            assert dear.mu_squared > cheap.mu_squared
            assert kind == "l2" or (dear.epsilon or 0) > (cheap.epsilon or 0)
            assert dear.epsilon_units(1e-6) >= cheap.epsilon_units(1e-6)


MEASUREMENTS = st.builds(
    lambda kind, sensitivity, noise: Measurement("sums", sensitivity, kind, 1.0, 1, noise=noise),
    st.sampled_from(NORMS),
    st.floats(1e-3, 1e3),
    st.floats(0.1, 1e6),
)


@settings(derandomize=True, max_examples=60)
@given(st.lists(MEASUREMENTS, max_size=6), st.integers(1, 50), st.randoms(use_true_random=False))
def test_composition_adds(measurements: list[Measurement], times: int, random) -> None:
    together = spent_of(measurements)
    shuffled = random.sample(measurements, len(measurements))
    assert spent_of(shuffled) == together
    assert spent_of(measurements * times) == together * times == sum([together] * times, Spent())
    assert (together + Measurement("more", 1.0, "l2", 1.0, 1, noise=1.0).spent()).epsilon_units(
        1e-6
    ) > together.epsilon_units(1e-6)


@given(st.lists(st.tuples(st.integers(0, 10**15), st.none() | st.integers(0, 10**15)), max_size=8))
def test_losses_are_integers_that_add_in_any_order(losses: list[tuple[int, int | None]]) -> None:
    parts = [Spent(*loss) for loss in losses]
    forward, backward = sum(parts, Spent()), sum(reversed(parts), Spent())
    assert forward == backward
    assert forward.mu_squared == sum(loss for loss, _ in losses)
    pure = [epsilon for _, epsilon in losses]
    assert forward.epsilon == (None if None in pure else sum(filter(None, pure)))
    assert forward * 0 == Spent()
    assert forward * 3 == forward + forward + forward


def test_twenty_halves_are_ten() -> None:
    half = Measurement("sums", 1.0, "l1", 1.0, 1, noise=2.0)
    assert spent_of([half] * 20).epsilon_at(0.0) == 10.0


def test_years_of_weekly_releases() -> None:
    week = Spent(largest_cost(budget()), None)
    for weeks, epsilon in ((1, 1.0), (52, 9.1), (260, 24.8), (520, 39.5)):
        assert (week * weeks).epsilon_at(1e-6) == pytest.approx(epsilon, rel=0.005)


def test_many_small_pure_losses_cost_less_than_their_sum_and_one_costs_more() -> None:
    many = spent_of([Measurement("sums", 1.0, "l1", 1.0, 1, noise=100.0)] * 1000)
    assert many.epsilon_at(0.0) == 10.0
    assert many.epsilon_at(1e-6) == pytest.approx(1.743, abs=0.001)
    one = spent_of([Measurement("sums", 1.0, "l1", 1.0, 1, noise=1.0)])
    assert (one.epsilon_at(0.0), one.epsilon_at(1e-6)) == (1.0, pytest.approx(5.054, abs=0.001))


def test_gaussian_noise_has_no_epsilon_at_delta_zero() -> None:
    loss = Spent(1, None)
    assert loss.epsilon_at(0.0) == math.inf
    for asked in (loss.units, loss.epsilon_units):
        with pytest.raises(BudgetError, match="give a δ"):
            asked(0.0)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 1.0, 10.0, 3000.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 9e-3])
def test_the_largest_cost_fits_and_hardly_more_does_not(epsilon: float, delta: float) -> None:
    cost = largest_cost(budget(epsilon, delta))
    allowed = fixed_point.allowance(epsilon)
    assert epsilon_of(cost, delta) <= allowed < epsilon_of(cost + 2 + (cost >> 38), delta)
    assert cost.bit_length() <= 40 or not cost % 2 ** (cost.bit_length() - 40)


def test_a_pure_budget_counts_its_epsilon() -> None:
    assert largest_cost(budget(0.3, 0.0)) == 300_000_000_000
    assert fixed_point.LARGEST < largest_cost(budget(4.6e6)) < 2**63


@given(st.integers(1, 10**14), st.floats(0.01, 50.0), st.sampled_from([0.0, 1e-9, 1e-6]))
def test_the_budget_of_a_cost_costs_no_more(cost: int, epsilon: float, delta: float) -> None:
    like = budget(epsilon, delta)
    found = budget_of(cost, like)
    assert 0 <= found.epsilon <= like.epsilon
    assert not found.epsilon or largest_cost(found) <= cost or found == like
    if found != like and found.epsilon > 0:
        assert largest_cost(found) >= cost * (1 - 1e-9) - 2
    assert budget_of(largest_cost(like), like) == like
    assert budget_of(0, like).epsilon == 0.0
