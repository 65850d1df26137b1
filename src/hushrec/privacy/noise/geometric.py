"""The two geometric distributions that replace noise on empty cells, with certified constants.

Rounded Laplace noise of scale b, in integers, has absolute value at least T with probability
p = e^−(T − ½)/b. So the number G of empty cells before the next one that reaches T has P(G ≥ g) = (1 − p)^g,
and the excess J of that cell over T has P(J ≥ j) = e^−j/b. Drawing G and J in turn gives the same
distribution as noise on every cell.
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
"""Largest (T − ½)/b: beyond it, a cell reaches the threshold less often than once in 1e130."""
_BATCH = 512  # words that are drawn at once; chosen by hand


@dataclass(frozen=True, slots=True)
class Count:
    """Distribution of min(G, cap), where P(G ≥ k) = q^k; G = ⌊scale · Z⌋ for an exponential Z.

    Attributes:
        scale: −1/ln q, in floating point.
        slack: bound on the relative error of ``scale``.
        cap: largest value.
        reaches: lower and upper bound on q^k · 2^bits; arguments are k and bits.

    Privacy: public.
    """

    scale: float
    slack: float
    cap: int
    reaches: Callable[[int, int], tuple[int, int]]


def excesses(scale: float, cap: int) -> Count:
    """Excess of rounded Laplace noise over a threshold that it reaches: q = e^−1/b.

    Args:
        scale: b, in integers.
        cap: values above it are clamped to it.

    Privacy: public.
    """
    width = Fraction(scale)

    def reaches(k: int, bits: int) -> tuple[int, int]:
        return LAPLACE.survival(k / width, bits, False), LAPLACE.survival(k / width, bits, True)

    return Count(scale, 0.0, cap, reaches)


def gaps(scale: float, threshold: int, cap: int) -> Count:
    """Number of draws of rounded Laplace noise below a threshold before the first that reaches it: q = 1 − p.

    Args:
        scale: b, in integers.
        threshold: T, at least 1.
        cap: values above it are clamped to it.

    Privacy: public.
    """
    return geometric_gaps(beyond(scale, threshold), cap)


def geometric_gaps(far: Fraction, cap: int) -> Count:
    """Number of independent cells before the first event of probability p = e^−far: q = 1 − p.

    Args:
        far: −ln p, above 0 and at most ``FARTHEST``.
        cap: values above it are clamped to it.

    Privacy: public.
    """
    if not 0 < far <= FARTHEST:
        raise SamplerError(f"a probability of e^-{float(far):.6g} cannot be drawn; choose one of e^-300 to 1")
    x = float(far)
    # ln(1 − e^−x) without loss of digits: Mächler 2012.
    loss = -(math.log(-math.expm1(-x)) if x < math.log(2) else math.log1p(-math.exp(-x)))
    count = Count(1 / loss, (1 + x) * 2.0**-50, cap, lambda k, bits: _misses(far, k, bits))
    if not _certified(count, far):
        raise SamplerError("this machine's floating-point functions are inaccurate; fit on another machine")
    return count


def threshold_passes(
    draw: Callable[[Count, tuple[int, int], int, int], Ints],
    distribution: Count,
    sequence: tuple[int, int],
    cells: int,
) -> tuple[Ints, int]:
    """Gaps that together cover a number of cells, and how many cells end a gap.

    Args:
        draw: ``sampler.count_draws`` with its key.
        distribution: distribution of a gap.
        sequence: which sequence of the key.
        cells: number of cells.

    Returns:
        The gaps, at least one more than cells that end one; and the number of these cells.

    Privacy: private.
    """
    expected = cells * -math.expm1(-1 / distribution.scale)
    batch = _BATCH * (1 + int((expected + 6 * math.sqrt(expected)) / _BATCH))
    drawn = np.empty(0, np.int64)
    while True:
        more = draw(distribution, sequence, drawn.size, batch)
        drawn = np.concatenate([drawn, np.maximum(more, ~more)])  # the sign has no meaning
        n_ends = int(np.searchsorted(np.cumsum(drawn + 1), cells, side="right"))
        if n_ends < drawn.size:
            return drawn, n_ends


def beyond(scale: float, threshold: int) -> Fraction:
    """−ln of the chance that noise has at least this absolute value; refused where it practically never has.

    Privacy: public.
    """
    far = (threshold - Fraction(1, 2)) / Fraction(scale)
    if not 0 < far <= FARTHEST:
        raise SamplerError(
            f"a threshold of {threshold} steps is out of reach for noise of {scale:.3g} steps; choose one of "
            f"at most {FARTHEST * scale:.3g} steps"
        )
    return far


def _misses(far: Fraction, times: int, bits: int) -> tuple[int, int]:
    """Bounds on (1 − e^−far)^times · 2^bits."""
    more = bits + 64 + times.bit_length()  # every factor adds one or two roundings
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
    """Whether 1/scale equals −ln(1 − e^−far) within the slack, by bracketing 1 − p with e^−y."""
    bits = 192 + 2 * math.ceil(far)
    least, most = ((1 + Fraction(sign * count.slack)) / Fraction(count.scale) for sign in (-1, 1))
    low, high = count.reaches(1, bits)
    return LAPLACE.survival(least, bits, False) >= high and LAPLACE.survival(most, bits, True) <= low
