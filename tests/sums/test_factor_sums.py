"""Search for neighbours that move the sums of private matrix factorisation by more than Δ: there are none.

Exhaustive on one of three users and three items; users contribute independently (a test of its own), so the
two others stay as they are. Larger ones by Hypothesis and by hill climbing. What is searched are the integers
that enter the grant.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.sums.factor_sums import FactorSums
from support.people import SCALES, on_sphere

ADJACENCIES = ["add-remove", "replace"]


def test_people_contribute_independently(search):
    """What one adds does not depend on the others, so the exhaustive searches may hold them fixed."""
    domain = search.domain(3, 3)
    sums = FactorSums(domain, "add-remove", 2, 1, 0.9, 1.0)
    people, items = on_sphere(3, 2, 1.0, 5), on_sphere(3, 2, 1.0, 6)
    rows = [(0, 4, None), (3, 3, 1), (None, 2, 4)]
    together = of_factors(sums, people, items, search.people(domain, rows))
    alone = [
        of_factors(sums, people, items, search.people(domain, [r if k == j else (None,) * 3 for j, r in e]))
        for k, e in enumerate([list(enumerate(rows))] * 3)
    ]
    for place, (_, values) in enumerate(together):
        np.testing.assert_array_equal(values, sum(part[place][1] for part in alone))


def of_factors(sums, p, q, people, grid_values=None):
    middle = np.full(sums.domain.n_items, sums.domain.scale.mid) if grid_values is None else grid_values[0]
    fold_in = np.zeros(sums.domain.n_users) if grid_values is None else grid_values[1]
    rows = sums.residuals.rows(middle, fold_in)
    return [
        (sums.query("users", 1), sums.users(people, rows, p, q)),
        (sums.query("items", 1), sums.items(people, rows, p, q)),
    ]


def released(n_users, n_items, radius):
    """Factors at which a rating weighs most: on axes, on the sphere, opposite each other, and none at all."""
    axes = radius * np.eye(2)
    yield axes[[0, 0, 1]], -axes[[0, 1, 0]]
    yield on_sphere(n_users, 2, radius, 1), on_sphere(n_items, 2, radius, 2)
    yield np.zeros((n_users, 2)), on_sphere(n_items, 2, radius, 3)
    yield on_sphere(n_users, 2, radius, 4), np.zeros((n_items, 2))


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("part", "radius"), [(0.2, 1.0), (0.45, 0.42), (1.0, 0.1)])
def test_no_neighbours_move_factor_sums_by_more_than_their_sensitivity(
    search, scale, adjacency, part, radius
):
    domain = search.domain(3, 3, scale)
    sums = FactorSums(domain, adjacency, 2, 1, part * domain.scale.span, radius)
    largest = {}
    for people, items in released(3, 3, radius * (1 - 1e-9)):
        worst = search.exhaustive(domain, adjacency, partial(of_factors, sums, people, items))
        assert max(worst.values()) <= 1
        largest = {name: max(largest.get(name, 0), ratio) for name, ratio in worst.items()}
    # At the middle of the scale a rating errs by half its width at most, without any clip.
    assert min(largest.values()) > 0.9 * min(1, 0.5 / part), "it would not have noticed a fault"


@settings(max_examples=250, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rank=st.integers(1, 6),
    radius=st.floats(0.01, 1.0),
    part=st.floats(0.001, 1.0),
    scale=st.sampled_from(SCALES),
    adjacency=st.sampled_from(ADJACENCIES),
    level=st.floats(-2, 2),
)
def test_no_released_values_and_no_settings_break_the_bound(
    search, seed, rank, radius, part, scale, adjacency, level
):
    rng = np.random.default_rng(seed)
    n_users, n_items = 4, 9
    domain = search.domain(n_items, n_users, scale)
    sums = FactorSums(domain, adjacency, rank, 1, part * domain.scale.span, radius)
    sizes = rng.choice([0.0, 0.5, 1.0, 1.7, 1e6], (n_users + n_items, 1))
    drawn = sums.in_ball(sizes * radius * rng.standard_normal((n_users + n_items, rank)))
    people, items = drawn[:n_users], drawn[n_users:]
    span, top = domain.scale.span, domain.scale.n_values - 1
    grid_values = rng.uniform(-span, 2 * span, n_items), np.full(n_users, level * span)
    rows = rng.integers(top + 1, size=(n_users, n_items)).astype(object)
    rows[rng.random(rows.shape) < 0.4] = None
    who, what = rng.integers(n_users), rng.integers(n_items)
    rows[who, what] = None if adjacency == "add-remove" else 0
    here = of_factors(sums, people, items, search.people(domain, rows), grid_values)
    rows[who, what] = int(rng.integers(adjacency == "replace", top + 1))
    there = of_factors(sums, people, items, search.people(domain, rows), grid_values)
    for (query, one), (_, two) in zip(here, there, strict=True):
        assert search.exceeds(query, one, two) <= 1
        touched = np.abs(one - two).any(axis=1)
        assert touched.sum() <= 1, "one rating is in one row"


def climbed(search, sums, rng, epochs=150):
    """Hill climbing over both factors and the rating that is new: the largest distance/Δ found."""
    domain, best = sums.domain, {"users": 0.0, "items": 0.0}
    people, items = (sums.in_ball(rng.standard_normal((n, sums.rank))) for n in (2, 5))
    blank = search.people(domain, [(None,) * 5] * 2)
    for _ in range(epochs):
        trial = [sums.in_ball(side + 0.5 * rng.standard_normal(side.shape)) for side in (people, items)]
        row = [None, None, int(rng.integers(5)), None, None]
        before = of_factors(sums, *trial, blank)
        after = of_factors(sums, *trial, search.people(domain, [(None,) * 5, row]))
        found = {
            q.name[:5]: search.exceeds(q, one, two) for (q, one), (_, two) in zip(before, after, strict=True)
        }
        if sum(found.values()) > sum(best.values()):
            (people, items), best = trial, found
    return best


@pytest.mark.parametrize("radius", [1.0, 0.42])
def test_the_worst_factors_come_near_to_the_bound_and_never_pass_it(search, radius):
    """Both sides at once: an error beyond the clip, and both rows on the sphere."""
    sums = FactorSums(search.domain(5, 2), "add-remove", 3, 1, 0.8, radius)
    best = climbed(search, sums, np.random.default_rng(3))
    print(f"radius {radius:g}: {best}")
    assert all(0.99 < ratio <= 1 for ratio in best.values())


@pytest.mark.parametrize("size", [2.0**17.6, 1e18, 1e100, np.nan])
def test_a_row_of_any_length_is_refused(search, size):
    """Also where its square in integers would pass 2^63 and come out below 0, and where it is no number."""
    sums = FactorSums(search.domain(3, 3), "add-remove", 2, 1, 0.8, 0.42)
    with pytest.raises(ValueError, match="in the ball"):
        sums.on_grid(np.full((3, 1), size))
