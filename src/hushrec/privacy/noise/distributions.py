"""The two continuous noise distributions, at scale 1, with tail probabilities in exact arithmetic.

Every bound below is an integer division, rounded in the right direction, of sums of positive terms. It relies
on Python's integers only, not on floating point.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from hushrec.arrays import Floats


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of a symmetric real variable Z.

    Attributes:
        peak: density of |Z| at zero.
        slope: a and b of −(ln density)' = a + b z.
        survival: bound on P(|Z| > x) · 2^bits for rational x ≥ 0; arguments are x, bits, and whether it is an
            upper bound.
        quantile: the z with P(|Z| > z) = u, to about floating-point accuracy.

    Privacy: public.
    """

    peak: float
    slope: tuple[float, float]
    survival: Callable[[Fraction, int, bool], int]
    quantile: Callable[[float], float]

    def density(self, z: Floats) -> Floats:
        """Density of |Z|: peak · exp(−a z − b z²/2).

        Privacy: public.
        """
        a, b = self.slope
        return self.peak * np.exp(-a * z - b * z * z / 2)


def _gaussian_survival(x: Fraction, bits: int, above: bool) -> int:
    # P(|Z| < x) = √(2/π) x Σ x^2n / (2n+1)!! / e^(x²/2): Abramowitz & Stegun 26.2.11.
    below = not above  # the bound on the complement
    inside = _divide(
        _root_two_over_pi(bits, below) * _series(x * x, 3, 2, bits, below) * x.numerator,
        _series(x * x / 2, 1, 1, bits, not below) * x.denominator,
        below,
    )
    return (1 << bits) - inside


def _laplace_survival(x: Fraction, bits: int, above: bool) -> int:
    # P(|Z| > x) = 1 / e^x.
    return _divide(1 << 2 * bits, _series(x, 1, 1, bits, not above), above)


def _divide(numerator: int, denominator: int, up: bool) -> int:
    return -(-numerator // denominator) if up else numerator // denominator


def _series(ratio: Fraction, start: int, step: int, bits: int, up: bool) -> int:
    """Bound 2^bits · (1 + r / start + r² / (start (start + step)) + …)."""
    top, bottom = ratio.numerator, ratio.denominator
    halving = _divide(2 * top, bottom, True)  # from this divisor on, terms at least halve
    total = term = 1 << bits
    divisor = start
    while term > 1 or divisor < halving:
        term = _divide(term * top, bottom * divisor, up)
        total += term
        divisor += step
    return total + term if up else total  # terms at least halve from here: the rest is at most the last one


@lru_cache(maxsize=64)
def _root_two_over_pi(bits: int, up: bool) -> int:
    one = 1 << bits + 32
    pi = (16 * _arccot(5, one) - 4 * _arccot(239, one)) >> 32  # Machin's formula, off by less than 1
    root = math.isqrt((2 << 3 * bits) // (pi - 1 if up else pi + 2))
    return root + 1 if up else root


def _arccot(n: int, one: int) -> int:
    power = total = one // n
    divisor = 1
    while power:
        power //= -n * n
        divisor += 2
        total += power // divisor
    return total


GAUSSIAN = Distribution(
    math.sqrt(2 / math.pi), (0.0, 1.0), _gaussian_survival, lambda u: -NormalDist().inv_cdf(u / 2)
)
LAPLACE = Distribution(1.0, (1.0, 0.0), _laplace_survival, lambda u: -math.log(u))
