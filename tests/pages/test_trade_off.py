"""The drawing of the best attack shows the curve that bounds every attack."""

import math
import re
from statistics import NormalDist

import pytest

from hushrec.pages.statement_page import trade_off
from hushrec.release.statement import Measured
from support.releases import statement

NORMAL = NormalDist()
SUMS = Measured("sums", "gaussian", 1.0, 2.0, 4, 1.0, 0.5)


def drawn(**changes):
    """The figure of a statement, and its points as fractions."""
    (picture,) = trade_off(statement(**changes).reading)
    path = re.search(r'class="curve" d="M([^"]*)"', picture.svg)[1]
    points = [tuple(map(float, place.split())) for place in path.split(" L")]
    return picture, [((x - 46) / 200, (210 - y) / 200) for x, y in points]


def test_the_curve_is_that_of_the_best_attack_and_never_below_a_blind_guess():
    _, shares = drawn(measurements=(SUMS,))
    assert shares[0][0] == 0
    assert shares[-1] == (1, 1)
    assert shares == sorted(shares)
    for wrong, share in shares[1:-1]:
        power = NORMAL.cdf(0.5 - NORMAL.inv_cdf(1 - wrong)) if 0.002 < wrong < 0.998 else share
        assert share == pytest.approx(power, abs=0.01)
        assert share >= wrong - 0.001


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_without_known_noise_the_curve_is_that_of_epsilon_alone(epsilon):
    exact = (Measured("counts", "exact", 0.0, 0.0, 12, 0.0, 0.0),)
    for wrong, share in drawn(epsilon=epsilon, measurements=exact)[1][1:-1]:
        most = min(math.exp(epsilon) * wrong + 1e-6, 1 - math.exp(-epsilon) * (1 - 1e-6 - wrong))
        assert share == pytest.approx(most, abs=0.01 * math.exp(epsilon))
