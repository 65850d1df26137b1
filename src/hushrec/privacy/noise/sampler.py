"""Exact noise: integers round(X) with X Gaussian or Laplace, drawn without approximation.

Every draw is the quantile transform of an infinite binary fraction. The first bit is the sign. The rest is
a uniform U, and |K| is the k with P(|X| > k + ½) ≤ U < P(|X| > k − ½). One 64-bit word decides k unless its
bits leave two integers possible. Then further words are read, and tail probabilities computed in exact
arithmetic, until one integer is left. So P(K = k) = F(k + ½) − F(k − ½) for every k, however far in the tail.
Given uniform words the total variation distance is 0, because nothing is truncated. Scales of 2²⁶ and above
draw first a cell of 2ˢ integers and then the place in it, each from its own fraction.

The words come from ChaCha20 (RFC 8439), at positions that depend only on the draw's number: for first words
nonce (0 or 1, h, 0) and the block counter, with h the counter's upper half; for further words nonce (2 or 3,
draw number). So draws are the same on any machine and with any number of threads, and the first n of N draws
equal n draws.

The quantile function z(u), with P(|Z| > z(u)) = u, is a table of short polynomials. Its derivatives have
alternating signs and shrink as u grows: for a density d with −(ln d)' = a + b z,

    z⁽ⁿ⁾ = (−1)ⁿ Pₙ₋₁(z) / d(z)ⁿ,   P₀ = 1,   Pₙ = Pₙ₋₁' + n (a + b z) Pₙ₋₁.

So Taylor's remainder is largest at a piece's lower edge: the bounds are derived, not sampled. The table
depends only on the distribution and serves every scale.
"""

import hashlib
import itertools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial

from hushrec.arrays import Floats, Ints, Words, Words32
from hushrec.errors import SamplerError
from hushrec.privacy.accounting.measurement import COARSEST, FINEST
from hushrec.privacy.noise import exact, kernels
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE, Distribution
from hushrec.privacy.noise.exact import Uniform
from hushrec.privacy.noise.kernels import FIRST_OCTAVE, LAST_OCTAVE, PIECES_LOG2

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


_ONE_WORD = 26  # log2: scales below 2^26 need one word per draw
_TESTED = 2**15  # draws of a key that are compared with exact ones; chosen by hand
_MISFIT = 60.0  # χ² with 10 degrees of freedom exceeds it for one key in 3e8
_ANSWERS = (
    (GAUSSIAN, 0.75, "243ea6b3ef0c149f7ef764df899c95e4bc0b98d41efdce5d93f8f971f5247d2b"),
    (GAUSSIAN, 1000.0, "b8c5e5aff7b42b4c2da7fea7d1705d31316f76558bc28399280db2856681faa8"),
    (GAUSSIAN, 2.0**45 / 3, "2e96ba33fc5bbe4ed0c15b40aacd6707ed6ccc972ee709b1d57101d15713dd4f"),
    (LAPLACE, 3.0, "9dd948c8a1b0c776b1a61c87a2002a240965947f01cef54e857566fb82c49047"),
    (LAPLACE, 2.0**30 / 3, "061147c4e7527835ce1df01b1ce9b9b10d16e84b246bff01deb0edece9db82f6"),
)
_SLAB = kernels.WORDS * 2048  # cells that a thread draws at a time; chosen by hand


def rounded(distribution: Distribution, size: int, scale: float, key: bytes, *, threads: int = 2) -> Ints:
    """Independent draws of round(X), with X = scale · Z.

    P(K = k) = F((k + ½)/scale) − F((k − ½)/scale), with F the distribution function of Z.

    Args:
        distribution: ``distributions.GAUSSIAN``, of scale σ, or ``LAPLACE``, of density e^(−|x|/b) / 2b and
            scale b.
        scale: in integers (steps of the grid), from 0.1 to 2⁵⁰.
        key: 32 bytes that were never used before.
        threads: number of threads; the draws do not depend on it.

    Returns:
        Shape (size,).

    Privacy: private until added to something and released.
    """
    values = np.zeros(size, np.int64)
    add(distribution, values, scale, key, threads=threads)
    return values


def add(distribution: Distribution, values: Ints, scale: float, key: bytes, *, threads: int = 2) -> None:
    """Add ``rounded`` to an array in place. Needs one more megabyte per thread.

    Args:
        values: contiguous, any shape.
        distribution, scale, key, threads: as for ``rounded``.

    Privacy: charged by the caller; if it raises, only part of the array has noise: never release it.
    """
    if not FINEST <= scale <= COARSEST:
        raise SamplerError(f"noise of {scale:.3g} grid steps cannot be drawn; choose a grid with 0.1 to 2^50")
    if len(key) != 32:
        raise SamplerError("a key must have 32 bytes; take it from entropy.OperatingSystem().key()")
    if values.dtype != np.int64 or not values.flags.carray:
        raise SamplerError(
            "noise needs a contiguous, writable array of int64; pass np.ascontiguousarray(values)"
        )
    flat, key_words = values.reshape(-1), _key_words(key)
    table, cell_bits = quantiles(distribution), _cell_bits(scale)

    def slab(start: int) -> None:
        # A draw's words are found by its number alone, so slabs and threads change no draw.
        part = flat[start : start + _SLAB]
        doubtful = np.empty(part.size, np.bool_)
        cells = math.ldexp(scale, -cell_bits)
        kernels.add(
            part, doubtful, key_words, start // kernels.WORDS, table, cells, cell_bits, distribution.slope
        )
        for i in np.flatnonzero(doubtful).tolist():
            part[i] += exact_draw(distribution, scale, key, start + i)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(slab, range(0, flat.size, _SLAB)))


def exact_draw(distribution: Distribution, scale: float, key: bytes, number: int) -> int:
    """One draw of the key's sequence in exact arithmetic only: the reference for the fast draws.

    Args:
        distribution: ``distributions.GAUSSIAN`` or ``distributions.LAPLACE``.
        scale: in integers.
        key: 32 bytes.
        number: which draw, from 0.

    Privacy: private until added to something and released.
    """
    batch, place = divmod(number, kernels.WORDS)
    low, high = number & 0xFFFFFFFF, number >> 32
    block = batch * kernels.BLOCKS

    def fraction(stream: int) -> Uniform:
        word = _keystream(key, block & 0xFFFFFFFF, (stream, block >> 32, 0))[place]
        return Uniform(itertools.chain([int(word)], _words(key, (kernels.STREAMS + stream, low, high))))

    return exact.draw(distribution, scale, _cell_bits(scale), fraction(0), fraction(1))


def permutation(size: int, key: bytes) -> Ints:
    """A random order of 0 … size − 1: the order of as many random 64-bit words.

    It is uniform unless two words are equal. That has probability below size² / 2⁶⁵ (three in a hundred
    million for a size of a million) and leaves these two in ascending order.

    Args:
        size: at most 2³².
        key: 32 bytes that were never used before.

    Returns:
        Shape (size,).

    Privacy: private; it links each position to its user.
    """
    if len(key) != 32:
        raise SamplerError("a key must have 32 bytes; take it from entropy.OperatingSystem().key()")
    calls = [_keystream(key, n * kernels.BLOCKS, (0, 0, 0)) for n in range(-(-size // kernels.WORDS))]
    return np.argsort(np.concatenate([np.empty(0, np.uint64), *calls])[:size], kind="stable")


def self_test() -> None:
    """Test draws from a fixed key: known answers, agreement with exact arithmetic, and goodness of fit.

    The key is fixed, so this never fails by chance. The fit is Pearson's χ² of the absolute values of 2¹⁵
    draws.

    Privacy: public.
    """
    key = bytes(range(32))
    for distribution, scale, answer in _ANSWERS:
        draws = np.zeros(_TESTED, np.int64)
        add(distribution, draws, scale, key, threads=1)
        if hashlib.sha256(draws.astype("<i8").tobytes()).hexdigest() != answer:
            raise SamplerError(
                f"draws of scale {scale:.6g} are not the known ones; release nothing from this machine"
            )
        if any(draws[i] != exact_draw(distribution, scale, key, i) for i in range(0, _TESTED, _TESTED // 4)):
            raise SamplerError(
                f"draws of scale {scale:.6g} are not the exact ones; release nothing from this machine"
            )
    if _misfit(rounded(GAUSSIAN, _TESTED, 3.0, key, threads=1), 3.0) > _MISFIT:
        raise SamplerError("draws do not fit their law; release nothing from this machine")


def _misfit(draws: Ints, sigma: float) -> float:
    """Pearson's χ² over the bins |K| = 0 … 9 and above."""
    edges = [Fraction(2 * k + 1, 2) / Fraction(sigma) for k in range(10)]
    tails = [1.0] + [GAUSSIAN.survival(x, 64, False) / 2**64 for x in edges] + [0.0]
    expected = -draws.size * np.diff(tails)
    observed = np.bincount(np.minimum(np.abs(draws), 10), minlength=11)
    return float(np.sum((observed - expected) ** 2 / expected))


def _words(key: bytes, nonce: tuple[int, int, int]) -> Iterator[int]:
    for counter in itertools.count(0, kernels.BLOCKS):
        yield from _keystream(key, counter, nonce).tolist()


def _keystream(key: bytes, counter: int, nonce: tuple[int, int, int]) -> Words:
    words = np.empty(kernels.WORDS, np.uint64)
    kernels.keystream(words, _key_words(key), counter, nonce)
    return words


def _key_words(key: bytes) -> Words32:
    return np.frombuffer(key, "<u4").astype(np.uint32)


def _cell_bits(scale: float) -> int:
    return max(0, math.frexp(scale)[1] - _ONE_WORD)
