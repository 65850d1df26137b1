"""The quantile's table: every piece is within its own bound, by exact arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hushrec.arrays import Floats
from hushrec.errors import SamplerError
from hushrec.privacy.noise import sampler
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE, Distribution
from hushrec.privacy.noise.kernels import FIRST_OCTAVE, LAST_OCTAVE

ROWS = 64 * (LAST_OCTAVE + 1 - FIRST_OCTAVE)


def worst(distribution: Distribution, table: Floats) -> float:
    """The largest error of z, in units of its bound, at the pieces' edges and middles."""
    found = 0.0
    for row in range(1, ROWS + 1):
        octave, piece = divmod(row - 1, 64)
        word = 2 ** (FIRST_OCTAVE + octave - 6) * (64 + piece)
        for position in (0, 2**45, 2**46 - 1):
            z = 0.0
            for coefficient in table[row, 6::-1]:
                z = z * (position - 2**45) + float(coefficient)
            u = Fraction(word + Fraction(position, 2**46) * 2 ** (FIRST_OCTAVE + octave - 6), 2**63)
            tail = Fraction(distribution.survival(Fraction(z), 128, False), 2**128)
            error = abs(float(tail - u)) / float(distribution.density(np.float64(z)))
            found = max(found, error / table[row, 7])
    return found


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
def test_errors_are_within_their_bounds(distribution: Distribution) -> None:
    table = sampler.quantiles(distribution)
    assert table.shape == (ROWS + 2, 8)
    assert worst(distribution, table) < 1
    assert table[1 + 64 * (62 - FIRST_OCTAVE) :, 7][:-1].max() < 2.0**-48  # the half that is used most


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("fault", ["row", "last bits", "degree"])
@pytest.mark.full
def test_planted_faults_are_caught(distribution: Distribution, fault: str) -> None:
    table = sampler.quantiles(distribution).copy()
    if fault == "row":
        table[2:-1] = table[1:-2]
    elif fault == "last bits":
        table[1:-1, 0] *= 1 + 2.0**-46
    else:
        table[:, 6] = 0
    assert worst(distribution, table) > 1


@pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])
def test_words_without_a_piece_are_always_doubtful(distribution: Distribution) -> None:
    assert np.isinf(sampler.quantiles(distribution)[[0, -1], 7]).all()


def test_a_table_is_made_once_and_cannot_be_written() -> None:
    table = sampler.quantiles(GAUSSIAN)
    assert sampler.quantiles(GAUSSIAN) is table
    with pytest.raises(ValueError, match="read-only"):
        table[1, 0] = 0


def test_bad_floating_point_is_refused() -> None:
    bad = replace(GAUSSIAN, quantile=lambda u: GAUSSIAN.quantile(u) * (1 + 1e-9))
    with pytest.raises(SamplerError, match="floating-point"):
        sampler.quantiles(bad)
