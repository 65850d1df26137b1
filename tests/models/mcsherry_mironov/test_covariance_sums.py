"""The same ratings give the same bits, whatever the order of rows, the number of threads or of chunks."""

import itertools

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.people import People
from hushrec.data.synthetic import netflix_like
from hushrec.estimation.head import Head
from hushrec.kernels.csr import unpack
from hushrec.models.mcsherry_mironov.sums import CovarianceSums, HeadRatings, of_head
from hushrec.sums.item_sums import EffectSums
from support.sums import summed

SMALL = netflix_like(300, 60, 6000, seed=1).capped(60)


def all_sums(ratings, unit, threads=1, shift=0.0, head=None):
    domain = ratings.domain
    effects = EffectSums(domain, unit, "add-remove", "l2", reg=2, origin=3.0)
    covariance = CovarianceSums(
        domain, unit, "add-remove", "l2", 2.0, 0.65, 300, contribution_cap=20.0, offset=5.0, threads=threads
    )
    released = np.linspace(2, 4.5, domain.n_items) + shift, 0.05
    people = ratings
    found = [*effects.measure(people), *covariance.measure(people, *released, head)]
    return {query.name: values for query, values in summed(found)}


@pytest.mark.parametrize("unit", ["record", "user"])
def test_sums_do_not_depend_on_the_order_of_rows(unit):
    ratings = netflix_like(300, 60, 6000, seed=1).capped(60)
    table = pl.from_arrow(ratings.table())
    once = all_sums(ratings, unit)
    for seed in range(3):
        again = all_sums(load(table.sample(fraction=1.0, shuffle=True, seed=seed), ratings.domain), unit)
        for name, values in once.items():
            np.testing.assert_array_equal(values, again[name], err_msg=name)
    other = all_sums(ratings, unit, shift=0.01)
    assert (other["covariance"] != once["covariance"]).any(), "the test would see a difference"


@pytest.mark.parametrize("unit", ["record", "user"])
def test_the_order_of_the_head_is_that_of_the_matrices(unit):
    """The same cells, wherever they stand."""
    ratings = netflix_like(300, 60, 6000, seed=4).capped(60)
    order = np.random.default_rng(0).permutation(60)
    once, again = all_sums(ratings, unit), all_sums(ratings, unit, head=Head(60, order))
    for name in ("covariance", "co-rating weights"):
        square = unpack(once[name], 60, np.int64)
        np.testing.assert_array_equal(unpack(again[name], 60, np.int64), square[np.ix_(order, order)])
        assert (once[name] != again[name]).any(), "the test would see another order"


def test_nothing_is_summed_before_it_is_asked_for_and_both_matrices_are_summed_at_once(monkeypatch):
    """As the second part of a fit that was killed after the first needs."""
    calls = []
    add = CovarianceSums._add
    monkeypatch.setattr(CovarianceSums, "_add", lambda *given: calls.append(1) or add(*given))
    sums = CovarianceSums(SMALL.domain, "user", "add-remove", "l2", 2.0, 0.65, 300, 20.0, 5.0)
    first, second = sums.measure(SMALL, np.full(60, 3.0), 0.0)
    assert not calls
    together = [first[1](), second[1]()]
    assert len(calls) == 1
    _, alone = sums.measure(SMALL, np.full(60, 3.0), 0.0)
    assert np.array_equal(alone[1](), together[1])


# -- sums of far more people than were declared still fit: an error after the charge would cost it --------


DECLARED = 1 << 14  # as many as bring the finest weights to their limit under either norm


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("unit", ["user", "record"])
@pytest.mark.full
def test_a_covariance_has_room_for_forty_times_the_declared_users(norm, unit):
    domain = Domain(["a", "b"], scale=(1, 5, 1), max_users=DECLARED, max_per_user=10)
    people = 40 * DECLARED
    # One rating each, at full weight, of the item that everybody rated, as far from its effect as may be.
    ratings = People(
        domain,
        [f"{number:06d}" for number in range(people)],
        np.arange(people + 1),
        np.zeros(people, dtype=np.int32),
        np.full(people, 4, dtype=np.uint8),
    )
    sums = CovarianceSums(
        domain,
        unit=unit,
        adjacency="add-remove",
        norm=norm,
        clip=1.0,
        limit=4.0,
        reg=50,
        contribution_cap=1.0,
        offset=0.0,
    )
    measured = summed(sums.measure(ratings, np.ones(2), 0.0))
    found = {query.name: values for query, values in measured}
    head = people * int(sums.weights.steps[1])
    assert found["co-rating weights"].tolist() == [head, 0, 0]
    assert ratings.values is not None
    rows = HeadRatings(ratings.indptr, ratings.items, ratings.values)
    assert (sums.entries(rows, np.ones(2), 0.0) == sums.bound).all()
    assert found["covariance"].tolist() == [head * sums.bound**2 >> sums.dropped_bits, 0, 0]


# -- sums over the head of a catalogue are those of a catalogue without a tail, in bits and in ------------


N, HEAD = 40, Head(40, np.array([0, 3, 5, 11, 12, 20, 38]))
EFFECTS = np.linspace(1.5, 4.5, N)
UNITS = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]


@pytest.fixture(scope="module")
def ratings():
    return netflix_like(200, N, 2500, seed=5).capped(30)


def sums_of(domain, unit="record", adjacency="add-remove", norm="l2", *, pair_items=None, **settings):
    chosen = {"limit": 2.0, "clip": 0.65, "reg": 3, "contribution_cap": 2.0, "offset": 1.0, **settings}
    return CovarianceSums(domain, unit, adjacency, norm, threads=1, pair_items=pair_items, **chosen)


def alone(ratings, head):
    """The same ratings in a catalogue of the head alone, put together one by one."""
    domain = ratings.domain
    items = [domain.items[item] for item in head.items]
    place = {int(item): k for k, item in enumerate(head.items)}
    users, counts, kept, steps = [], [], [], []
    for u, user in enumerate(ratings.users.to_pylist()):
        own = range(ratings.indptr[u], ratings.indptr[u + 1])
        found = [
            (place[int(ratings.items[p])], ratings.values[p]) for p in own if int(ratings.items[p]) in place
        ]
        if found:
            users.append(user)
            counts.append(len(found))
            kept += [item for item, _ in found]
            steps += [step for _, step in found]
    small = Domain(items, scale=(1, 5, 1), max_per_user=domain.max_per_user, max_users=domain.max_users)
    return People(small, users, np.cumsum([0, *counts]), np.array(kept), np.array(steps))


def test_everybodys_ratings_of_the_head_are_left_and_nobody_is_dropped(ratings):
    made, small = of_head(ratings, HEAD.places), alone(ratings, HEAD)
    assert made.n_users == ratings.n_users
    assert made.items.tolist() == small.items.tolist()
    assert made.steps.tolist() == small.values.tolist()
    assert made.counts[made.counts > 0].tolist() == small.counts.tolist()


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_the_bits_and_queries_are_those_of_a_catalogue_of_the_head(ratings, unit, adjacency, norm):
    """Another cap than the head's size, so that a weight of all of somebody's ratings would show."""
    small = alone(ratings, HEAD)
    whole = sums_of(ratings.domain, unit, adjacency, norm, pair_items=len(HEAD.items))
    found = [*summed(whole.measure(ratings, EFFECTS, 0.1, HEAD))]
    of_small = sums_of(small.domain, unit, adjacency, norm)
    wanted = [*summed(of_small.measure(small, EFFECTS[HEAD.items], 0.1))]
    for (query, values), (other, expected) in zip(found, wanted, strict=True):
        assert query == other
        assert values.any()
        np.testing.assert_array_equal(values, expected)


def test_a_head_of_another_size_than_planned_is_refused(ratings):
    sums = sums_of(ratings.domain, pair_items=8)
    with pytest.raises(ValueError, match="the head must have the 8 items that were planned"):
        next(sums.measure(ratings, EFFECTS, 0.1, HEAD))
    with pytest.raises(ValueError, match="8 items"):
        next(sums.measure(ratings, EFFECTS, 0.1))


# -- neighbours ------------------------------------------------------------------------------------------


def rows_of(domain, rows):
    kept = [[(i, r - 1) for i, r in enumerate(row) if r] for row in rows]
    kept = [row for row in kept if row]
    users = [f"u{k:04d}" for k in range(len(kept))]
    items = np.array([i for row in kept for i, _ in row], dtype=np.int32)
    steps = np.array([s for row in kept for _, s in row], dtype=np.uint8)
    return People(domain, users, np.cumsum([0, *map(len, kept)]), items, steps)


def neighbours(row, unit, adjacency, stars):
    if unit == "user":
        yield (0,) * len(row)
        return
    for i, r in enumerate(row):
        if (r == 0) == (adjacency == "add-remove"):
            yield from ((*row[:i], new, *row[i + 1 :]) for new in stars if new != r)


OTHERS = [*[(5, 1, 0, 0)] * 8, *[(5, 0, 5, 0)] * 8]
"""As many ratings of the second item as of the third, which could not differ more."""


def worst(sums, head_of, stars=(1, 3, 5)):
    """Largest distance/Δ between one person's rows of all kinds and their neighbours, beside the others'."""
    n, largest = sums.domain.n_items, 0.0
    effects = np.array([1.0, 5.0, 2.7, 3.0])[:n]

    def values(row):
        people = rows_of(sums.domain, [row, *OTHERS])
        return [*summed(sums.measure(people, effects, 0.3, head_of(people)))]

    made = {row: values(row) for row in itertools.product((0, *stars), repeat=n)}
    for row, here in made.items():
        for other in neighbours(row, sums.unit, sums.adjacency, stars):
            for (query, one), (_, two) in zip(here, made[other], strict=True):
                change = np.abs(one - two) * query.step
                moved = change.sum() if query.norm == "l1" else np.sqrt((change**2).sum())
                assert query.sensitivity or not moved
                largest = max(largest, moved / query.sensitivity if query.sensitivity else 0.0)
    return largest


def fixed(_):
    return Head(4, np.array([0, 2]))


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_no_neighbours_move_the_covariance_of_a_head_by_more_than_its_sensitivity(unit, adjacency, norm):
    domain, largest = Domain(range(4), scale=(1, 5, 1), max_per_user=3, max_users=1000), 0.0
    for reg in (0, 20):
        sums = sums_of(domain, unit, adjacency, norm, pair_items=2, reg=reg)
        largest = max(largest, worst(sums, fixed))
    assert 0.6 < largest <= 1, "a bound this loose would not have noticed a fault"
