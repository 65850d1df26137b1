"""Sums over the head of a catalogue are those of a catalogue without a tail, in bits and in sensitivity."""

import itertools

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.data.synthetic import netflix_like
from hushrec.estimation.head import Head
from hushrec.models.mcsherry_mironov import sums as covariance_sums
from hushrec.models.mcsherry_mironov.sums import CovarianceSums, of_head
from support.packed import packed
from support.sums import summed

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


def test_blocks_in_files_give_the_same_bits(ratings, tmp_path):
    sums = sums_of(ratings.domain, pair_items=len(HEAD.items))
    blocks = packed(ratings, tmp_path / "blocks", 300)
    assert blocks.n_blocks > 3
    here, there = (
        [values.tolist() for _, values in summed(sums.measure(source, EFFECTS, 0.1, HEAD))]
        for source in (ratings, blocks)
    )
    assert here == there


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


def by_true_counts(people):
    """The planted fault: a head that the ratings themselves choose."""
    (ratings,) = people.blocks()
    return Head.of(np.bincount(ratings.items, minlength=4).astype(np.float64), 2)


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_no_neighbours_move_the_covariance_of_a_head_by_more_than_its_sensitivity(unit, adjacency, norm):
    domain, largest = Domain(range(4), scale=(1, 5, 1), max_per_user=3, max_users=1000), 0.0
    for reg in (0, 20):
        sums = sums_of(domain, unit, adjacency, norm, pair_items=2, reg=reg)
        largest = max(largest, worst(sums, fixed))
    assert 0.6 < largest <= 1, "a bound this loose would not have noticed a fault"


@pytest.mark.parametrize("unit", ["record", "user"])
def test_a_head_chosen_by_the_ratings_themselves_is_found(unit):
    domain = Domain(range(4), scale=(1, 5, 1), max_per_user=3, max_users=1000)
    sums = sums_of(domain, unit, pair_items=2, reg=0)
    assert worst(sums, fixed) <= 1 < worst(sums, by_true_counts)


def test_a_tail_that_is_kept_is_found(monkeypatch):
    """The planted fault: items of the tail share the place of the head's last item."""

    def kept(block, places):
        return of_head(block, np.where(places < 0, len(places) // 2 - 1, places).astype(np.int32))

    domain = Domain(range(4), scale=(1, 5, 1), max_per_user=3, max_users=1000)
    people = rows_of(domain, [(0, 1, 3, 0)])
    monkeypatch.setattr(covariance_sums, "of_head", kept)
    with pytest.raises(ValueError, match="an item twice"):
        next(summed(sums_of(domain, pair_items=2).measure(people, np.full(4, 3.0), 0.0, fixed(people))))
