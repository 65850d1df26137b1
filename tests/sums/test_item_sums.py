"""Item sums of people who each have a weight: nobody moves them by more than that part of Δ."""

import dataclasses
import itertools

import numpy as np
import pytest

from hushrec.data.people import FULL
from hushrec.sums.item_sums import EffectSums
from support.people import SCALES, person

WEIGHTS = [1, 77, FULL // 3, FULL // 2, FULL - 1, FULL]


def weighed_sums(domain, norm="l2", reg=5):
    chosen = {"reg": reg, "origin": domain.scale.mid, "personal_epsilon": True}
    return EffectSums(domain, "user", "add-remove", norm, **chosen)


def weighing(ratings, weight):
    """The only person in the ratings, with this weight."""
    return ratings.with_personal_epsilon(np.ones(1)).with_weights(lambda asked: np.full(1, weight))


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("scale", SCALES)
def test_weighted_effects_move_by_no_more_than_the_weight_of_delta(search, weight, norm, scale):
    """All rows of few items with the ends of the scale, and long ones: counts at which weights bite."""
    domain = search.domain(200, 3, scale)
    sums = weighed_sums(domain, norm)
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


def released(sums, search, row):
    """What the only person gives, by name, in the units of each sum."""
    people = search.ratings(sums.domain, [row, *[[None] * sums.domain.n_items] * 2])
    return {query.name: values * query.step for query, values in sums.measure(people)}


def test_a_person_counts_in_full_up_to_the_norm_and_all_ratings_shrink_alike_beyond(search):
    domain = search.domain(50, 3, (1, 5, 1))
    sums = dataclasses.replace(weighed_sums(domain, reg=0), personal_epsilon=False)
    bound = sums.clip_norm
    assert bound == pytest.approx(0.26 * 4, rel=1e-3)
    short = released(sums, search, [2, 3, *[None] * 48])
    assert short["item sums"][:3].tolist() == pytest.approx([-0.5, 0.5, 0], abs=1e-3)
    assert short["weight ratios"][0] == pytest.approx(2**0.5, abs=1e-3)
    long = released(sums, search, [0, 2, 4] * 16 + [None] * 2)
    assert np.linalg.norm(long["item sums"]) == pytest.approx(bound, rel=1e-3)
    assert long["item sums"][:3].tolist() == pytest.approx([-bound / 32**0.5, 0, bound / 32**0.5], abs=1e-3)
    # w √c with w = R/(2 √32) and c = 48.
    assert long["weight ratios"][0] == pytest.approx(bound / 2 * 1.5**0.5, abs=1e-3)


def test_nobody_has_a_ratio_above_two(search):
    """Whose ratings are all alike weighs 1 in the sums, and 1/√50 in the counts."""
    sums = dataclasses.replace(weighed_sums(search.domain(50, 3, (1, 5, 1)), reg=0), personal_epsilon=False)
    assert released(sums, search, [3] * 50)["weight ratios"].tolist() == [2.0]
