"""Samples of people against exact arithmetic, against the definition in both directions, and composed."""

import functools
import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import accountant as renyi_module
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import (
    ORDERS,
    Curve,
    Spent,
    added,
    divergences,
    price,
    smallest,
    spent_of,
)
from hushrec.privacy.accounting.events import ODDS, Gaussian, Laplace, drawn_rate

Solve = Callable[[Fraction, float], Curve]
CASES = [
    (z, rate)
    for z in (0.3, 0.7, 1.0, 2.5, 11.0, 300.0)
    for rate in (1 / ODDS, 1e-5, 0.001, 0.02, 0.3, 0.9, 1 - 1 / ODDS)
]
SOME = (2, 3, 4, 7, 16, 33, 64, 160, 1024)


@functools.cache
def exact(order: int, z: float, rate: float) -> Decimal:
    """ln(A_α)/(α − 1) by the sum as it is printed, with digits enough for any cancellation."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 80, MAX_EMAX, MIN_EMIN
        kept, taken, base = 1 - Decimal(rate), Decimal(rate), (1 / Decimal(z) ** 2).exp()
        total, growth, factor = Decimal(0), Decimal(1), Decimal(1)  # e^(k(k−1)/(2z²)) and e^(k/z²)
        for k in range(order + 1):
            total += math.comb(order, k) * kept ** (order - k) * taken**k * growth
            growth, factor = growth * factor, factor * base
        return total.ln() / (order - 1)


def safe_and_tight(solve: Solve) -> bool:
    for z, rate in CASES:
        curve = dict(zip(ORDERS, solve(1 / Fraction(z), rate), strict=True))
        for order in SOME:
            true = exact(order, z, rate) * fixed_point.PER_ONE
            if not true <= curve[order] <= true * (1 + Decimal("1e-9")) + 2:
                return False
    return True


def test_divergences_are_never_below_the_true_ones_and_hardly_above() -> None:
    assert safe_and_tight(divergences)


FAULTS: dict[str, Solve] = {
    "the rate is ignored": lambda ratio, rate: tuple(fixed_point.cost(o * ratio**2 / 2) for o in ORDERS),
    "twice the noise": lambda ratio, rate: divergences(ratio / 2, rate),
    "half the rate": lambda ratio, rate: divergences(ratio, rate / 2),
    "only the leading term": lambda ratio, rate: tuple(
        fixed_point.cost(order * (Fraction(rate) * ratio) ** 2 / 2) for order in ORDERS
    ),
    "rounded down": lambda ratio, rate: tuple(loss - 1 for loss in divergences(ratio, rate)),
    "a little too large": lambda ratio, rate: tuple(
        math.ceil(loss * (1 + 1e-8)) + 2 for loss in divergences(ratio, rate)
    ),
    "orders shifted": lambda ratio, rate: (0, *divergences(ratio, rate)[:-1]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_check_of_divergences_finds_a_planted_fault(fault: str) -> None:
    assert not safe_and_tight(FAULTS[fault])


GREAT = [
    (1 / Fraction(z), rate, order)
    for z in (0.001, 0.003, 0.01, 0.03)
    for rate in (1 / ODDS, 1e-5, 0.001, 0.02, 0.3, 0.5, 0.9, 1 - 1 / ODDS)
    for order in (2, 3, 4, 7, 16, 33)
]
"""Losses so great that the last bit of a float is more than the unit that they are rounded up to."""


def never_below(solve: Solve) -> bool:
    return all(
        solve(ratio, rate)[ORDERS.index(order)] >= exact(order, float(1 / ratio), rate) * fixed_point.PER_ONE
        for ratio, rate, order in GREAT
    )


def test_great_divergences_are_never_below_the_true_ones_and_would_be_unrounded(monkeypatch) -> None:
    assert never_below(divergences)
    monkeypatch.setattr(renyi_module, "_ROUNDING", 0.0)
    assert not never_below(divergences.__wrapped__)


def test_what_an_order_adds_is_never_below_the_truth_and_would_be_unrounded(monkeypatch) -> None:
    """A unit is so much more than the last bit of a float that one sum in 30,000 is rounded down."""
    convert, allowed = renyi_module.conversion.__wrapped__, [k * 1e-6 for k in range(1, 2000)]
    with localcontext() as context:
        context.prec = 50
        ln = {order: Decimal(order).ln() for order in range(1, max(ORDERS) + 1)}
        true = {
            (order, delta): (ln[order - 1] - ln[order] - (log + ln[order]) / (order - 1))
            * fixed_point.PER_ONE
            for delta, log in ((delta, Decimal(delta).ln()) for delta in allowed)
            for order in ORDERS
        }
    assert all(0 <= convert(*case) - least < 2 for case, least in true.items())
    monkeypatch.setattr(renyi_module, "_ROUNDING", 0.0)
    assert any(convert(*case) < least for case, least in true.items())


def by_definition(order: int, z: float, rate: float, *, removed: bool) -> float:
    """Rényi divergence between N(0, z²) and its mixture with N(1, z²), by integration over the line."""

    def integrand(x: float) -> float:
        alone = -x * x / (2 * z * z) - math.log(z * math.sqrt(2 * math.pi))
        # ln(1 − q + q e^((2x − 1)/(2z²))): how much likelier x is with this person than without.
        shift = (2 * x - 1) / (2 * z * z)
        ratio = max(0.0, shift) + math.log(
            (1 - rate) * math.exp(-max(0.0, shift)) + rate * math.exp(min(0.0, shift))
        )
        return math.exp(alone + (1 - order if removed else order) * ratio)

    reach = 40 * z + 2 * order
    total, _ = quad(integrand, -reach, reach, limit=2000, points=[0.0, 1.0, float(order)], epsabs=1e-13)
    return math.log(total) / (order - 1)


@pytest.mark.parametrize(("z", "rate"), [(0.8, 0.1), (1.0, 0.5), (2.0, 0.02), (3.0, 0.9), (1.5, 0.3)])
def test_they_cover_somebody_who_comes_and_somebody_who_goes(z: float, rate: float) -> None:
    rate = drawn_rate(rate)
    curve = dict(zip(ORDERS, divergences(1 / Fraction(z), rate), strict=True))
    for order in (2, 3, 5, 8):
        stated = curve[order] / fixed_point.PER_ONE
        comes = by_definition(order, z, rate, removed=False)
        goes = by_definition(order, z, rate, removed=True)
        assert comes == pytest.approx(stated, rel=1e-6)
        assert goes < comes  # so that the smaller direction alone would not do: the fault it is


def delta_of(epsilon: float, z: float, rate: float) -> float:
    """δ of one measurement of a sample at a given ε, the larger of both directions, in closed form."""

    def tail(x: float) -> float:
        return math.exp(float(log_ndtr(-x)))

    # Somebody comes: the likelihood ratio 1 − q + q e^((2x − 1)/(2z²)) exceeds e^ε above a threshold.
    lifted = math.exp(epsilon) - 1 + rate
    above = z * z * math.log(lifted / rate) + 0.5
    comes = (1 - rate - math.exp(epsilon)) * tail(above / z) + rate * tail((above - 1) / z)
    sunk = math.exp(-epsilon) - 1 + rate
    if sunk <= 0:
        return comes
    below = z * z * math.log(sunk / rate) + 0.5
    without = tail(-below / z)
    return max(comes, without - math.exp(epsilon) * ((1 - rate) * without + rate * tail(-(below - 1) / z)))


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_the_epsilon_of_one_sample_is_never_below_the_true_one(delta: float) -> None:
    for z in (0.4, 0.7, 1.0, 2.0, 5.0):
        for rate in map(drawn_rate, (0.001, 0.05, 0.5, 0.95)):
            stated = spent_of([Gaussian("a", 1.0, z, z, 1, rate)]).epsilon(delta)
            assert delta_of(stated, z, rate) <= delta


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [0.001, 0.1, 3.0])
def test_the_best_order_decides(delta: float, rho: float) -> None:
    curve = tuple(fixed_point.cost(order * Fraction(rho)) for order in ORDERS)
    found, order = smallest(curve, delta)
    bounds = {o: rho * o + math.log((o - 1) / o) - (math.log(delta) + math.log(o)) / (o - 1) for o in ORDERS}
    assert order == min(bounds, key=bounds.__getitem__)
    assert 0 <= found / fixed_point.PER_ONE - max(0.0, bounds[order]) < 1e-10


EVENTS = st.one_of(
    st.builds(lambda s: Gaussian("a", 1.0, s, 1.0, 1), st.floats(1.0, 1e3)),
    st.builds(lambda s: Laplace("a", 1.0, s, 1.0, 1), st.floats(1.0, 1e3)),
    st.builds(
        lambda s, q: Gaussian("a", 1.0, s, 1.0, 1, q),
        st.floats(0.5, 1e3),
        st.sampled_from([0.25, 0.5, 2.0**-20]),
    ),
)


@settings(derandomize=True, max_examples=60)
@given(st.lists(EVENTS, max_size=6), st.integers(0, 50), st.randoms(use_true_random=False))
def test_composition_adds(events: list[Gaussian | Laplace], times: int, random) -> None:
    together = spent_of(events)
    assert spent_of(random.sample(events, len(events))) == together
    assert spent_of(events * times) == together * times == sum([together] * times, Spent())
    more = together + price(Gaussian("more", 1.0, 1.0, 1.0, 1, 0.5))
    assert more.epsilon_units(1e-6) >= together.epsilon_units(1e-6)


def test_less_noise_and_larger_samples_cost_more() -> None:
    def cost(sigma: float, rate: float) -> int:
        return (price(Gaussian("a", 1.0, sigma, 1.0, 1, drawn_rate(rate))) * 50).epsilon_units(1e-6)

    for less, more in pairwise([1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.999]):
        assert cost(1.3, less) < cost(1.3, more)
    for less, more in pairwise([20.0, 5.0, 2.0, 1.0, 0.7, 0.5]):
        assert cost(less, 0.02) < cost(more, 0.02)


def test_a_sample_never_costs_more_than_everybody_at_any_order() -> None:
    for z, rate in CASES:
        ratio = 1 / Fraction(z)
        curve = divergences(ratio, rate)
        assert all(loss <= fixed_point.cost(o * ratio**2 / 2) for o, loss in zip(ORDERS, curve, strict=True))


def test_what_is_mixed_costs_the_smaller_of_both_bounds() -> None:
    sampled = price(Gaussian("a", 1.0, 1.0, 1.0, 1, 0.125)) * 20
    gaussian, few = price(Gaussian("b", 1.0, 5.0, 1.0, 1)), price(Laplace("c", 1.0, 2.0, 1.0, 1))
    many = price(Laplace("c", 1.0, 100.0, 1.0, 1)) * 400
    for epsilon_sum in (few, many):
        total, rest = sampled + gaussian + epsilon_sum, sampled + gaussian
        basic = rest.epsilon_units(1e-6) + epsilon_sum.epsilon_sum
        renyi, _ = smallest(
            (
                c + o * (gaussian.rho + epsilon_sum.pure_rho)
                for o, c in zip(ORDERS, sampled.curve, strict=True)
            ),
            1e-6,
        )
        assert total.epsilon_units(1e-6) == min(basic, renyi)
    one = price(Laplace("c", 1.0, 0.2, 1.0, 1))
    assert (sampled + one).epsilon_units(1e-6) == one.epsilon_sum + sampled.epsilon_units(1e-6)
    assert (sampled + many).epsilon_units(1e-6) < many.epsilon_sum + sampled.epsilon_units(1e-6)


def test_where_nothing_is_a_sample_nothing_changes() -> None:
    assert Spent().curve == price(Gaussian("a", 1.0, 2.0, 1.0, 1)).curve == ()
    assert added((), (1,) * 76) == added((1,) * 76, ()) == (1,) * 76
    assert (price(Gaussian("a", 1.0, 2.0, 1.0, 1, 0.5)) * 0) == Spent()


def test_a_sample_has_no_epsilon_at_delta_zero() -> None:
    spent = price(Gaussian("a", 1.0, 2.0, 1.0, 1, 0.5))
    assert spent.epsilon(0.0) == math.inf
    with pytest.raises(BudgetError, match="no finite ε at δ = 0"):
        spent.epsilon_units(0.0)


def test_endless_ratios_are_priced_as_for_everybody() -> None:
    assert divergences(Fraction(10**200), 0.5)[0] == 10**400 * fixed_point.PER_ONE
    assert divergences(Fraction(1, 10**200), 0.5) == (1,) * len(ORDERS)


def test_the_orders_are_the_ledgers_format() -> None:
    assert len(ORDERS) == 76
    assert (*range(2, 65), 72, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 768, 1024) == ORDERS
