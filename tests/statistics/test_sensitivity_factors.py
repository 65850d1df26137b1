"""Search for neighbours that move the sums of private matrix factorisation by more than Δ: there are none.

Exhaustive on one of three users and three items; users contribute independently (a test of its own), so the
two others stay as they are. Larger ones by Hypothesis and by hill climbing. What is searched are the integers
that enter the grant.
"""

import dataclasses
import itertools
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.privacy.bounded import Noisy, NoisyMatrix
from hushrec.statistics import factors as factor_sums
from hushrec.statistics import home
from hushrec.statistics.cells import Cells
from hushrec.statistics.factors import FactorSums
from hushrec.statistics.home import HomeGradients
from hushrec.statistics.people import PeopleSums

ADJACENCIES = ["add-remove", "replace"]
STARS = (1, 5, 1)
SCALES = [STARS, (0.5, 4, 0.5), (0, 98, 7), (0.1, 5, 0.1), (0, 3.7, 0.1)]
"""The last three lie off the grid."""


def domain_of(n_items, n_users, scale=STARS):
    return Domain(range(n_items), scale=scale, cap=500, max_users=1000, users=names(n_users))


def names(n_users):
    return [f"u{k:03d}" for k in range(n_users)]


def ratings_of(domain, rows):
    """Ratings of the roster, given as one tuple of steps (or None) per person."""
    listed = [(user, row) for user, row in zip(names(len(rows)), rows, strict=True) if set(row) != {None}]
    kept = [[(i, s) for i, s in enumerate(row) if s is not None] for _, row in listed]
    return Ratings(
        domain,
        pl.Series([user for user, _ in listed], dtype=pl.String),
        np.cumsum([0, *map(len, kept)]),
        np.array([i for row in kept for i, _ in row], dtype=np.int32),
        np.array([s for row in kept for _, s in row], dtype=np.uint8),
    )


def some_steps(domain):
    """All steps of a short scale; the ends and the middle of a long one."""
    n = domain.scale.levels
    return range(n) if n <= 5 else (0, 1, n // 2, n - 1)


def others(domain):
    top = domain.scale.levels - 1
    return [(0, top, 1), (top, None, 0)]


def neighbours(row, adjacency, steps):
    """Every row that differs in one rating."""
    for i, s in enumerate(row):
        if (s is None) == (adjacency == "add-remove"):
            yield from ((*row[:i], new, *row[i + 1 :]) for new in steps if new != s)


def exceeds(query, one, other):
    """Distance over Δ, rounded up where it is above one, so that a float cannot hide it."""
    change = [abs(int(d)) for d in (one - other).ravel()]
    step, bound = Fraction(query.step), Fraction(query.sensitivity)
    if not bound:
        assert not any(change), f"{query.name} is published as it is, but neighbours differ in it"
        return 0.0
    if query.norm == "l1":
        ratio = sum(change) * step / bound
        return float(ratio) if ratio <= 1 else np.nextafter(float(ratio), np.inf)
    squared = sum(d * d for d in change) * step**2 / bound**2
    return float(squared) ** 0.5 if squared <= 1 else np.nextafter(float(squared) ** 0.5, np.inf)


def exhaustive(domain, adjacency, measure):
    """Largest distance/Δ by measurement, over all rows of three items and all their neighbours."""
    steps, worst = some_steps(domain), {}
    made = {}
    for row in itertools.product([None, *steps], repeat=domain.n_items):
        made[row] = list(measure(ratings_of(domain, [row, *others(domain)])))
    for row, here in made.items():
        for other in neighbours(row, adjacency, steps):
            for (query, one), (_, two) in zip(here, made[other], strict=True):
                worst[query.name] = max(worst.get(query.name, 0.0), exceeds(query, one, two))
    return worst


# -- sums and counts of people ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("published", [False, True])
def test_no_neighbours_move_peoples_sums_by_more_than_their_sensitivity(scale, adjacency, published):
    domain = domain_of(3, 3, scale)
    lo, hi, _ = scale
    largest = {}
    for norm, effects, part in (
        ("l1", [lo, hi, (lo + hi) / 2], 0.5),
        ("l2", [hi, hi, lo + 0.3], 1.0),
        ("l1", [lo, lo, hi], 0.11),
    ):
        sums = PeopleSums(domain, adjacency, norm, published, (hi - lo) * (1.0 if published else part))
        worst = exhaustive(domain, adjacency, partial(sums.measure, item_effects=np.array(effects)))
        assert max(worst.values()) <= 1
        largest = {name: max(largest.get(name, 0), ratio) for name, ratio in worst.items()}
    assert largest.pop("user counts") == (adjacency == "add-remove")
    assert min(largest.values()) > 0.9, "a bound this loose would not have noticed a fault"


def test_a_forgotten_clip_is_found():
    domain = domain_of(3, 3)
    sums = PeopleSums(domain, "add-remove", "l1", False, 2.0)
    wide = PeopleSums(domain, "add-remove", "l1", False, 4.0)

    def careless(ratings):
        return zip(sums.queries(), (values for _, values in wide.measure(ratings, np.ones(3))), strict=True)

    assert exhaustive(domain, "add-remove", careless)["user sums"] > 1.9


def test_people_contribute_independently():
    """What one adds does not depend on the others, so the exhaustive searches may hold them fixed."""
    domain = domain_of(3, 3)
    sums = FactorSums(domain, "add-remove", 2, 1, 0.9, 1.0)
    people, items = on_sphere(3, 2, 1.0, 5), on_sphere(3, 2, 1.0, 6)
    rows = [(0, 4, None), (3, 3, 1), (None, 2, 4)]
    together = of_factors(sums, people, items, ratings_of(domain, rows))
    alone = [
        of_factors(sums, people, items, ratings_of(domain, [r if k == j else (None,) * 3 for j, r in e]))
        for k, e in enumerate([list(enumerate(rows))] * 3)
    ]
    for place, (_, values) in enumerate(together):
        np.testing.assert_array_equal(values, sum(part[place][1] for part in alone))


# -- sums of errors times factors -------------------------------------------------------------------------


def on_sphere(n, rank, radius, seed):
    rows = np.random.default_rng(seed).standard_normal((n, rank))
    return radius * rows / np.linalg.norm(rows, axis=1, keepdims=True)


def of_factors(sums, people, items, ratings, levels=None):
    middle = np.full(sums.domain.n_items, sums.domain.scale.mid) if levels is None else levels[0]
    at_home = np.zeros(sums.domain.n_users) if levels is None else levels[1]
    entries = sums.residuals.entries(ratings, middle, at_home)
    return [
        (sums.query("users", 1), sums.users(entries, people, items)),
        (sums.query("items", 1), sums.items(entries, people, items)),
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
def test_no_neighbours_move_factor_sums_by_more_than_their_sensitivity(scale, adjacency, part, radius):
    domain = domain_of(3, 3, scale)
    sums = FactorSums(domain, adjacency, 2, 1, part * domain.scale.span, radius)
    largest = {}
    for people, items in released(3, 3, radius * (1 - 1e-9)):
        worst = exhaustive(domain, adjacency, partial(of_factors, sums, people, items))
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
    seed, rank, radius, part, scale, adjacency, level
):
    rng = np.random.default_rng(seed)
    n_users, n_items = 4, 9
    domain = domain_of(n_items, n_users, scale)
    sums = FactorSums(domain, adjacency, rank, 1, part * domain.scale.span, radius)
    sizes = rng.choice([0.0, 0.5, 1.0, 1.7, 1e6], (n_users + n_items, 1))
    drawn = sums.in_ball(sizes * radius * rng.standard_normal((n_users + n_items, rank)))
    people, items = drawn[:n_users], drawn[n_users:]
    span, top = domain.scale.span, domain.scale.levels - 1
    levels = rng.uniform(-span, 2 * span, n_items), np.full(n_users, level * span)
    rows = rng.integers(top + 1, size=(n_users, n_items)).astype(object)
    rows[rng.random(rows.shape) < 0.4] = None
    who, what = rng.integers(n_users), rng.integers(n_items)
    rows[who, what] = None if adjacency == "add-remove" else 0
    here = of_factors(sums, people, items, ratings_of(domain, rows), levels)
    rows[who, what] = int(rng.integers(adjacency == "replace", top + 1))
    there = of_factors(sums, people, items, ratings_of(domain, rows), levels)
    for (query, one), (_, two) in zip(here, there, strict=True):
        assert exceeds(query, one, two) <= 1
        touched = np.abs(one - two).any(axis=1)
        assert touched.sum() <= 1, "one rating is in one row"


def climbed(sums, rng, rounds=150):
    """Hill climbing over both factors and the rating that is new: the largest distance/Δ found."""
    domain, best = sums.domain, {"users": 0.0, "items": 0.0}
    people, items = (sums.in_ball(rng.standard_normal((n, sums.rank))) for n in (2, 5))
    blank = ratings_of(domain, [(None,) * 5] * 2)
    for _ in range(rounds):
        trial = [sums.in_ball(side + 0.5 * rng.standard_normal(side.shape)) for side in (people, items)]
        row = [None, None, int(rng.integers(5)), None, None]
        before = of_factors(sums, *trial, blank)
        after = of_factors(sums, *trial, ratings_of(domain, [(None,) * 5, row]))
        found = {q.name[:5]: exceeds(q, one, two) for (q, one), (_, two) in zip(before, after, strict=True)}
        if sum(found.values()) > sum(best.values()):
            (people, items), best = trial, found
    return best


@pytest.mark.parametrize("radius", [1.0, 0.42])
def test_the_worst_factors_come_near_to_the_bound_and_never_pass_it(radius):
    """Both sides at once: an error beyond the clip, and both rows on the sphere."""
    sums = FactorSums(domain_of(5, 2), "add-remove", 3, 1, 0.8, radius)
    best = climbed(sums, np.random.default_rng(3))
    print(f"radius {radius:g}: {best}")
    assert all(0.99 < ratio <= 1 for ratio in best.values())


def worst_of_factors(sums, measure=of_factors, size=1 - 1e-9):
    domain = sums.domain
    people, items = size * sums.radius * np.eye(2)[[0, 0, 1]], -size * sums.radius * np.eye(2)[[0, 1, 0]]
    return max(exhaustive(domain, sums.adjacency, lambda r: measure(sums, people, items, r)).values())


def test_an_understated_sensitivity_is_found():
    for adjacency in ADJACENCIES:
        sums = FactorSums(domain_of(3, 3), adjacency, 2, 1, 0.8, 0.42)

        def understated(sums, people, items, ratings):
            for query, values in of_factors(sums, people, items, ratings):
                yield dataclasses.replace(query, sensitivity=0.97 * query.sensitivity), values

        assert worst_of_factors(sums) <= 1 < worst_of_factors(sums, understated)


def test_errors_that_are_not_clipped_are_found(monkeypatch):
    right = factor_sums.errors
    monkeypatch.setattr(factor_sums, "errors", lambda *arguments: right(*arguments[:-1], 2**30))
    assert worst_of_factors(FactorSums(domain_of(3, 3), "add-remove", 2, 1, 0.8, 0.42)) > 2


def test_a_row_longer_than_the_radius_is_refused_and_would_be_found(monkeypatch):
    sums = FactorSums(domain_of(3, 3), "add-remove", 2, 1, 0.8, 0.42)
    for size in (1.01, 20.0, 1e4):
        with pytest.raises(ValueError, match="in the ball"):
            worst_of_factors(sums, size=size)
    monkeypatch.setattr(FactorSums, "on_grid", lambda self, rows: np.trunc(rows * 2**14).astype(np.int32))
    assert worst_of_factors(sums, size=1.05) > 1


@pytest.mark.parametrize("size", [2.0**17.6, 1e18, 1e100, np.nan])
def test_a_row_of_any_length_is_refused(size):
    """Also where its square in integers would pass 2^63 and come out below 0, and where it is no number."""
    sums = FactorSums(domain_of(3, 3), "add-remove", 2, 1, 0.8, 0.42)
    with pytest.raises(ValueError, match="in the ball"):
        sums.on_grid(np.full((3, 1), size))


def test_errors_taken_at_factors_that_are_not_released_are_found():
    """Had the others' vectors been fitted to the data first, one rating would move more rows than one."""
    sums = FactorSums(domain_of(3, 3), "add-remove", 2, 1, 0.8, 1.0)

    def fitted(sums, people, items, ratings):
        moved = np.bincount(ratings.items, minlength=3)[:, None] * 0.3 * items
        return of_factors(sums, people, sums.in_ball(items - moved), ratings)

    assert worst_of_factors(sums, fitted) > 1


# -- every rating by itself -------------------------------------------------------------------------------


class Door:
    """Stands where the grant stands, and sees what comes to it."""

    def release(self, bounded):
        self.came = bounded, bounded.values
        return Noisy(bounded.name, bounded.values * bounded.step, 1.0, bounded.step, None)

    def release_matrix(self, bounded, *, threshold, limit):
        assert 1 <= threshold <= limit
        dense = np.zeros(bounded.shape, dtype=np.int64)
        rows = np.repeat(np.arange(bounded.shape[0]), np.diff(bounded.indptr))
        dense[rows, bounded.columns] = bounded.values
        self.came = bounded, dense
        none = np.zeros(0, dtype=np.int32)
        indptr = np.zeros(bounded.shape[0] + 1, dtype=np.int64)
        return NoisyMatrix(bounded.name, bounded.shape, indptr, none, none, 1.0, bounded.step, None)


def of_cells(cells, effects, ratings):
    door, query = Door(), cells.query()
    entries = cells.residuals.entries(ratings, effects, np.linspace(-0.4, 0.4, cells.domain.n_users))
    cells.release(door, entries)
    bounded, values = door.came
    assert (bounded.name, bounded.sensitivity, bounded.norm) == (query.name, query.sensitivity, query.norm)
    assert query.size in (0, bounded.size)
    yield query, values


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_neighbours_move_cells_by_more_than_their_sensitivity(scale, adjacency):
    domain = domain_of(3, 3, scale)
    lo, hi, _ = scale
    span, largest = hi - lo, 0.0
    for effects, part in (([lo, hi, lo + span / 2], 0.25), ([hi, lo + 0.3, lo], 0.5), ([lo] * 3, 1.0)):
        cells = Cells(domain, adjacency, part * span, 0.15 * span, 4 * part * span)
        worst = exhaustive(domain, adjacency, partial(of_cells, cells, np.array(effects)))
        assert max(worst.values()) <= 1
        largest = max(largest, *worst.values())
    assert largest > 0.99


def test_an_understated_clip_of_cells_is_found(monkeypatch):
    cells = Cells(domain_of(3, 3), "add-remove", 1.0, 0.5, 1.0)
    honest = cells.query()
    monkeypatch.setattr(Cells, "query", lambda self: dataclasses.replace(honest, sensitivity=0.9))
    narrow = exhaustive(cells.domain, "add-remove", lambda r: ((q, v) for q, v in of_bare(cells, r)))
    assert max(narrow.values()) > 1


def of_bare(cells, ratings):
    entries = cells.residuals.entries(ratings, np.full(3, 3.0), np.zeros(3))
    dense = np.zeros((3, 3), dtype=np.int64)
    dense[np.repeat(np.arange(3), np.diff(entries.indptr)), entries.items] = entries.values
    yield cells.query(), dense


# -- gradients from home ----------------------------------------------------------------------------------


def person(rng, n_items, n_ratings, low=0, high=5):
    row = [None] * n_items
    for i in rng.permutation(n_items)[:n_ratings]:
        row[i] = int(rng.integers(low, high))
    return row


def gave(gradients, row, factors, ridge, effects, rng):
    """What the sum moves by when this person comes to two others."""
    n = gradients.domain.n_items
    company = [person(rng, n, 5), person(rng, n, 1)]
    here, there = (
        gradients.measure(ratings_of(gradients.domain, [mine, *company]), effects, factors, ridge)
        for mine in (row, [None] * n)
    )
    return exceeds(gradients.query(1), here, there)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_ratings=st.sampled_from([1, 2, 10, 60, 200]),
    rank=st.integers(1, 8),
    size=st.sampled_from([0.0, 1e-6, 0.3, 1.0, 25.0]),
    ridge=st.sampled_from([1e-9, 1e-3, 1.0, 13.3]),
    clip=st.sampled_from([0.01, 0.8, 4.0]),
    contribution=st.sampled_from([0.1, 1.5, 3.0, 100.0]),
    scale=st.sampled_from(SCALES),
)
def test_nobody_at_home_moves_the_sum_by_more_than_he_may(
    seed, n_ratings, rank, size, ridge, clip, contribution, scale
):
    rng = np.random.default_rng(seed)
    domain = domain_of(200, 3, scale)
    gradients = HomeGradients(domain, rank, 1, clip, contribution)
    factors = size * on_sphere(200, rank, 1.0, seed)
    effects = rng.uniform(scale[0] - 1, scale[1] + 1, 200)
    row = person(rng, 200, n_ratings, high=domain.scale.levels)
    assert gave(gradients, row, factors, ridge, effects, rng) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_people_at_home_contribute_independently(seed):
    """To the last bit, or one's coming would change what others round to."""
    rng = np.random.default_rng(seed)
    domain = domain_of(200, 12)
    gradients = HomeGradients(domain, 3, 1, 0.8, 0.7)
    factors, effects = on_sphere(200, 3, 1.0, seed), rng.uniform(1, 5, 200)
    rows = [person(rng, 200, int(n)) for n in rng.choice([0, 1, 7, 33, 150, 200], 12)]
    silent = [None] * 200
    alone = [[row if k == j else silent for j, row in enumerate(rows)] for k in range(12)]
    together, *each = (
        gradients.measure(ratings_of(domain, case), effects, factors, 0.3) for case in (rows, *alone)
    )
    np.testing.assert_array_equal(together, sum(each))


HEAVY = [0, 4] * 100


def test_who_rated_much_gives_what_he_may_and_no_more():
    rng = np.random.default_rng(1)
    found = []
    for contribution in (0.05, 0.2, 1.5):
        gradients = HomeGradients(domain_of(200, 3), 4, 1, 0.8, contribution)
        found.append(gave(gradients, HEAVY, on_sphere(200, 4, 1.0, 2), 0.1, np.full(200, 3.0), rng))
    print(f"largest ratios at home: {found}")
    assert max(found) <= 1
    assert min(found) > 0.98, "truncation takes next to nothing"


def test_an_understated_contribution_is_found(monkeypatch):
    gradients = HomeGradients(domain_of(200, 3), 4, 1, 0.8, 1.5)
    honest = gradients.query(1)
    monkeypatch.setattr(
        HomeGradients, "query", lambda self, number: dataclasses.replace(honest, sensitivity=0.97 * 1.5)
    )
    factors = on_sphere(200, 4, 1.0, 2)
    assert gave(gradients, HEAVY, factors, 0.1, np.full(200, 3.0), np.random.default_rng(1)) > 1


def test_gradients_clipped_rating_by_rating_are_found(monkeypatch):
    """Each of 200 ratings within the bound is √200 times too much."""

    def each(indptr, items, values, factors, ridge, bound, clip, step):
        sums = np.zeros(factors.shape, dtype=np.int64)
        for start, stop in itertools.pairwise(indptr):
            mine, own = items[start:stop], values[start:stop]
            q = factors[mine]
            taste = np.linalg.solve(q.T @ q + ridge * np.eye(factors.shape[1]), q.T @ own)
            given = np.clip(own - q @ taste, -bound, bound)[:, None] * taste
            norms = np.linalg.norm(given, axis=1, keepdims=True)
            given *= np.minimum(1, clip / np.maximum(norms, 1e-300))
            np.add.at(sums, mine, np.trunc(given / step).astype(np.int64))
        return sums

    monkeypatch.setattr(home, "home_gradients", each)
    gradients = HomeGradients(domain_of(200, 3), 4, 1, 0.8, 0.2)
    factors = on_sphere(200, 4, 1.0, 2)
    assert gave(gradients, HEAVY, factors, 0.1, np.full(200, 3.0), np.random.default_rng(1)) > 5


def test_gradients_rounded_to_nearest_are_found(monkeypatch):
    """On a coarse grid the entries of one who rated much may all round up; truncated they never do."""

    def nearest(indptr, items, values, factors, ridge, bound, clip, step):
        fine = right(indptr, items, values, factors, ridge, bound, clip, step * 2.0**-20)
        return np.rint(fine * 2.0**-20).astype(np.int64)

    right = home.home_gradients
    monkeypatch.setattr(home, "_STEP_BITS", 2)
    gradients = HomeGradients(domain_of(200, 3), 1, 1, 4.0, 0.125)
    factors, effects, rng = np.ones((200, 1)), np.zeros(200), np.random.default_rng(1)
    row = [4] * 61 + [None] * 139  # 0.125/√61 is 0.51 steps
    ratios = []
    for kernel in (right, nearest):
        monkeypatch.setattr(home, "home_gradients", kernel)
        ratios.append(gave(gradients, row, factors, 13.0, effects, rng))
    assert ratios[0] <= 1 < 1.5 < ratios[1]
