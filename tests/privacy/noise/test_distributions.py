"""Tail probabilities: bounds that hold, are tight, and agree with other people's numbers."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE, Distribution

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
POINTS = [Fraction(n, 16) for n in (1, 5, 16, 24, 48, 77, 96, 160, 400)] + [Fraction(0.1), Fraction(37, 3)]


def gaussian_bounds(x: Fraction) -> tuple[Decimal, Decimal]:
    """Laplace's continued fraction, whose convergents lie on both sides of P(|Z| > x) by turns."""
    point = Decimal(x.numerator) / Decimal(x.denominator)
    density = (2 / PI).sqrt() * (-point * point / 2).exp()

    def convergent(depth: int) -> Decimal:
        tail = point
        for n in range(depth, 0, -1):
            tail = point + n / tail
        return density / tail

    a, b = convergent(6000), convergent(6001)
    return min(a, b), max(a, b)


def laplace_bounds(x: Fraction) -> tuple[Decimal, Decimal]:
    value = (-Decimal(x.numerator) / Decimal(x.denominator)).exp()
    return value, value


def brackets(distribution: Distribution, x: Fraction, bits: int) -> bool:
    with localcontext() as context:
        context.prec = 80
        low, high = (gaussian_bounds if distribution.slope == GAUSSIAN.slope else laplace_bounds)(x)
        scale, slack = Decimal(2) ** bits, Decimal("1e-70")
        below, above = (Decimal(distribution.survival(x, bits, side)) / scale for side in (False, True))
        return below <= high + slack and above >= low - slack


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("bits", [8, 64, 192])
def test_bounds_hold_and_are_tight(distribution: Distribution, bits: int) -> None:
    for x in POINTS:
        assert brackets(distribution, x, bits)
        # Every term of a series adds one rounding; there are 80 of them per unit of x at the most.
        assert (
            0 <= distribution.survival(x, bits, True) - distribution.survival(x, bits, False) <= 100 * (1 + x)
        )


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("side", [-1, 1])
def test_bounds_off_by_their_own_width_are_caught(distribution: Distribution, side: int) -> None:
    for x in (x for x in POINTS if x >= 3):  # where the continued fraction is good to 60 digits
        width = distribution.survival(x, 192, True) - distribution.survival(x, 192, False) + 1

        def off(x: Fraction, bits: int, above: bool, shift: int = side * width) -> int:
            return distribution.survival(x, bits, above) + shift

        assert not brackets(replace(distribution, survival=off), x, 192)


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
def test_nothing_is_beyond_zero_but_everything(distribution: Distribution) -> None:
    assert (
        distribution.survival(Fraction(0), 64, False) == distribution.survival(Fraction(0), 64, True) == 2**64
    )


@pytest.mark.parametrize(
    ("x", "digits"), [(1, "0.31731050786291410282953490"), (6, "0.0000000019731752900753962814")]
)
def test_known_digits(x: int, digits: str) -> None:  # 2 (1 − Φ(x))
    value = Decimal(GAUSSIAN.survival(Fraction(x), 160, False)) / Decimal(2) ** 160
    assert abs(value - Decimal(digits)) <= Decimal("1e-26")


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
def test_quantile_and_density_belong_to_the_tail(distribution: Distribution) -> None:
    for u in (0.999, 0.5, 1e-3, 1e-10, 2.0**-100):
        z = distribution.quantile(u)
        assert math.isclose(distribution.survival(Fraction(z), 300, False) / 2**300, u, rel_tol=1e-12)
        step = Fraction(1, 2**30)
        lost = distribution.survival(Fraction(z), 300, False) - distribution.survival(
            Fraction(z) + step, 300, False
        )
        assert math.isclose(lost / 2**300 * 2**30, distribution.density(z), rel_tol=1e-7)
