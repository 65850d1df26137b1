"""The definition of a draw, with words so short that the rare path is the common one."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushrec.arrays import Ints
from hushrec.privacy.noise import exact
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE, Distribution
from hushrec.privacy.noise.exact import Uniform, draw

WIDTH = 6
SCALE = 3.25


def _pareto(x: Fraction, bits: int, above: bool) -> int:
    top, bottom = (1 << bits) * x.denominator**2, (x.numerator + x.denominator) ** 2
    return -(-top // bottom) if above else top // bottom


PARETO = Distribution(2.0, (0.0, 0.0), _pareto, lambda u: u**-0.5 - 1)
"""P(|Z| > x) = 1 / (1 + x)²: rational, so that the reference below has no rounding at all."""


def reaches(k: int) -> Fraction:
    """P(|K| ≥ k) for the Pareto law at SCALE."""
    return 1 / (1 + max(Fraction(0), k - Fraction(1, 2)) / Fraction(SCALE)) ** 2


def largest(chances: Iterator[Fraction], u: Fraction) -> int:
    """How many of a falling sequence of chances are above u."""
    return sum(1 for _ in itertools.takewhile(lambda chance: chance > u, chances))


def reference(value: int, bits: int) -> int | None:
    """|K| for U in [value, value + 1) / 2^bits, or None if it takes more bits to tell."""
    if value == 0:
        return None
    smallest, largest_u = Fraction(value, 2**bits), Fraction(value + 1, 2**bits)
    k = largest((reaches(k) for k in itertools.count(1)), smallest)
    return k if reaches(k) >= largest_u else None


def outcome(
    distribution: Distribution, words: list[int], cell_bits: int = 0, second: list[int] | None = None
) -> int | None:
    try:
        return draw(
            distribution, SCALE, cell_bits, Uniform(iter(words), WIDTH), Uniform(iter(second or []), WIDTH)
        )
    except StopIteration:
        return None


def disagreements(distribution: Distribution) -> int:
    """Over all fractions of one and of two 6-bit words."""
    found = 0
    for count in (1, 2):
        bits = WIDTH * count - 1
        for words in itertools.product(range(2**WIDTH), repeat=count):
            value = sum(word << WIDTH * (count - 1 - i) for i, word in enumerate(words))
            negative, value = divmod(value, 2**bits)
            expected = reference(value, bits)
            found += outcome(distribution, list(words)) != (-expected if negative and expected else expected)
    return found


def test_short_words_agree_with_the_rational_reference() -> None:
    assert disagreements(PARETO) == 0
    undecided = sum(reference(value, 5) is None for value in range(32))
    assert 3 <= undecided <= 16  # the refinement is well exercised


@pytest.mark.parametrize("shift", [Fraction(1, 2**9), -Fraction(1, 2**9)])
def test_a_table_off_by_one_is_caught(shift: Fraction) -> None:
    def off(x: Fraction, bits: int, above: bool) -> int:
        return _pareto(x, bits, above) + int(shift * 2**bits) * (1 < x < 4)

    assert disagreements(replace(PARETO, survival=off)) > 0


def test_places_in_a_cell_agree_with_the_rational_reference() -> None:
    cell_bits = 3
    first = [5, 33, 7]  # positive, and decided
    cell = outcome(PARETO, first, 0)
    assert cell is not None
    start = cell // 8 * 8
    inner, outer = reaches(start), reaches(start + 8)
    chances = [(reaches(start + m) - outer) / (inner - outer) for m in range(1, 8)]
    for count in (1, 2):
        bits = WIDTH * count
        for value in range(2**bits):
            m = largest(iter(chances), Fraction(value, 2**bits))
            decided = m == largest(iter(chances), Fraction(value + 1, 2**bits) - Fraction(1, 2**200))
            edge = value in (0, 2**bits - 1)  # chances of 0 and 1 are only known to within their bounds
            words = [value >> 6 & 63, value & 63][2 - count :]
            found = outcome(PARETO, first, cell_bits, words)
            assert found == (start + m if decided else None) or (edge and found is None)


def bits_of(seed: int) -> Uniform:
    generator = random.Random(seed)
    return Uniform(iter(lambda: generator.getrandbits(WIDTH), None), WIDTH)


def misfit(distribution: Distribution, draws: Ints, claimed: float) -> float:
    """p-value of Pearson's χ² against the law at the claimed scale."""
    continuous = (stats.norm if distribution is GAUSSIAN else stats.laplace)(scale=claimed)
    edges = np.unique(np.floor(continuous.ppf(np.linspace(0, 1, 25)[1:-1]))) + 0.5
    chances = np.diff(continuous.cdf(edges), prepend=0, append=1)
    counts = np.bincount(np.searchsorted(edges, draws), minlength=chances.size)
    return float(stats.chisquare(counts, chances * draws.size).pvalue)


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize(("scale", "cell_bits"), [(0.9, 0), (7.0, 0), (30.0, 4)])
@pytest.mark.full
def test_short_words_give_the_law(distribution: Distribution, scale: float, cell_bits: int) -> None:
    # Six tests at 1e-7: a false alarm in fewer than one of 1e6 choices of the seeds.
    draws = np.array(
        [draw(distribution, scale, cell_bits, bits_of(2 * i), bits_of(2 * i + 1)) for i in range(1000)]
    )
    assert misfit(distribution, draws, scale) > 1e-7
    assert misfit(distribution, draws, 1.5 * scale) < 1e-7


def test_ties_are_settled_by_as_many_words_as_it_takes() -> None:
    # U equal to P(|K| ≥ 3) to 40 words, then just below and just above.
    bits = 40 * WIDTH - 1
    exact = GAUSSIAN.survival(Fraction(5, 2) / Fraction(SCALE), bits + 80, False) >> 80
    words = [exact >> WIDTH * i & 63 for i in reversed(range(40))]
    below, above = (
        outcome(GAUSSIAN, [*words[:-1], words[-1] - 3]),
        outcome(GAUSSIAN, [*words[:-1], words[-1] + 3]),
    )
    assert (below, above) == (3, 2)
    assert outcome(GAUSSIAN, words) is None


@pytest.mark.parametrize("far", [Fraction(1, 100), Fraction(7, 10), Fraction(3), Fraction(300)])
def test_events_of_short_words_have_their_chance_as_far_as_the_words_tell(far: Fraction) -> None:
    """All fractions of two 6-bit words: a third is read where, and only where, these two leave it open."""
    chance = Fraction(LAPLACE.survival(far, 800, False), 2**800)
    for words in itertools.product(range(2**WIDTH), repeat=2):
        value = words[0] * 2**WIDTH + words[1]  # U is from it to the next, in units of 2^-12
        right = True if value + 1 <= chance * 2**12 else False if value >= chance * 2**12 else None
        try:
            found = exact.happens(far, Uniform(iter(words), WIDTH))
        except StopIteration:
            found = None
        assert found is right
