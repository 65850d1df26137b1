"""The fast path names an integer only where exact arithmetic names the same one, whatever bits come next."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hushrec.arrays import Bools, Floats, Ints, Words
from hushrec.privacy.noise import exact, kernels, sampler
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE, Distribution
from hushrec.privacy.noise.kernels import WORDS, keystream

# Scales, in integers, and log2 of the cell.
CASES = [
    (0.1, 0),
    (0.7, 0),
    (3.0, 0),
    (1000.3, 0),
    (2.0**26 - 1, 0),
    (2.0**26, 1),
    (2.0**45 / 3, 18),
    (2.0**50, 25),
]


def fast(
    distribution: Distribution, scale: float, cell_bits: int, first: Words, second: Words, table: Floats
) -> tuple[Ints, Bools]:
    drawn, doubtful = np.empty(first.size, np.int64), np.empty(first.size, np.bool_)
    kernels.integers(
        drawn, doubtful, first, second, table, scale / 2**cell_bits, cell_bits, distribution.slope
    )
    return drawn, doubtful


def slow(
    distribution: Distribution, scale: float, cell_bits: int, first: int, second: int, continued: int
) -> int:
    def fraction(word: int) -> exact.Uniform:
        return exact.Uniform(itertools.chain([word], itertools.repeat(continued)))

    return exact.draw(distribution, scale, cell_bits, fraction(first), fraction(second))


def tail(distribution: Distribution, scale: float, k: int) -> Fraction:
    """P(|K| ≥ k)."""
    return Fraction(distribution.survival((k - Fraction(1, 2)) / Fraction(scale), 256, False), 2**256)


def near(word: int, bits: int) -> list[int]:
    """Words at all distances from a boundary, down to it and its neighbours."""
    distances = [0, 1, 2, *(2**j for j in range(3, 34, 3))]
    words = [word + sign * distance for distance in distances for sign in (-1, 1)]
    return sorted({min(max(word, 0), 2**bits - 1) for word in words})


def hard_words(distribution: Distribution, scale: float, cell_bits: int) -> tuple[Words, Words]:
    """Words round the boundaries of a few integers, at the centre, in the slopes and in the tail."""
    first, second = [], []
    middle = 3 * 2**61 + 12345
    for z in (0.0, 0.3, 1.1, 2.9, 5.2):
        cell = max(1, int(z * scale / 2**cell_bits))
        for word in near(int(2**63 * tail(distribution, scale, cell << cell_bits)), 63):
            first.append(word)
            second.append(middle)
        if cell_bits:
            start, size = cell << cell_bits, 1 << cell_bits
            inner, outer = tail(distribution, scale, start), tail(distribution, scale, start + size)
            for m in {0, 1, size // 3, size - 1}:
                share = (tail(distribution, scale, start + m) - outer) / (inner - outer)
                for word in near(int(2**64 * share), 64):
                    first.append(int(2**63 * (inner + outer) / 2))
                    second.append(word)
    signs = np.arange(len(first), dtype=np.uint64) % np.uint64(2) << np.uint64(63)
    return np.array(first, np.uint64) | signs, np.array(second, np.uint64)


def contradictions(distribution: Distribution, scale: float, cell_bits: int, table: Floats) -> int:
    """Hard words that the kernel decides otherwise than exact arithmetic, all the bits that follow 0 or 1."""
    first, second = hard_words(distribution, scale, cell_bits)
    drawn, doubtful = fast(distribution, scale, cell_bits, first, second, table)
    found = 0
    for i in np.flatnonzero(~doubtful):
        words = int(first[i]), int(second[i])
        found += any(
            slow(distribution, scale, cell_bits, *words, bits) != drawn[i] for bits in (0, 2**64 - 1)
        )
    return found


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize(("scale", "cell_bits"), CASES)
def test_hard_words_are_doubtful_or_right(distribution: Distribution, scale: float, cell_bits: int) -> None:
    assert contradictions(distribution, scale, cell_bits, sampler.quantiles(distribution)) == 0


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize(("scale", "cell_bits"), [(3.0, 0), (1000.3, 0), (2.0**26, 1)])
@pytest.mark.parametrize("fault", ["no margin", "next row", "off by a little"])
@pytest.mark.full
def test_planted_faults_are_caught(
    distribution: Distribution, scale: float, cell_bits: int, fault: str
) -> None:
    table = sampler.quantiles(distribution).copy()
    if fault == "no margin":
        table[1:-1, 7] = 0
        table[1:-1, 0] *= 1 + 2.0**-50
    elif fault == "next row":
        table[1:-2] = table[2:-1]
    else:
        table[1:-1, 0] += 1e-11
    assert contradictions(distribution, scale, cell_bits, table) > 0


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize(("scale", "cell_bits"), CASES)
def test_random_words_are_right_and_rarely_doubtful(
    distribution: Distribution, scale: float, cell_bits: int
) -> None:
    first, second = np.random.default_rng(1).integers(0, 2**64, (2, 100_000), dtype=np.uint64)
    drawn, doubtful = fast(distribution, scale, cell_bits, first, second, sampler.quantiles(distribution))
    # At most about 2^-20 of the words are: more than 4 of 1e5 is a chance below 1e-8.
    assert doubtful.sum() <= 4
    for i in range(20):
        assert (
            doubtful[i] or slow(distribution, scale, cell_bits, int(first[i]), int(second[i]), 0) == drawn[i]
        )


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
def test_extreme_words_are_doubtful(distribution: Distribution) -> None:
    tails = [0, 1, 2**40 - 1]
    words = np.array([sign + word for sign in (0, 2**63) for word in (*tails, 2**63 - 1)], np.uint64)
    assert fast(distribution, 3.0, 0, words, words, sampler.quantiles(distribution))[1].all()


def test_the_cell_at_zero_is_doubtful() -> None:
    # The Laplace density has its kink there, and the cell is half an integer narrower than others.
    first = np.full(64, 2**63 - 2**20, np.uint64)
    second = np.random.default_rng(2).integers(0, 2**64, 64, dtype=np.uint64)
    for distribution in (GAUSSIAN, LAPLACE):
        assert fast(distribution, 2.0**45, 19, first, second, sampler.quantiles(distribution))[1].all()


@pytest.mark.parametrize("size", [1, WORDS - 1, WORDS, WORDS + 1, 5 * WORDS + 3])
@pytest.mark.parametrize("cell_bits", [0, 19])
def test_added_draws_are_those_of_the_keystream(size: int, cell_bits: int) -> None:
    key = np.arange(8, dtype=np.uint32)
    batch = 2**26 - 2  # its third block counter is 2^32: the upper half goes to the nonce
    table, scale = sampler.quantiles(GAUSSIAN), 2.0**45 / 2**cell_bits if cell_bits else 5.0
    values = np.arange(size, dtype=np.int64) * 10**15
    doubtful = np.ones(size, np.bool_)
    kernels.add(values, doubtful, key, batch, table, scale, cell_bits, GAUSSIAN.slope)

    words = np.empty((2, 6, WORDS), np.uint64)
    for stream, i in np.ndindex(2, 6):
        low, high = (64 * (batch + i)) % 2**32, (64 * (batch + i)) >> 32
        keystream(words[stream, i], key, low, (stream, high, 0))
    first, second = words.reshape(2, -1)[:, :size]
    drawn, expected = fast(GAUSSIAN, scale * 2**cell_bits, cell_bits, first.copy(), second.copy(), table)
    np.testing.assert_array_equal(doubtful, expected)
    np.testing.assert_array_equal(values, np.arange(size) * 10**15 + np.where(expected, 0, drawn))
