"""Compiled loops of exact noise: the words of ChaCha20, and integers made from them.

ChaCha20 (RFC 8439, §2.3) comes 64 blocks at a time. Every step of the cipher is one loop over the 64 blocks,
which the compiler turns into vector instructions. So the output of ``keystream`` is ordered word by word, not
block by block: ``words.reshape(8, 64)[r, b]`` is the r-th 64-bit word, little-endian, of block ``counter +
b``.

Integers of a symmetric distribution follow from these words through a table of its quantile function. A
word's top bit is the sign; the other 63 bits begin a uniform U in [0, 1), and the magnitude is the z with
P(|Z| > z) = U. If floating point cannot determine the integer with certainty, because z lies within the error
bound of a boundary, the draw is marked doubtful and left to exact arithmetic. So the integers are a function
of the words alone: rounding, instruction sets and the number of threads cannot change them.
"""

import numpy as np

from hushrec.arrays import Bools, Floats, Ints, Words, Words32
from hushrec.kernels.compiled import compiled

BLOCKS = 64
"""Blocks per call. Chosen by hand; the draws of a key depend on it."""
WORDS = 8 * BLOCKS
"""64-bit words per call."""

_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4").astype(np.uint32)
_HIGH_HALF = np.uint64(32)


@compiled(nogil=True)
def _rotate(x: np.uint32, n: int) -> np.uint32:
    # numba widens sums, shifts and ^ of 32-bit words to 64 bits; without these casts it all runs 5 × slower.
    return np.uint32(x << np.uint32(n)) | np.uint32(x >> np.uint32(32 - n))


@compiled(nogil=True)
def _quarter_round(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    # RFC 8439, §2.1.
    a = np.uint32(a + b)
    d = _rotate(np.uint32(d ^ a), 16)
    c = np.uint32(c + d)
    b = _rotate(np.uint32(b ^ c), 12)
    a = np.uint32(a + b)
    d = _rotate(np.uint32(d ^ a), 8)
    c = np.uint32(c + d)
    b = _rotate(np.uint32(b ^ c), 7)
    return a, b, c, d


# A call here would take a fifth of the speed.
@compiled(nogil=True, inline="always")
def _twenty_rounds(x: Words32) -> None:
    """Run the rounds of the cipher on 64 states at once, shape (16, 64)."""
    for _ in range(10):
        for i in range(BLOCKS):
            x0, x1, x2, x3 = x[0, i], x[1, i], x[2, i], x[3, i]
            x4, x5, x6, x7 = x[4, i], x[5, i], x[6, i], x[7, i]
            x8, x9, xa, xb = x[8, i], x[9, i], x[10, i], x[11, i]
            xc, xd, xe, xf = x[12, i], x[13, i], x[14, i], x[15, i]
            x0, x4, x8, xc = _quarter_round(x0, x4, x8, xc)
            x1, x5, x9, xd = _quarter_round(x1, x5, x9, xd)
            x2, x6, xa, xe = _quarter_round(x2, x6, xa, xe)
            x3, x7, xb, xf = _quarter_round(x3, x7, xb, xf)
            x0, x5, xa, xf = _quarter_round(x0, x5, xa, xf)
            x1, x6, xb, xc = _quarter_round(x1, x6, xb, xc)
            x2, x7, x8, xd = _quarter_round(x2, x7, x8, xd)
            x3, x4, x9, xe = _quarter_round(x3, x4, x9, xe)
            x[0, i], x[1, i], x[2, i], x[3, i] = x0, x1, x2, x3
            x[4, i], x[5, i], x[6, i], x[7, i] = x4, x5, x6, x7
            x[8, i], x[9, i], x[10, i], x[11, i] = x8, x9, xa, xb
            x[12, i], x[13, i], x[14, i], x[15, i] = xc, xd, xe, xf


@compiled(nogil=True)
def keystream(words: Words, key: Words32, counter: int, nonce: tuple[int, int, int]) -> None:
    """Write the keystream of 64 consecutive blocks.

    RFC 8439, §2.3: state = constants ‖ key ‖ counter ‖ nonce; block = state + 20 rounds(state).

    Args:
        words: receives the words, shape (512,), in the order described in this module's docstring.
        key: the key's little-endian words, shape (8,).
        counter: number of the first block, at most 2³² − 64.
        nonce: the nonce's little-endian words.

    Privacy: private; anyone who knows the words knows the noise.
    """
    start = np.empty(16, np.uint32)
    for r in range(4):
        start[r] = _CONSTANTS[r]
    for r in range(8):
        start[4 + r] = key[r]
    start[12] = counter
    start[13], start[14], start[15] = nonce

    x = np.empty((16, BLOCKS), np.uint32)
    for r in range(16):
        for i in range(BLOCKS):
            x[r, i] = start[r]
    for i in range(BLOCKS):
        x[12, i] += np.uint32(i)
    _twenty_rounds(x)
    for i in range(BLOCKS):
        x[12, i] += np.uint32(i)
    for r in range(8):
        for i in range(BLOCKS):
            low = np.uint64(np.uint32(x[2 * r, i] + start[2 * r]))
            high = np.uint64(np.uint32(x[2 * r + 1, i] + start[2 * r + 1]))
            words[r * BLOCKS + i] = low | high << _HIGH_HALF


PIECES_LOG2 = 6
"""The table has 2^PIECES_LOG2 pieces in each octave [2^e, 2^(e+1)) of the 63-bit word. Chosen by hand."""
FIRST_OCTAVE, LAST_OCTAVE = 40, 62
"""Words below 2^FIRST_OCTAVE are always doubtful: 1 draw in 2^23. Chosen by hand."""
STREAMS = 2
"""Nonces begin with 0 or 1 for first and second words in ``add``; others are free."""

_POSITION_BITS = 52 - PIECES_LOG2  # of a float64's mantissa, below the bits that number the piece
_POSITION, _MIDDLE = 2**_POSITION_BITS - 1, 2 ** (_POSITION_BITS - 1)  # mask, and half of its range
_ROW_BEFORE_FIRST = ((1023 + FIRST_OCTAVE) << PIECES_LOG2) - 1
_MAGNITUDE = 2**63 - 1  # mask without the sign


# Fused multiply-add is allowed: the error bound holds with and without it.
@compiled(nogil=True, fastmath={"contract"})
def integers(
    drawn: Ints,
    doubtful: Bools,
    first: Words,
    second: Words,
    table: Floats,
    scale: float,
    cell_bits: int,
    slope: tuple[float, float],
) -> None:
    """Turn words into integers with the distribution of round(2^cell_bits · scale · Z).

    The first word chooses the cell of 2^cell_bits integers, ⌊scale · z + ½ / 2^cell_bits⌋. The second, 1 − V,
    chooses the place t in it, with P(t' < t | cell) = V. Over the cell, h = 1 / scale wide, ln density falls
    by g = h (a + b z), so that t = V − g V (1 − V) / 2, to within 2 ((g + h²)² + h²): bound e^−w by
    1 − w ± w²/2 in both integrals of P.

    Args:
        drawn: receives the integers that are not doubtful; shape (n,).
        doubtful: receives which draws need exact arithmetic; shape (n,).
        first: words that choose the cell, shape (n,).
        second: words that choose the place within the cell, shape (n,); not read if ``cell_bits`` is 0.
        table: pieces of z as a function of U, shape (rows, 8): Taylor coefficients of degree 0 … 6 in units
            of 2^-52 octaves about each piece's middle, and the error bound.
        scale: in cells; at least 2^25 if ``cell_bits`` is positive.
        cell_bits: log2 of the number of integers in a cell.
        slope: a and b of −(ln density)' = a + b z.

    Privacy: private; the integers are noise.
    """
    signed = first.view(np.int64)
    uniform = np.empty(first.size, np.float64)
    for i in range(first.size):
        uniform[i] = np.float64(signed[i] & _MAGNITUDE)
    bits = uniform.view(np.int64)
    cell_size = 2.0**cell_bits
    for i in range(first.size):
        piece = table[max((bits[i] >> _POSITION_BITS) - _ROW_BEFORE_FIRST, 0)]
        t = np.float64((bits[i] & _POSITION) - _MIDDLE)
        z = piece[6]
        z = z * t + piece[5]
        z = z * t + piece[4]
        z = z * t + piece[3]
        z = z * t + piece[2]
        z = z * t + piece[1]
        z = z * t + piece[0]
        x = scale * z + 0.5 / cell_size
        cell = np.floor(x)
        margin = scale * piece[7]
        doubtful[i] = (x - cell < margin) | (x - cell > 1.0 - margin)
        drawn[i] = np.int64(cell)
    if cell_bits > 0:
        h = 1.0 / scale
        for i in range(first.size):
            v = 1.0 - np.float64(second[i] >> np.uint64(11)) * 2.0**-53
            g = h * (slope[0] + slope[1] * h * np.float64(drawn[i]))
            x = (v - 0.5 * g * v * (1.0 - v)) * cell_size
            place = np.floor(x)
            margin = (2.0 * ((g + h * h) ** 2 + h * h) + 2.0**-50) * cell_size
            # The innermost cell contains the kink at zero, and half an integer less than the others.
            doubtful[i] |= (x - place < margin) | (x - place > 1.0 - margin) | (drawn[i] == 0)
            drawn[i] = (drawn[i] << cell_bits) + np.int64(place)
    for i in range(first.size):
        sign = signed[i] >> 63
        drawn[i] = 0 if doubtful[i] else (drawn[i] ^ sign) - sign


@compiled(nogil=True)
def add(
    values: Ints,
    doubtful: Bools,
    key: Words32,
    batch: int,
    table: Floats,
    scale: float,
    cell_bits: int,
    slope: tuple[float, float],
) -> None:
    """Add draws 512 · batch, 512 · batch + 1, … of the key's sequence, except the doubtful ones.

    Args:
        values: the draws are added to them in place; shape (n,).
        doubtful: receives which draws were not added, shape (n,).
        key: ChaCha20's key, shape (8,).
        batch: number of the first call of the keystream.
        table, scale, cell_bits, slope: as for ``integers``.

    Privacy: charged; this is where noise meets the private sum.
    """
    words = np.empty((STREAMS, WORDS), np.uint64)
    drawn, doubt = np.empty(WORDS, np.int64), np.empty(WORDS, np.bool_)
    for start in range(0, values.size, WORDS):
        block = (batch + start // WORDS) * BLOCKS
        counter, high = block & 0xFFFFFFFF, block >> 32
        for stream in range(STREAMS if cell_bits > 0 else 1):
            keystream(words[stream], key, counter, (stream, high, 0))
        integers(drawn, doubt, words[0], words[1], table, scale, cell_bits, slope)
        for i in range(min(WORDS, values.size - start)):
            doubtful[start + i] = doubt[i]
            values[start + i] += drawn[i]
