"""The sum of squared ratings: its value, and its bound over neighbours."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.sums.overall import RatingSquares

SCALES = [(1, 5, 1), (0.5, 4, 0.5), (1, 10, 1), (-3.3, 7.1, 0.1)]


def people(scale, steps):
    """One person who gives the ratings at these steps of the scale, one to an item."""
    domain = hr.Domain(range(len(steps)), scale=scale, max_users=10)
    items = np.arange(len(steps), dtype=np.int32)
    return hr.People(domain, ["ann"], np.array([0, len(steps)]), items, np.array(steps, np.uint8))


def total(ratings):
    squares = RatingSquares(ratings.domain)
    return squares.measure(ratings)[0] * squares.query.step


@pytest.mark.parametrize("scale", SCALES)
def test_it_is_the_sum_of_squares_around_the_middle(scale):
    lo, hi, step = scale
    steps = np.round(np.linspace(0, (hi - lo) / step, 7))
    values = lo + step * steps
    assert total(people(scale, steps)) == pytest.approx(((values - (lo + hi) / 2) ** 2).sum(), rel=1e-2)


@pytest.mark.parametrize("scale", SCALES)
def test_one_rating_moves_it_by_at_most_its_bound_which_is_reached(scale):
    """Every value of the scale, added or in place of every other one."""
    domain = hr.Domain(range(2), scale=scale, max_users=10)
    bound, top = RatingSquares(domain).query.sensitivity, domain.scale.n_values - 1
    alone = [total(people(scale, [step])) for step in range(top + 1)]
    assert max(alone) == pytest.approx(bound, abs=0)
    assert max(alone) - min(alone) <= bound
    assert total(people(scale, [0, top])) - alone[0] == alone[-1]
