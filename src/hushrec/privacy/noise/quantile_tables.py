"""The quantile function of a distribution as a table of short polynomials with proven error bounds.

z(u), with P(|Z| > z(u)) = u, has derivatives of alternating sign that shrink as u grows: for a density d with
−(ln d)' = a + b z,

    z⁽ⁿ⁾ = (−1)ⁿ Pₙ₋₁(z) / d(z)ⁿ,   P₀ = 1,   Pₙ = Pₙ₋₁' + n (a + b z) Pₙ₋₁.

So Taylor's remainder is largest at a piece's lower edge: the bounds are derived, not sampled. The table
depends only on the distribution and serves every scale.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial

from hushrec.arrays import Floats
from hushrec.errors import SamplerError
from hushrec.kernels.noise.quantiles import FIRST_OCTAVE, LAST_OCTAVE, PIECES_LOG2
from hushrec.privacy.noise.distributions import Distribution

_DEGREE = 6  # of the polynomial of each piece
_BITS = 128  # of the survival function's bounds


@lru_cache(maxsize=8)
def quantiles(distribution: Distribution) -> Floats:
    """Taylor pieces of z(u) for u = word / 2⁶³.

    The piece of words 2^e (1 + i/64) to 2^e (1 + (i+1)/64) is expanded at its middle, in units of 2^(e − 52).
    The first and last rows stand for words without a piece (the far tail, and 2⁶³ by rounding). Their error
    bound is infinite, so they always go to exact arithmetic.

    Returns:
        Shape (rows, 8): coefficients of degree 0 … 6, and a bound on |computed − true z| that covers Taylor's
        remainder, floating-point error, and dropped or unread bits of the word.

    Privacy: public.
    """
    pieces = 1 << PIECES_LOG2
    octave = np.repeat(np.arange(FIRST_OCTAVE, LAST_OCTAVE + 1), pieces)
    piece = np.tile(np.arange(pieces), LAST_OCTAVE + 1 - FIRST_OCTAVE)
    lower = np.ldexp(1 + piece / pieces, octave - 63)
    half_width = np.ldexp(0.5 / pieces, octave - 63)
    middle = lower + half_width
    z = np.array([distribution.quantile(u) for u in middle.tolist()])
    # One Newton step makes the guess accurate to the last bit.
    excess = np.array(
        [_excess(distribution, *pair) for pair in zip(z.tolist(), middle.tolist(), strict=True)]
    )
    z += excess / distribution.density(z)
    steepest = np.array([distribution.quantile(u) for u in lower.tolist()])

    table = np.full((2 + z.size, _DEGREE + 2), np.inf)
    table[[0, -1], :-1] = 0.0
    table[1:-1, 0] = z
    unit = np.ldexp(1.0, octave - 52 - 63)
    p = Polynomial([1.0])
    for n in range(1, _DEGREE + 1):
        table[1:-1, n] = p(z) * (-unit / distribution.density(z)) ** n / math.factorial(n)
        p = p.deriv() + n * Polynomial(distribution.slope) * p
    n = _DEGREE + 1
    remainder = p(steepest) * (half_width / distribution.density(steepest)) ** n / math.factorial(n)
    # |dz/du| at the middle; within the piece it grows by less than the margins of 10 and 100 % below.
    slope = 1 / distribution.density(z)
    rounding = 2.0**-50 * z + 2.0**-46 * slope * half_width
    unread = 2 * slope * (unit + 2.0**-63)
    table[1:-1, -1] = 1.1 * remainder + rounding + unread
    table.flags.writeable = False
    return table


def _excess(distribution: Distribution, z: float, u: float) -> float:
    """P(|Z| > z) − u, with the probability computed exactly."""
    x = Fraction(z)
    low, high = distribution.survival(x, _BITS, False), distribution.survival(x, _BITS, True)
    excess = float(Fraction(low + high, 2 << _BITS) - Fraction(u))
    if high - low > 2**20 or abs(excess) > 2.0**-40 * u:
        raise SamplerError("this machine's floating-point functions are inaccurate; fit on another machine")
    return excess
