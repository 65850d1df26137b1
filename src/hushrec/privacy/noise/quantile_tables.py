"""The quantile function of a law as a table of short polynomials, each with a proven bound on its error.

z(u), with P(|Z| > z(u)) = u, has derivatives of alternating sign that shrink as u grows: for a density d with
−(ln d)' = a + b z,

    z⁽ⁿ⁾ = (−1)ⁿ Pₙ₋₁(z) / d(z)ⁿ,   P₀ = 1,   Pₙ = Pₙ₋₁' + n (a + b z) Pₙ₋₁.

So Taylor's remainder is at its largest at a piece's lower edge: the bounds are derived, not sampled. The
table depends on the law alone; one serves every scale.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial

from hushrec.arrays import Floats
from hushrec.errors import SamplerError
from hushrec.kernels.noise.quantiles import FIRST_OCTAVE, LAST_OCTAVE, PIECES_LOG2
from hushrec.privacy.noise.distributions import Law

_DEGREE = 6
_BITS = 128


@lru_cache(maxsize=8)
def quantiles(law: Law) -> Floats:
    """Taylor pieces of z(u) for u = word / 2⁶³.

    The piece of words 2^e (1 + i/64) to 2^e (1 + (i+1)/64) is expanded at its middle, in units of 2^(e − 52).
    The first and last rows stand for words that have no piece (the far tail, and 2⁶³ by rounding): unbounded
    error, so always doubtful.

    Returns:
        Shape (rows, 8): coefficients of degree 0 … 6, and a bound on |computed − true z| that covers Taylor's
        remainder, floating point, and the word's bits that are dropped or still unread.

    Raises:
        SamplerError: The machine's arithmetic is off.

    Privacy: public.
    """
    pieces = 1 << PIECES_LOG2
    octave = np.repeat(np.arange(FIRST_OCTAVE, LAST_OCTAVE + 1), pieces)
    piece = np.tile(np.arange(pieces), LAST_OCTAVE + 1 - FIRST_OCTAVE)
    lower = np.ldexp(1 + piece / pieces, octave - 63)
    half_width = np.ldexp(0.5 / pieces, octave - 63)
    middle = lower + half_width
    z = np.array([law.quantile(u) for u in middle.tolist()])
    # One Newton step makes the guess right to the last bit.
    excess = np.array([_excess(law, *pair) for pair in zip(z.tolist(), middle.tolist(), strict=True)])
    z += excess / law.density(z)
    steepest = np.array([law.quantile(u) for u in lower.tolist()])

    table = np.full((2 + z.size, _DEGREE + 2), np.inf)
    table[[0, -1], :-1] = 0.0
    table[1:-1, 0] = z
    unit = np.ldexp(1.0, octave - 52 - 63)
    p = Polynomial([1.0])
    for n in range(1, _DEGREE + 1):
        table[1:-1, n] = p(z) * (-unit / law.density(z)) ** n / math.factorial(n)
        p = p.deriv() + n * Polynomial(law.slope) * p
    n = _DEGREE + 1
    remainder = p(steepest) * (half_width / law.density(steepest)) ** n / math.factorial(n)
    # |dz/du| at the middle; 10 and 100 % more than it are above what it grows to within the piece.
    slope = 1 / law.density(z)
    rounding = 2.0**-50 * z + 2.0**-46 * slope * half_width
    unread = 2 * slope * (unit + 2.0**-63)
    table[1:-1, -1] = 1.1 * remainder + rounding + unread
    table.flags.writeable = False
    return table


def _excess(law: Law, z: float, u: float) -> float:
    """P(|Z| > z) − u, the first of them computed exactly."""
    x = Fraction(z)
    low, high = law.survival(x, _BITS, False), law.survival(x, _BITS, True)
    excess = float(Fraction(low + high, 2 << _BITS) - Fraction(u))
    if high - low > 2**20 or abs(excess) > 2.0**-40 * u:
        raise SamplerError("this machine's floating-point functions are off; hushrec cannot draw noise on it")
    return excess
