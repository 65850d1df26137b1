"""The μ of each mechanism: never below the truth in sixty digits, hardly above, and below its trade-off."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from hushrec.arrays import Floats
from hushrec.privacy.accounting import accountant, fixed_point
from hushrec.privacy.accounting.accountant import (
    Spent,
    gaussian_cost,
    laplace_cost,
    laplace_epsilon,
    pure_cost,
    pure_epsilon,
    quantile,
    response_cost,
    survival,
)
from hushrec.privacy.accounting.calibration import _exponent
from hushrec.privacy.accounting.measurement import Responses, cell_loss

DIGITS = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
EPSILONS = (1e-13, 1e-9, 3e-7, 1e-4, 0.02, 0.3, 1.0, 2.0, 5.0, 8.0, 40.0, 300.0, 1e3, 1e4, 1e5, 1e6)


def exact_survival(z: Decimal) -> Decimal:
    """−ln 2Φ(−z): by the power series of Φ below 6, and by the continued fraction of Mills' ratio beyond."""
    with localcontext(prec=2 * DIGITS):
        if z < 6:
            term = total = z
            for k in range(1, 2000):
                term *= z * z / (2 * k + 1)
                total += term
                if term < total.scaleb(-2 * DIGITS):
                    break
            return -(1 - 2 * (-z * z / 2).exp() / (2 * PI).sqrt() * total).ln()
        mills = z
        for k in range(1500, 0, -1):
            mills = z + k / mills
        return z * z / 2 + (PI / 2).sqrt().ln() + mills.ln()


def half(spent: Spent, times: int = 1) -> Decimal:
    """μ/2 of a price."""
    with localcontext(prec=DIGITS):
        return (Decimal(spent.mu_squared) / times / fixed_point.PER_ONE).sqrt() / 2


def is_safe_and_tight(spent: Spent, wanted: Decimal, slack: float = 1e-11, times: int = 1) -> bool:
    """Whether 2Φ(−μ/2) = e^−s, for an s that is not below the wanted one and hardly above."""
    with localcontext(prec=DIGITS):
        least = half(Spent(spent.mu_squared - 1), times) * (1 - Decimal(slack))
        return exact_survival(least) < wanted <= exact_survival(half(spent, times))


def of_laplace(epsilon: float) -> Decimal:
    return Decimal(epsilon) / 2


def of_pure(epsilon: float) -> Decimal:
    with localcontext(prec=DIGITS):
        return ((1 + Decimal(epsilon).exp()) / 2).ln()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_noise_and_pure_losses_cost_their_mu_and_no_less(epsilon: float) -> None:
    assert is_safe_and_tight(laplace_cost(Fraction(epsilon)), of_laplace(epsilon))
    assert is_safe_and_tight(pure_cost(Fraction(epsilon)), of_pure(epsilon))


@given(st.floats(-30.0, 13.7))
def test_everywhere(logarithm: float) -> None:
    epsilon = math.exp(logarithm)
    assert is_safe_and_tight(laplace_cost(Fraction(epsilon)), of_laplace(epsilon))
    assert is_safe_and_tight(pure_cost(Fraction(epsilon)), of_pure(epsilon))


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 300.0])
@pytest.mark.parametrize("factor", [1 - 1e-9, 1 + 1e-9])
def test_the_check_finds_a_wrong_mu(epsilon: float, factor: float) -> None:
    wrong = Spent(round(laplace_cost(Fraction(epsilon)).mu_squared * factor + 3 * (factor - 1) * 1e9))
    assert not is_safe_and_tight(wrong, of_laplace(epsilon))


def test_scipys_quantiles_err_far_less_than_the_margin() -> None:
    for s in np.exp(np.linspace(math.log(1e-12), math.log(accountant._HUGE), 500)).tolist():
        with localcontext(prec=DIGITS):
            margin = Decimal(2) ** -43
            z = Decimal(quantile(s))
            assert exact_survival(z * (1 - margin)) < Decimal(s) < exact_survival(z * (1 + margin))


@pytest.mark.parametrize("epsilon", [1e7, 1e12, 1e100])
def test_a_huge_epsilon_has_a_bound_and_no_overflow(epsilon: float) -> None:
    for cost, per in ((laplace_cost, 4), (pure_cost, 8)):
        spent = cost(Fraction(epsilon))
        assert 0 <= fixed_point.cost(per * Fraction(epsilon)) - spent.mu_squared <= 6 * fixed_point.PER_ONE
        assert spent.epsilon == fixed_point.cost(Fraction(epsilon))


def test_the_bounds_meet_the_curves_where_they_begin() -> None:
    edges = (
        accountant._TINY,
        2 * accountant._TINY,
        accountant._LINEAR,
        accountant._HUGE,
        2 * accountant._HUGE,
    )
    for edge, cost in itertools.product(edges, (laplace_cost, pure_cost)):
        below, above = (cost(Fraction(edge * (1 + d))).mu_squared for d in (-1e-9, 1e-9))
        assert below <= above <= below * 1.00003 + 1


@given(st.floats(1e-9, 30.0), st.floats(1e-9, 30.0))
def test_a_vector_that_moves_by_as_much_costs_no_more(one: float, other: float) -> None:
    """m²(ε)/ε does not decrease, so entries that share a shift cost at most one that has all of it."""
    parts = laplace_cost(Fraction(one)) + laplace_cost(Fraction(other))
    assert parts.mu_squared <= laplace_cost(Fraction(one) + Fraction(other)).mu_squared * (1 + 1e-11) + 2


@pytest.mark.parametrize("epsilon", EPSILONS[3:-1])
def test_noise_is_found_back_from_its_cost(epsilon: float) -> None:
    slack = 1e-9 + 1e-11 / epsilon**2
    assert laplace_epsilon(laplace_cost(Fraction(epsilon)).mu_squared) == pytest.approx(epsilon, rel=slack)
    assert pure_epsilon(pure_cost(Fraction(epsilon)).mu_squared) == pytest.approx(epsilon, rel=slack)
    assert survival(quantile(epsilon)) == pytest.approx(epsilon, rel=1e-12)


# -- trade-offs: which share of second worlds an attacker misses at a share α of false alarms ---------------

ALPHAS = np.concatenate([np.geomspace(1e-14, 0.5, 4000), 1 - np.geomspace(1e-14, 0.5, 4000)])


def gaussian_curve(mu: float) -> Floats:
    return np.asarray(norm.cdf(norm.isf(ALPHAS) - mu))


def laplace_curve(epsilon: float) -> Floats:
    """Of Lap(0, 1) against Lap(ε, 1)."""
    tail = math.exp(-epsilon)
    middle = np.where(ALPHAS <= 0.5, tail / (4 * ALPHAS), tail * (1 - ALPHAS))
    return np.where(tail / 2 >= ALPHAS, 1 - ALPHAS / tail, middle)


def broken_line(corners: list[tuple[float, float]]) -> Floats:
    return np.interp(ALPHAS, *np.transpose(corners))


def response_corners(symbols: int, exponent: float) -> list[tuple[float, float]]:
    untrue = math.exp(-exponent)
    rare = untrue / (symbols - 1)
    return [(0, 1), (rare, untrue), (untrue, rare), (1, 0)]


def hides(curve: Floats, spent: Spent, factor: float = 1.0) -> bool:
    mu = factor * 2 * float(half(spent))
    return bool((curve >= gaussian_curve(mu) - 1e-12).all())


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 8.0, 20.0])
def test_no_attack_on_laplace_noise_is_better_than_on_gaussian_noise_of_its_mu(epsilon: float) -> None:
    spent = laplace_cost(Fraction(epsilon))
    assert hides(laplace_curve(epsilon), spent)
    assert not hides(laplace_curve(epsilon), spent, 0.999)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 8.0, 20.0])
def test_nor_on_any_mechanism_of_a_pure_epsilon(epsilon: float) -> None:
    corner = 1 / (1 + math.exp(epsilon))
    spent = pure_cost(Fraction(epsilon))
    curve = broken_line([(0, 1), (corner, corner), (1, 0)])
    assert hides(curve, spent)
    assert not hides(curve, spent, 0.99)


@pytest.mark.parametrize("symbols", [2, 3, 6, 11, 257])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 4.0, 12.0])
def test_nor_on_a_randomized_answer(symbols: int, epsilon: float) -> None:
    exponent = _exponent(epsilon, symbols)
    spent = Responses.of("r", symbols, exponent, 1, 1).spent()
    curve = broken_line(response_corners(symbols, exponent))
    assert hides(curve, spent)
    assert not hides(curve, spent, 0.97)
    alpha = response_corners(symbols, exponent)[1][0]
    mu = 2 * float(half(spent))
    assert norm.cdf(norm.isf(alpha) - mu) == pytest.approx(math.exp(-exponent), rel=1e-7)


@pytest.mark.parametrize("symbols", [2, 3, 6, 257])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 0.3, 2.0, 9.0, 40.0, 250.0])
def test_the_mu_of_an_answer_is_never_below_the_true_one(symbols: int, epsilon: float) -> None:
    """At μ + Φ⁻¹(1 − p) = Φ⁻¹(1 − q): both tails in sixty digits."""
    exponent = _exponent(epsilon, symbols)
    loss = cell_loss(symbols, exponent)
    cells = 10**9  # so that units do not matter
    spent = response_cost(symbols, exponent, loss, cells)
    assert spent.epsilon == fixed_point.cost(loss * cells)
    with localcontext(prec=3 * DIGITS):  # 1 − e^−250 has so many
        untrue = (-Decimal(exponent)).exp()
        mu, truth = 2 * half(spent, cells), root(untrue / (symbols - 1)) - root(1 - untrue, minus=True)
        assert truth <= mu <= truth * (1 + Decimal("1e-10") + Decimal("3e-11") / Decimal(epsilon))


def root(tail: Decimal, minus: bool = False) -> Decimal:
    """The z with Φ(−z) = tail, by bisection; ``minus``: the z with Φ(z) = 1 − tail, of any sign."""
    if minus:
        return -root(1 - tail)
    if tail > Decimal("0.5"):
        return -root(1 - tail)
    wanted = -(2 * tail).ln()
    low, high = Decimal(0), (2 * wanted).sqrt() + 1
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_survival(middle) < wanted else (low, middle)
    return high


# -- ε at δ -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
def test_epsilon_of_one_laplace_measurement_is_above_the_true_one(epsilon: float, delta: float) -> None:
    """δ = 1 − e^((ε′ − ε)/2) at ε′ ≤ ε (Dwork & Roth), so ε′ is almost ε: μ gives it up for adding up."""
    true = epsilon + 2 * math.log1p(-delta)
    assert true <= laplace_cost(Fraction(epsilon)).epsilon_at(delta)


def test_what_adds_up_is_cheaper_together() -> None:
    for cost, count in itertools.product((laplace_cost, pure_cost), (100, 1000)):
        many = cost(Fraction(1, 10)) * count
        assert many.epsilon_at(1e-6) < many.epsilon_at(0.0)


def test_mixtures_add_squares_of_mu() -> None:
    mixed = gaussian_cost(Fraction(1, 3)) + laplace_cost(Fraction(1)) + pure_cost(Fraction(1, 2), 4)
    parts = (
        1 / 9,
        laplace_cost(Fraction(1)).mu_squared / 1e12,
        4 * pure_cost(Fraction(1, 2)).mu_squared / 1e12,
    )
    assert mixed.mu_squared / 1e12 == pytest.approx(sum(parts), abs=1e-11)
    assert mixed.epsilon is None
