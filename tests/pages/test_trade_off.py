"""The best attack of a card: its figures bound every attack, and its drawing shows the same curve."""

import math
import re
from statistics import NormalDist

import pytest

from hushrec.documents.document import Figure, Table
from hushrec.documents.words import Words, english
from hushrec.pages.trade_off import SHOWN, trade_off
from hushrec.release.statement import Measured
from support.releases import statement

NORMAL = NormalDist()


def of(rho=None, **changes):
    """The blocks of a statement, of Gaussian noise if there is a ρ."""
    if rho is not None:
        changes |= {"measurements": (Measured("sums", "gaussian", 1.0, 1 / math.sqrt(2 * rho), 4, 1.0, rho),)}
    return trade_off(statement(**changes).reading, english)


def found(blocks):
    """The last column, as shares."""
    (table,) = (block for block in blocks if isinstance(block, Table))
    return [float(row[-1].removesuffix(" %")) / 100 for row in table.rows]


@pytest.mark.parametrize("rho", [0.005, 0.125, 2])
def test_the_table_bounds_the_likelihood_ratio_attack(rho):
    for wrong, share in zip(SHOWN, found(of(rho, epsilon=50.0)), strict=True):
        power = NORMAL.cdf(math.sqrt(2 * rho) - NORMAL.inv_cdf(1 - wrong))
        assert power <= share <= power * 1.011  # three digits, rounded up


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_table_bounds_the_attack_that_epsilon_alone_allows(epsilon):
    sampled = (Measured("round", "subsampled gaussian", 1.0, 4.0, 12, 1.0, 0.03, 0.0625),)
    for wrong, share in zip(SHOWN, found(of(epsilon=epsilon, measurements=sampled)), strict=True):
        most = min(math.exp(epsilon) * wrong + 1e-6, 1 - math.exp(-epsilon) * (1 - 1e-6 - wrong))
        assert most <= share <= most * 1.011


def test_the_curve_is_that_of_the_table_and_never_below_a_blind_guess():
    picture = next(block for block in of(0.125) if isinstance(block, Figure))
    path = re.search(r'class="curve" d="M([^"]*)"', picture.svg)[1]
    points = [tuple(map(float, place.split())) for place in path.split(" L")]
    shares = [((x - 46) / 200, (210 - y) / 200) for x, y in points]
    assert shares[0][0] == 0
    assert shares[-1] == (1, 1)
    assert shares == sorted(shares)
    for wrong, share in shares[1:-1]:
        power = NORMAL.cdf(0.5 - NORMAL.inv_cdf(1 - wrong)) if 0.002 < wrong < 0.998 else share
        assert share == pytest.approx(power, abs=0.01)
        assert share >= wrong - 0.001


def test_the_words_of_the_picture_give_its_figure():
    blocks = of(0.125)
    picture = next(block for block in blocks if isinstance(block, Figure))
    assert f"at most {100 * found(blocks)[1]:g} %" in picture.text
    assert 'role="img" aria-label=' in picture.svg


def test_figures_are_written_as_the_language_does():
    _, table = trade_off(statement().reading, Words("de"))
    assert [row[0] for row in table.rows] == ["0,1 %", "1 %", "5 %"]
