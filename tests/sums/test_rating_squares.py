"""The sum of squared ratings: its value, and its bound over neighbours."""

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.sums.overall import RatingSquares

SCALES = [(1, 5, 1), (0.5, 4, 0.5), (1, 10, 1), (-3.3, 7.1, 0.1)]


def people(scale, values):
    """One person who gives these ratings, one to an item."""
    domain = hr.Domain(range(len(values)), scale=scale, max_users=10)
    rows = pl.DataFrame(
        {"user": ["ann"] * len(values), "item": [*map(str, range(len(values)))], "rating": values}
    )
    return hr.load(rows, domain).require_ratings(by="the test")


def total(ratings):
    squares = RatingSquares(ratings.domain)
    return squares.measure(ratings)[0] * squares.query.step


@pytest.mark.parametrize("scale", SCALES)
def test_it_is_the_sum_of_squares_around_the_middle(scale):
    lo, hi, step = scale
    values = np.round(np.linspace(lo, hi, 7) / step) * step
    values = np.clip(np.round((values - lo) / step) * step + lo, lo, hi)
    given = people(scale, values.tolist())
    assert total(given) == pytest.approx(((values - (lo + hi) / 2) ** 2).sum(), rel=1e-2)


@pytest.mark.parametrize("scale", SCALES)
def test_one_rating_moves_it_by_at_most_its_bound_which_is_reached(scale):
    """Every value of the scale, added or in place of every other one."""
    lo, _, step = scale
    domain = hr.Domain(range(2), scale=scale, max_users=10)
    values = [lo + step * k for k in range(domain.scale.n_values)]
    bound = RatingSquares(domain).query.sensitivity
    alone = [total(people(scale, [value])) for value in values]
    assert max(alone) == pytest.approx(bound, abs=0)
    assert max(alone) - min(alone) <= bound
    both = total(people(scale, [values[0], values[-1]]))
    assert both - alone[0] == alone[-1]
