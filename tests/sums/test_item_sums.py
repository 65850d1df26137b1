"""Item sums of people who each have a weight: nobody moves them by more than that part of Δ."""

import dataclasses
import itertools

import numpy as np
import pytest

from hushrec.data.people import FULL
from hushrec.sums.item_sums import EffectSums
from support.people import SCALES, person

WEIGHTS = [1, 77, FULL // 3, FULL // 2, FULL - 1, FULL]


def weighed_sums(domain, cap):
    scale = domain.scale
    chosen = {"clip": 0.35 * scale.span, "contribution_cap": cap, "reg": 20, "origin": scale.mid}
    return EffectSums(domain, "user", "add-remove", "l2", **chosen, personal_epsilon=True)


def weighing(ratings, weight):
    """The only person in the ratings, with this weight."""
    return ratings.with_personal_epsilon(np.ones(1)).with_weights(lambda asked: np.full(1, weight))


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("cap", [15 * 0.5**0.9, 15 * 8.0**0.9])
@pytest.mark.parametrize("scale", SCALES)
def test_weighted_effects_move_by_no_more_than_the_weight_of_delta(search, weight, cap, scale):
    """All rows of few items with the ends of the scale, and long ones: counts at which weights bite."""
    domain = search.domain(200, 3, scale)
    sums = weighed_sums(domain, cap)
    top, rng = domain.scale.n_values - 1, np.random.default_rng(3)
    short = [
        [*mine, *[None] * 197]
        for mine in itertools.product((None, 0, 1, top), repeat=3)
        if set(mine) != {None}
    ]
    long = [person(rng, 200, n, high=top + 1) for n in (5, 8, 33, 120, 200)]
    worst = 0.0
    for row in [*short, *long, [0, top] * 100, [top] * 200]:
        people = weighing(search.ratings(domain, [row, [None] * 200, [None] * 200]), weight)
        for query, given_ in sums.measure(people):
            may = dataclasses.replace(query, sensitivity=query.sensitivity * weight / FULL)
            worst = max(worst, search.exceeds(may, given_, np.zeros_like(given_)))
    assert worst <= 1
    assert worst > 0.9 or weight < 100, "and not by far less: the bound is the right one"


def slope_of(domain, search, row, reg=5):
    sums = dataclasses.replace(weighed_sums(domain, 8.0), reg=reg, personal_epsilon=False)
    empty = [None] * domain.n_items
    people = search.ratings(domain, [row, empty, empty])
    query, values = next((q, v) for q, v in sums.measure(people) if q.name == "slopes")
    return query, float(values[0]) * query.step


def test_a_slope_is_how_far_entries_follow_one_rating(search):
    """Of c ratings inside the bound each follows by 1 − 1/(c + reg), clamped ones not at all."""
    domain = search.domain(10, 3, (1, 5, 1))
    assert slope_of(domain, search, [2] * 10)[1] == pytest.approx(14 / 15, abs=1e-4)
    # Mean 3 + 4/15: the two fives are beyond 0.35 · 4, the eight threes are not.
    assert slope_of(domain, search, [2] * 8 + [4] * 2)[1] == pytest.approx(0.8 * 14 / 15, abs=1e-4)
    assert slope_of(domain, search, [2] + [None] * 9, reg=0)[1] == 0


def test_nobody_has_a_slope_above_one(search):
    domain = search.domain(10, 3, (1, 5, 1))
    found = []
    for row in itertools.product((None, 0, 2, 4), repeat=3):
        if set(row) != {None}:
            query, slope = slope_of(domain, search, [*row, *[None] * 7], reg=10**6)
            assert 0 <= slope <= query.sensitivity <= 1
            found.append(slope)
    assert max(found) > 0.99, "which is reached"
