"""Users as integer vectors: the definition in exact arithmetic, and sums that fit 64 bits whoever comes."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from hushrec.estimation.head import Head
from hushrec.models.lists.sums import LARGEST, WEIGHT_BITS, ItemWeights, PairSums, largest_pull, project_users
from support.interactions import interactions_of

UNITS = ["user", "record"]


def some_lens(n=12, kept=None, seed=0):
    rng = np.random.default_rng(seed)
    kept = np.arange(n) if kept is None else np.asarray(kept)
    return ItemWeights(Head(n, kept), rng.uniform(0.01, 1, len(kept)), rng.uniform(0, 1, len(kept)))


def exact(lens, row, unit):
    """A user's ‖y‖², ⟨v, y⟩, τ and weight, all in steps, by integers of any size."""
    at = [place for place in (int(lens.head.places[item]) for item in row) if place >= 0]
    along, y = [int(v) for v in lens.along], {place: int(lens.entries[place]) for place in at}
    square, product = sum(e * e for e in y.values()), sum(along[k] * e for k, e in y.items())
    multiple = Fraction(product << 12, sum(v * v for v in along)) + Fraction(1, 2)
    multiple = multiple.numerator // multiple.denominator
    size = Fraction(
        sum((4096 * y.get(k, 0) - multiple * v) ** 2 for k, v in enumerate(along)), 4096**2
    )  # ‖z‖²
    least = max(2**13, square >> 9) if unit == "user" else 2**14
    if size < least:
        return square, product, multiple, 0
    root = 2 ** WEIGHT_BITS[unit] / size if unit == "user" else 2 ** (2 * WEIGHT_BITS[unit]) / size
    root = root.numerator // root.denominator
    return square, product, multiple, root if unit == "user" else isqrt(root)


@pytest.mark.parametrize("unit", UNITS)
def test_vectors_are_those_of_the_definition(unit):
    rng = np.random.default_rng(1)
    for seed in range(10):
        lens = some_lens(40, np.flatnonzero(rng.random(40) < 0.8), seed)
        rows = [rng.permutation(40)[:n] for n in (1, 1, 1, 2, 3, 5, 8, 13, 39, 40)]
        made = project_users(interactions_of(40, rows), lens, unit)
        facts = zip(made.square, made.product, made.multiple, made.weight, strict=True)
        assert [tuple(map(int, each)) for each in facts] == [exact(lens, row, unit) for row in rows]
        for user, row in enumerate(rows):
            own = slice(made.indptr[user], made.indptr[user + 1])
            kept = sorted(set(row.tolist()) & set(lens.head.items.tolist()))
            assert lens.head.items[made.items[own]].tolist() == kept
            assert made.entries[own].tolist() == lens.entries[lens.head.places[kept]].tolist()


def test_weights_are_rounded_to_a_thousandth_and_a_direction_has_length_one():
    lens = ItemWeights(Head(5, np.array([1, 3, 4])), np.array([1.0, 0.5, 1e-9]), np.array([3.0, 4.0, 0.0]))
    assert lens.entries.tolist() == [1024, 512, 0]
    assert lens.along.tolist() == [2458, 3277, 0]
    assert lens.head.places.tolist() == [-1, 0, -1, 1, 2]
    for n in (1, 2, 1000, LARGEST):
        length = np.sqrt(some_lens(n).square) / 4096
        assert 0.97 < length < 1.03
    nothing = ItemWeights(Head(2, np.arange(2)), np.ones(2), np.zeros(2))
    assert np.sqrt(nothing.square) == 4096


@pytest.mark.parametrize("unit", UNITS)
def test_who_is_about_parallel_to_the_direction_counts_as_zero(unit):
    """Of τ times the direction only rounding is left; a part of z above the threshold counts."""
    lens = ItemWeights(Head(101, np.arange(101)), np.ones(101), np.append(np.ones(100), 0))
    everything, more = project_users(
        interactions_of(101, [range(100), range(101)]), lens, unit
    ).weight.tolist()
    assert everything == 0
    assert more == pytest.approx(2 ** (17 if unit == "user" else 21), rel=1e-4), "z is the last item"


def hostile():
    """Users of many items, at angles to the direction around those at which they begin to count."""
    for n in (2, 30, 1000, LARGEST):
        for odd in (0.0, 1e-4, 1e-3, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0):
            away = odd * np.where(np.arange(n) % 2, 1, -1)
            yield ItemWeights(Head(n, np.arange(n)), np.ones(n), 1 + away), n
        yield ItemWeights(Head(n, np.arange(n)), np.ones(n), np.r_[1, np.full(n - 1, 1e-9)]), n
        yield ItemWeights(Head(n, np.arange(n)), np.ones(n), np.zeros(n)), n


def largest_terms(lens, n, unit):
    """The most that a user with all items adds to a cell, to an item's part along v, and to its square."""
    user = project_users(interactions_of(n, [range(n)]), lens, unit)
    weight, multiple, square = int(user.weight[0]), abs(int(user.multiple[0])), int(user.square[0])
    dropped = 13 if unit == "user" else 17
    assert 0 <= weight <= 2**24, "the kernel's range"
    assert weight * square < 2**60, "the kernel takes one user at least"
    assert max(weight * multiple * 1024, weight * multiple**2) < 2**62
    return [weight * 2**20 >> dropped, weight * multiple * 1024 >> dropped, weight * multiple**2 >> dropped]


def test_sums_of_a_billion_hostile_users_fit():
    for lens, n in hostile():
        cell, item, square = largest_terms(lens, n, "user")
        assert max(cell, item) << 30 < 2**62
        assert square << 30 < 2**76, "kept in two words"


def test_sums_of_many_hostile_users_fit_for_single_interactions():
    worst = 0
    for lens, n in hostile():
        cell, item, square = largest_terms(lens, n, "record")
        assert cell << 30 < 2**62
        assert square << 27 < 2**76
        worst = max(worst, item)
    assert worst << 27 < 2**62, "a hundred million with all of the most items"


@pytest.mark.parametrize("unit", UNITS)
def test_of_as_many_people_as_are_taken_every_sum_fits_whatever_they_give(unit):
    """The bound is never exceeded, and nearly reached by the worst of them."""
    nearest = 0.0
    for lens, n in hostile():
        user = project_users(interactions_of(n, [range(n)]), lens, unit)
        weight, multiple = int(user.weight[0]), abs(int(user.multiple[0]))
        item = max(weight * multiple * 1024, weight * multiple**2 * int(np.abs(lens.along).max()) >> 13)
        assert item <= largest_pull(n, unit)
        sums = PairSums(n, unit)
        dropped = 13 if unit == "user" else 17
        assert ((item >> dropped) + 1) * sums.most_people < 2**63
        nearest = max(nearest, item / largest_pull(n, unit))
    assert nearest > 0.1
    assert PairSums(5000, unit).most_people > 900_000_000
