"""Weights by age, for releases that repeat: the square-root factorization of prefix sums.

Release t of T measures y_t = Σ_s c_{t−s} D_s + noise, where D_s is the sum over what came in before release s
and after the one before it. With A the lower triangle of ones and C that of c_0, c_1, … on its diagonals,

    A = C C,        c_0 = 1,        c_k = c_{k−1} (2k − 1)/(2k) = binom(2k, k)/4^k,

so Σ_s c_{t−s} y_s is the sum of all D_s up to t, plus noise (Fichtenberger, Henzinger & Upadhyay 2023,
"Constant Matters", §3; Denisov et al. 2022). One record moves all y together by ‖c‖, which grows as
√(log T/π). Independent measurements of every running sum would move by √T.

Privacy: public.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushrec.arrays import Ints
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point

BITS = 30
"""Weights are rounded down to multiples of 2^-BITS, so that sums of integers have them exactly."""
MOST = 10_000
"""The most releases of a series."""


@dataclass(frozen=True, slots=True)
class Part:
    """One release of a series, whose measurements are charged together.

    Args:
        number: number of the release in its series, from 0.
        of: how many releases the series has.
        series: what tells it from other series of the same ledger; empty for a plan without a charge.
        memory: what tells the memory of people that it measures with from any other; empty likewise.
    """

    number: int
    of: int
    series: str = ""
    memory: str = ""


def age_weights(releases: int) -> Ints:
    """c_0 … c_{T−1} in steps of 2^-BITS, rounded down, shape (releases,).

    Args:
        releases: T, at least 1.
    """
    if not 1 <= releases <= MOST:
        raise BudgetError(f"a series has from 1 to {MOST:,} releases; change their number")
    ratio, weights = Fraction(1), []
    for age in range(releases):
        weights.append((ratio.numerator << BITS) // ratio.denominator)
        ratio *= Fraction(2 * age + 1, 2 * age + 2)
    return np.array(weights, dtype=np.int64)


def joint_norm(releases: int) -> float:
    """‖c‖, rounded up: how far one entry of at most 1 moves all T measurements together."""
    square = sum(int(step) ** 2 for step in age_weights(releases))
    return fixed_point.float_above(Fraction(math.isqrt(square) + 1, 1 << BITS))
