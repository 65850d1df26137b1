"""The two laws of whole numbers that stand for noise on cells that are 0, and their certified constants.

Rounded Laplace noise of scale b, in integers, is at least T in size with chance p = e^−(T − ½)/b. So the
number of empty cells before the next one that reaches T is G ≥ g with chance (1 − p)^g, and how far that one
is beyond T is J ≥ j with chance e^−j/b: drawing G and J in turn gives the cells that noise on every one
would.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushrec.arrays import Ints
from hushrec.errors import SamplerError
from hushrec.privacy.noise.distributions import LAPLACE

FARTHEST = 300.0
"""Largest (T − ½)/b: beyond, a cell would reach the threshold once in 1e130."""
_BATCH = 512


@dataclass(frozen=True, slots=True)
class Count:
    """The law of min(G, cap), where P(G ≥ k) = q^k; G = ⌊scale · Z⌋ for an exponential Z.

    Attributes:
        scale: −1/ln q, in floating point.
        slack: bound on its relative error.
        cap: largest number.
        reaches: bounds on q^k · 2^bits, from below and above; arguments k and bits.

    Privacy: public.
    """

    scale: float
    slack: float
    cap: int
    reaches: Callable[[int, int], tuple[int, int]]


def excesses(scale: float, cap: int) -> Count:
    """How far rounded Laplace noise is beyond a threshold that it reaches: q = e^−1/b.

    Args:
        scale: b, in integers.
        cap: where to clamp.

    Privacy: public.
    """
    width = Fraction(scale)

    def reaches(k: int, bits: int) -> tuple[int, int]:
        return LAPLACE.survival(k / width, bits, False), LAPLACE.survival(k / width, bits, True)

    return Count(scale, 0.0, cap, reaches)


def gaps(scale: float, threshold: int, cap: int) -> Count:
    """How many draws of rounded Laplace noise stay below a threshold before one does not: q = 1 − p.

    Args:
        scale: b, in integers.
        threshold: T, at least 1.
        cap: where to clamp.

    Raises:
        SamplerError: The threshold is beyond any noise that is ever seen, or the machine's arithmetic is off.

    Privacy: public.
    """
    return misses(_far(scale, threshold), cap)


def misses(far: Fraction, cap: int) -> Count:
    """How many independent cells pass before one whose chance is p = e^−far: q = 1 − p.

    Args:
        far: −ln p, above 0 and at most ``FARTHEST``.
        cap: where to clamp.

    Raises:
        SamplerError: It is not, or the machine's arithmetic is off.

    Privacy: public.
    """
    if not 0 < far <= FARTHEST:
        raise SamplerError(
            f"a chance of e^-{float(far):.6g} is none that is drawn; choose one of e^-300 to 1"
        )
    x = float(far)
    # ln(1 − e^−x) without loss of digits: Mächler 2012.
    loss = -(math.log(-math.expm1(-x)) if x < math.log(2) else math.log1p(-math.exp(-x)))
    count = Count(1 / loss, (1 + x) * 2.0**-50, cap, lambda k, bits: _misses(far, k, bits))
    if not _certified(count, far):
        raise SamplerError("this machine's floating-point functions are off; hushrec cannot draw noise on it")
    return count


def passing(
    draw: Callable[[Count, tuple[int, int], int, int], Ints],
    law: Count,
    sequence: tuple[int, int],
    cells: int,
) -> tuple[Ints, int]:
    """Gaps that together pass so many cells, and how many of these they tell.

    Args:
        draw: ``sampling.count_draws`` with its key.
        law: of a gap.
        sequence: of the key's.
        cells: how many there are.

    Returns:
        One gap more, at least, than cells that end one; and the number of these.

    Privacy: private.
    """
    expected = cells * -math.expm1(-1 / law.scale)
    batch = _BATCH * (1 + int((expected + 6 * math.sqrt(expected)) / _BATCH))
    drawn = np.empty(0, np.int64)
    while True:
        more = draw(law, sequence, drawn.size, batch)
        drawn = np.concatenate([drawn, np.maximum(more, ~more)])  # the sign says nothing
        found = int(np.searchsorted(np.cumsum(drawn + 1), cells, side="right"))
        if found < drawn.size:
            return drawn, found


def require_threshold(scale: float, threshold: int) -> None:
    """Refuse a threshold that noise would not reach once in any number of cells.

    Raises:
        SamplerError: It is more than 300 scales away.

    Privacy: public.
    """
    _far(scale, threshold)


def _far(scale: float, threshold: int) -> Fraction:
    far = (threshold - Fraction(1, 2)) / Fraction(scale)
    if not 0 < far <= FARTHEST:
        raise SamplerError(
            f"a threshold of {threshold} steps is out of reach of noise of {scale:.3g}; choose one of at "
            f"most {FARTHEST * scale:.3g} steps"
        )
    return far


def _misses(far: Fraction, times: int, bits: int) -> tuple[int, int]:
    """Bounds on (1 − e^−far)^times · 2^bits."""
    more = bits + 64 + times.bit_length()  # every factor adds a rounding or two
    one = 1 << more
    low = one - LAPLACE.survival(far, more, True)
    high = one - LAPLACE.survival(far, more, False)
    below = above = one
    for digit in f"{times:b}":
        below, above = below * below >> more, -(-above * above >> more)
        if digit == "1":
            below, above = below * low >> more, -(-above * high >> more)
    return below >> more - bits, -(-above >> more - bits)


def _certified(count: Count, far: Fraction) -> bool:
    """Whether 1/scale is −ln(1 − e^−far) to within the slack: e^−y brackets 1 − p."""
    bits = 192 + 2 * math.ceil(far)
    least, most = ((1 + Fraction(sign * count.slack)) / Fraction(count.scale) for sign in (-1, 1))
    low, high = count.reaches(1, bits)
    return LAPLACE.survival(least, bits, False) >= high and LAPLACE.survival(most, bits, True) <= low
