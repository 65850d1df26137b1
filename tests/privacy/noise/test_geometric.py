"""The laws of gaps and excesses: certified, and together the law of noise on a cell that is 0."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from hushrec.arrays import Ints
from hushrec.errors import SamplerError
from hushrec.privacy.noise import geometric, sampler
from hushrec.privacy.noise.distributions import LAPLACE
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noise.geometric import Count, excesses, gaps, geometric_gaps, threshold_passes

CASES = [(0.1, 1), (0.1, 30), (3.0, 2), (20.0, 50), (1e6, 2_000_000), (2.0**50, 1), (2.0**50, 2**31 - 1)]
BITS = 160


def decimal_misses(scale: float, threshold: int, times: int) -> Decimal:
    far = (threshold - Fraction(1, 2)) / Fraction(scale)
    return (1 - (-Decimal(far.numerator) / Decimal(far.denominator)).exp()) ** times


def brackets(distribution: Count, scale: float, threshold: int) -> bool:
    with localcontext() as context:
        context.prec = 400
        for times in (0, 1, 2, 3, 1000, 2**31 - 1):
            low, high = (Decimal(bound) / Decimal(2) ** BITS for bound in distribution.reaches(times, BITS))
            exact = decimal_misses(scale, threshold, times)
            if not (low <= exact <= high and high - low <= Decimal(2) ** (3 - BITS)):
                return False
    return True


@pytest.mark.parametrize(("scale", "threshold"), CASES)
def test_bounds_hold_and_are_tight(scale: float, threshold: int) -> None:
    distribution = gaps(scale, threshold, 2**31)
    assert brackets(distribution, scale, threshold)
    for shift in (-16, 16):
        off = replace(
            distribution,
            reaches=lambda k, bits, shift=shift: tuple(b + shift for b in distribution.reaches(k, bits)),
        )
        assert not brackets(off, scale, threshold)


@pytest.mark.parametrize(("scale", "threshold"), CASES)
def test_the_scale_is_certified_to_its_slack(scale: float, threshold: int) -> None:
    distribution = gaps(scale, threshold, 2**31)
    far = (threshold - Fraction(1, 2)) / Fraction(scale)
    with localcontext() as context:
        context.prec = 400
        error = 1 + Decimal(distribution.scale) * decimal_misses(scale, threshold, 1).ln()
    assert abs(error) <= distribution.slack < 1e-12
    assert geometric._certified(distribution, far)
    for factor in (1 - 3 * distribution.slack, 1 + 3 * distribution.slack):
        assert not geometric._certified(replace(distribution, scale=distribution.scale * factor), far)


def test_bad_floating_point_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = math.log1p
    monkeypatch.setattr(geometric.math, "log1p", lambda x: right(x) * (1 + 1e-9))
    with pytest.raises(SamplerError, match="floating-point"):
        gaps(3.0, 9, 100)


def test_a_threshold_out_of_reach_is_refused() -> None:
    gaps(1.0, 300, 100)
    for refuse in (lambda: gaps(1.0, 301, 100), lambda: geometric.beyond(1.0, 301)):
        with pytest.raises(SamplerError, match="choose one of at most 300 steps"):
            refuse()


def chance(distribution: Count, k: int, bits: int = 256) -> Fraction:
    """P(G = k), to far more digits than any test needs."""
    last = Fraction(distribution.reaches(k + 1, bits)[0], 2**bits) if k < distribution.cap else 0
    return Fraction(distribution.reaches(k, bits)[0], 2**bits) - last


def noise(scale: float, value: int, k: int) -> Fraction:
    """P(value + round(X) = k)."""

    def beyond(n: int) -> Fraction:  # P(round(X) ≥ n)
        x = (n - Fraction(1, 2)) / Fraction(scale)
        tail = Fraction(LAPLACE.survival(abs(x), 256, False), 2**257)
        return tail if x > 0 else 1 - tail

    return beyond(k - value) - beyond(k - value + 1)


def listed(scale: float, threshold: int, limit: int, value: int) -> dict[int, Fraction]:
    """What a cell is released as, 0 standing for dropped: noise, threshold and clamp."""
    distribution = {k: noise(scale, value, k) for k in range(threshold, limit)}
    distribution |= {-k: noise(scale, value, -k) for k in range(threshold, limit)}
    for end in (-1, 1):
        far = (limit - end * value - Fraction(1, 2)) / Fraction(scale)
        distribution[end * limit] = Fraction(LAPLACE.survival(far, 256, False), 2**257)
    return distribution | {0: 1 - sum(distribution.values())}


def drawn(scale: float, threshold: int, limit: int) -> dict[int, Fraction]:
    """What a cell of 0 is released as by the gaps' law."""
    survives = chance(gaps(scale, threshold, 2**31), 0)
    distribution = excesses(scale, limit - threshold)
    sizes = {threshold + j: survives * chance(distribution, j) / 2 for j in range(limit - threshold + 1)}
    return {0: 1 - survives} | sizes | {-size: part for size, part in sizes.items()}


def loss(first: dict[int, Fraction], second: dict[int, Fraction]) -> float:
    """Largest |ln| of the ratio of two laws."""
    return max(abs(math.log(first[k] / second[k])) for k in first)


@pytest.mark.parametrize(("scale", "threshold", "limit"), [(4.0, 9, 14), (0.7, 1, 3), (25.0, 20, 20)])
def test_gaps_and_excesses_are_the_law_of_noise_and_cost_what_it_costs(
    scale: float, threshold: int, limit: int
) -> None:
    empty = drawn(scale, threshold, limit)
    expected = listed(scale, threshold, limit, 0)
    assert empty.keys() == expected.keys()
    assert max(abs(empty[k] - expected[k]) for k in empty) < Fraction(1, 2**200)
    for value in range(-limit + 1, limit):
        assert loss(empty, listed(scale, threshold, limit, value)) <= abs(value) / scale + 1e-12


def test_a_wrong_law_of_empty_cells_costs_more_and_is_found() -> None:
    scale, threshold, limit = 4.0, 9, 14
    right = drawn(scale, threshold, limit)
    fewer = {k: chance * (Fraction(4, 5) if k else 1) for k, chance in right.items()}
    fewer[0] = 1 - sum(chance for k, chance in fewer.items() if k)
    value = 8
    assert loss(right, listed(scale, threshold, limit, value)) <= value / scale + 1e-12
    assert loss(fewer, listed(scale, threshold, limit, value)) > value / scale + 0.1


def test_gaps_in_turn_make_independent_cells() -> None:
    distribution = gaps(4.0, 9, 2**31)
    p = chance(distribution, 0)

    def pattern(cells: tuple[bool, ...]) -> Fraction:
        """Chance that the gaps list just these cells of a row: the last gap goes past its end."""
        product, gap = Fraction(1), 0
        for survives in cells:
            if survives:
                product *= chance(distribution, gap)
            gap = 0 if survives else gap + 1
        return product * Fraction(distribution.reaches(gap, 256)[0], 2**256)

    for cells in ((False,) * 4, (True,) * 4, (True, False, False, True), (False, True, False, False)):
        expected = math.prod((p if survives else 1 - p) for survives in cells)
        assert abs(pattern(cells) - expected) < Fraction(1, 2**240)


@pytest.mark.parametrize("far", [1e-9, 0.18232155679395, math.log(2), 4.6, 300.0])
def test_cells_of_any_chance_are_told_by_their_gaps(far: float) -> None:
    distribution = geometric_gaps(Fraction(far), 2**31)
    assert chance(distribution, 0) == pytest.approx(math.exp(-far), rel=1e-12)
    with localcontext(prec=400):
        missed = 1 - (-Decimal(far)).exp()
        assert abs(1 + Decimal(distribution.scale) * missed.ln()) <= distribution.slack < 1e-12
        for times in (0, 1, 1000, 2**31 - 1):
            low, high = (Decimal(bound) / Decimal(2) ** BITS for bound in distribution.reaches(times, BITS))
            assert low <= missed**times <= high


@pytest.mark.parametrize("far", [Fraction(0), Fraction(-1), Fraction(3001, 10)])
def test_a_chance_that_is_never_seen_or_certain_is_refused(far: Fraction) -> None:
    with pytest.raises(SamplerError, match="choose one of"):
        geometric_gaps(far, 2**31)


@pytest.mark.parametrize("scale", [1e-3, 3.0, 1e6, 1e12])
def test_gaps_are_drawn_until_they_pass_all_cells(scale: float) -> None:
    """Whatever number is expected: gaps of 0, 1, 2, 0, 1, 2, … with signs that say nothing."""
    distribution = Count(scale, 0.0, 2**31, lambda k, bits: (0, 0))

    def draw(distribution: Count, sequence: tuple[int, int], start: int, size: int) -> np.ndarray:
        assert (sequence, start % 512) == ((0, 4), 0)
        numbers = np.arange(start, start + size)
        return np.where(numbers % 2, ~(numbers % 3), numbers % 3)

    for cells in (0, 1, 2, 6, 5000):
        gaps, found = threshold_passes(draw, distribution, (0, 4), cells)
        assert gaps[:found].sum() + found <= cells < gaps[: found + 1].sum() + found + 1


def test_gaps_that_run_out_are_drawn_on() -> None:
    distribution = geometric.gaps(10.0, 30, 2**31)

    def draw(_: geometric.Count, *place: object) -> Ints:
        return sampler.count_draws(Seeded(3).key(), distribution, *place)  # type: ignore[arg-type]

    enough, found = geometric.threshold_passes(draw, distribution, (0, 0), 200_000)
    # An estimate of one survivor in a million cells: the first 512 gaps end long before the run does.
    bit_by_bit, again = geometric.threshold_passes(draw, replace(distribution, scale=1e6), (0, 0), 200_000)
    assert found == again > 5 * 512
    np.testing.assert_array_equal(enough[: found + 1], bit_by_bit[: found + 1])
    assert enough[:found].sum() + found <= 200_000 < enough[: found + 1].sum() + found + 1
