"""ChaCha20 (RFC 8439, §2.3), 64 blocks at a time: the uniform words from which exact noise is made.

Every step of the cipher is one loop over the 64 blocks, which the compiler turns into vector instructions.
So the output of ``keystream`` is ordered word by word, not block by block: ``words.reshape(8, 64)[r, b]`` is
the r-th 64-bit word, little-endian, of block ``counter + b``.
"""

import numpy as np

from hushrec.arrays import Words, Words32
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


@compiled(nogil=True)
def first_words(words: Words32, key: Words32, nonces: Words32) -> None:
    """Write the first word of the first block (number 0) under each of many nonces.

    Args:
        words: receives the words, shape (n,).
        key: the key's little-endian words, shape (8,).
        nonces: the little-endian words of each nonce, shape (n, 3).

    Privacy: private.
    """
    x = np.zeros((16, BLOCKS), np.uint32)
    for start in range(0, len(words), BLOCKS):
        for i in range(BLOCKS):
            for r in range(4):
                x[r, i] = _CONSTANTS[r]
            for r in range(8):
                x[4 + r, i] = key[r]
            x[12, i] = 0
        n = min(BLOCKS, len(words) - start)
        for i in range(n):
            for r in range(3):
                x[13 + r, i] = nonces[start + i, r]
        _twenty_rounds(x)
        for i in range(n):
            words[start + i] = np.uint32(x[0, i] + _CONSTANTS[0])
