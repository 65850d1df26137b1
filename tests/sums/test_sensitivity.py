"""Search for neighbouring data that move a sum by more than its claimed Δ: there must be none.

Exhaustive on three users and three items, by hill climbing on users with many ratings. The sums searched
are the integers that enter the grant. Users contribute independently once item effects are released (a test
of its own below), so the exhaustive search moves one user and holds two others fixed.
"""

import itertools
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.sums.item_sums import EffectSums
from support.sums import summed

OTHERS = [(2, 5, 3), (1, None, 4)]
UNITS = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]


@lru_cache(maxsize=1000)
def ratings_of(domain, rows):
    """Ratings of users given as tuples of one rating (or None) per item."""
    kept = [[(i, r) for i, r in enumerate(row) if r is not None] for row in rows]
    kept = [row for row in kept if row]
    items = np.array([i for row in kept for i, _ in row], dtype=np.int32)
    lo, _, step = domain.scale
    steps = np.array([round((r - lo) / step) for row in kept for _, r in row], dtype=np.uint8)
    indptr = np.cumsum([0, *map(len, kept)])
    users = [f"u{k:05d}" for k in range(len(kept))]
    return People(domain, users, indptr, items, steps)


def domain_of(n, scale=(1, 5, 1), max_per_user=500):
    return Domain(items=range(n), scale=scale, max_per_user=max_per_user, max_users=1000)


def effect_sums(domain, unit, adjacency, norm="l2", *, printed=False):
    reg, origin = (None, 0.0) if printed else (2, domain.scale.mid)
    return EffectSums(domain, unit, adjacency, norm, reg, origin, overall=printed)


def covariance_sums(domain, unit, adjacency, norm="l2", *, printed=False, **settings):
    span = domain.scale.span
    ours = {"clip": 0.65, "limit": span / 2, "reg": 300, "contribution_cap": 2.0, "offset": 5.0}
    paper = {"clip": 1.0, "limit": span, "reg": 20, "contribution_cap": 1.0, "offset": 0.0}
    settings = {**(paper if printed else ours), **settings}
    return CovarianceSums(domain, unit, adjacency, norm, threads=1, **settings)


def measured(sums, rows, *released):
    """Name → (query, values in own units) of what these users' ratings add up to."""
    found = summed(sums.measure(ratings_of(sums.domain, tuple(rows)), *released))
    return {query.name: (query, values.ravel() * query.step) for query, values in found}


def distance(query, one, other):
    change = np.abs(one - other)
    return change.sum(axis=-1) if query.norm == "l1" else np.sqrt((change**2).sum(axis=-1))


def neighbours(row, unit, adjacency, values):
    """Every row that differs in one privacy unit."""
    if unit == "user":
        yield (None,) * len(row)
        return
    for i, r in enumerate(row):
        if adjacency == "replace":
            if r is not None:
                yield from ((*row[:i], v, *row[i + 1 :]) for v in values if v != r)
        elif r is None:
            yield from ((*row[:i], v, *row[i + 1 :]) for v in values)


def worst_ratio(sums, releases, values):
    """Largest distance/Δ over all rows of three items and all their neighbours, by measurement."""
    worst = {query.name: 0.0 for query in sums.queries()}
    rows = [*itertools.product([None, *values], repeat=sums.domain.n_items)]
    place = {row: number for number, row in enumerate(rows)}
    pairs = [(row, other) for row in rows for other in neighbours(row, sums.unit, sums.adjacency, values)]
    here, there = np.array([[place[row] for row in pair] for pair in pairs]).T
    for released in releases:
        made = [measured(sums, [row, *OTHERS], *released) for row in rows]
        for name, (query, _) in made[0].items():
            found = np.array([of[name][1] for of in made])
            moved = distance(query, found[here], found[there]).max()
            if query.sensitivity == 0:
                assert moved == 0, f"{name} is published as it is, but neighbours differ in it"
            else:
                worst[name] = max(worst[name], moved / query.sensitivity)
    return worst


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("printed", [False, True])
def test_no_neighbours_move_item_sums_by_more_than_their_sensitivity(unit, adjacency, norm, printed):
    sums = effect_sums(domain_of(3), unit, adjacency, norm, printed=printed)
    worst = worst_ratio(sums, [()], range(1, 6))
    assert max(worst.values()) <= 1
    assert max(worst.values()) > 0.7, "a bound this loose would not have noticed a fault"


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("printed", [False, True])
def test_no_neighbours_move_a_covariance_by_more_than_its_sensitivity(unit, adjacency, norm, printed):
    releases = [
        (np.array([3.0, 3.0, 3.0]), 0.0),
        (np.array([1.0, 5.0, 2.7]), 0.3),
        (np.array([5.0, 5.0, 1.0]), -2.0),
    ]
    largest = 0.0
    for reg in (1, 50):
        sums = covariance_sums(domain_of(3), unit, adjacency, norm, printed=printed, reg=reg)
        worst = worst_ratio(sums, releases, range(1, 6))
        assert max(worst.values()) <= 1
        largest = max(largest, *worst.values())
    assert largest > 0.6, "a bound this loose would not have noticed a fault"


@pytest.mark.parametrize("scale", [(0.1, 1, 0.1), (0.1, 5, 0.1), (0, 3.7, 0.1), (1, 4.3, 0.3)])
@pytest.mark.parametrize("printed", [False, True])
def test_on_a_scale_off_the_grid_sums_move_by_what_is_booked(scale, printed):
    """The ends of such a scale are rounded to the grid, and may lie a step further apart than its width."""
    lo, hi, _ = scale
    for adjacency, rows in (("replace", [(lo,), (hi,)]), ("add-remove", [(hi,), (None,)])):
        sums = effect_sums(domain_of(1, scale), "record", adjacency, printed=printed)
        one, other = (measured(sums, [row]) for row in rows)
        query, values = one["item sums"]
        assert distance(query, values, other["item sums"][1]) <= query.sensitivity


def test_users_contribute_independently():
    """What one user adds does not depend on the others: the exhaustive search may hold them fixed."""
    sums = covariance_sums(domain_of(3), "record", "add-remove")
    released = (np.array([3.0, 2.0, 4.0]), 0.1)
    rows = [(1, 5, None), (4, 4, 2), (None, 3, 5)]
    together = measured(sums, rows, *released)
    alone = [measured(sums, [row], *released) for row in rows]
    for name, (query, found) in together.items():
        # A sum is cut to its grid once, so its parts may differ by a step each.
        np.testing.assert_allclose(found, sum(part[name][1] for part in alone), rtol=0, atol=3 * query.step)


def climbed(sums, released, start, rng, epochs=300):
    """Hill climbing over one user's ratings and the one that is added: the largest distance/Δ found."""
    values, n = np.arange(1, 6), sums.domain.n_items

    def ratio(row, where, value):
        fuller = (*row[:where], value, *row[where + 1 :])
        without, with_one = measured(sums, [row], *released), measured(sums, [fuller], *released)
        found = {
            name: distance(q, with_one[name][1], without[name][1]) / q.sensitivity
            for name, (q, _) in without.items()
        }
        assert found["co-rating weights"] <= 1, "they reach their Δ with any row: not what is climbed"
        return found["covariance"]

    row, where, value = list(start), 0, 5
    row[0] = None
    best = ratio(tuple(row), where, value)
    for _ in range(epochs):
        trial = list(row)
        for i in rng.integers(1, n, size=rng.integers(1, 4)):
            trial[i] = None if rng.random() < 0.1 else int(rng.choice(values))
        new = int(rng.choice(values))
        found = ratio(tuple(trial), where, new)
        if found > best:
            row, value, best = trial, new, found
    return best


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("item_effects", [[1.0] * 40, [3.0] * 40, [5.0] * 40, [1.0, 5.0] * 20])
def test_no_heavy_user_moves_a_covariance_by_more_than_its_sensitivity(norm, printed, item_effects):
    sums = covariance_sums(domain_of(40), "record", "add-remove", norm, printed=printed, reg=20)
    released = (np.array(item_effects), 0.0)
    rng = np.random.default_rng(7)
    best = max(climbed(sums, released, start, rng, epochs=60) for start in ([1] * 40, [5] * 40, [1, 5] * 20))
    assert 0.2 < best <= 1


def far_from_the_others(sums, effects_of, level=0.0):
    """Largest distance/Δ where somebody who gave the lowest rating to c items gives the highest to another.

    What they gave to the others is as far below the others' effects as can be, and what is new above its own:
    their mean moves by all that the bound on residuals allows.
    """
    n, worst = sums.domain.n_items, 0.0
    for c in (1, 2, 3, 6, 12, n - 1):
        rows = [(new, *[1] * c, *[None] * (n - 1 - c)) for new in (None, 5)]
        one, other = (measured(sums, [row], effects_of(n), level)["covariance"] for row in rows)
        worst = max(worst, distance(one[0], one[1], other[1]) / one[0].sensitivity)
    return worst


def one_against_all(n):
    return np.array([1.0, *[5.0] * (n - 1)])


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("effects_of", [one_against_all, lambda n: np.tile([1.0, 5.0], n)[:n]])
def test_no_rating_far_from_the_others_moves_a_covariance_by_more(norm, printed, effects_of):
    for reg, clip in itertools.product((0, 1, 5, 20), (0.1, 0.3, 0.65)):
        chosen = {"reg": reg, "clip": clip, "printed": printed}
        sums = covariance_sums(domain_of(40), "record", "add-remove", norm, **chosen)
        assert far_from_the_others(sums, effects_of) <= 1


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_no_level_beyond_all_residuals_moves_a_covariance_by_more(norm):
    """A mean of ratings as low as can be, and of fictitious ones that would be lower still."""
    sums = covariance_sums(domain_of(40), "record", "add-remove", norm, reg=19, clip=1.0)
    assert far_from_the_others(sums, lambda n: np.array([1.0, *[3.0] * (n - 1)]), level=-5.0) <= 1


STARS = st.one_of(st.none(), st.integers(1, 5))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    row=st.lists(STARS, min_size=12, max_size=12).filter(any),
    where=st.integers(0, 11),
    star=st.integers(1, 5),
    effects=st.lists(st.floats(-1, 7), min_size=12, max_size=12),
    level=st.floats(-5, 5),
    clip=st.floats(0.1, 1.0),
    reg=st.integers(0, 400),
    offset=st.floats(0, 20),
    unit=st.sampled_from(UNITS),
    norm=st.sampled_from(["l2", "l1"]),
    printed=st.booleans(),
)
def test_no_released_effects_and_no_settings_break_a_bound(
    row, where, star, effects, level, clip, reg, offset, unit, norm, printed
):
    chosen = {"clip": clip, "reg": reg, "offset": offset}
    sums = covariance_sums(domain_of(12), *unit, norm, printed=printed, **chosen)
    other = (None,) * 12 if unit[0] == "user" else (*row[:where], star, *row[where + 1 :])
    if unit[1] == "replace" and row[where] is None:
        row[where] = 6 - star
    elif unit == ("record", "add-remove"):
        row[where] = None
    released = (np.array(effects), level)
    here, there = measured(sums, [tuple(row)], *released), measured(sums, [other], *released)
    for name, (query, values) in here.items():
        assert distance(query, values, there[name][1]) <= query.sensitivity


@pytest.mark.full
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("scale", [(1, 5, 1), (0.5, 5, 0.5), (1, 10, 1)])
def test_no_heavy_user_moves_a_covariance_on_other_scales(norm, scale):
    span = scale[1] - scale[0]
    sums = covariance_sums(
        domain_of(200, scale=scale), "record", "add-remove", norm, clip=0.1625 * span, reg=50
    )
    rng = np.random.default_rng(8)
    for effect in np.linspace(scale[0], scale[1], 4):
        released = (np.full(200, effect), 0.0)
        assert climbed(sums, released, [1, 5] * 100, rng, epochs=400) <= 1


def test_the_search_finds_a_forgotten_centring():
    """A Δ that forgets that one rating moves the mean of all others is found to be false."""
    sums = covariance_sums(domain_of(40), "record", "add-remove", "l1", clip=1.0, reg=0, offset=0.0)
    forgotten = covariance_sums(domain_of(40), "record", "add-remove", "l1", clip=1.0, reg=-1, offset=0.0)
    honest, false = (next(iter(s.queries())).sensitivity for s in (sums, forgotten))
    released = (np.full(40, 3.0), 0.0)
    row = (None, *[2, 4] * 10, *[None] * 19)
    query, one = measured(sums, [row], *released)["covariance"]
    _, other = measured(sums, [(5, *row[1:])], *released)["covariance"]
    assert false < distance(query, one, other) <= honest
