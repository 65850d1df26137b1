"""Pairs of items: the same bits as in exact arithmetic, and nobody moves them by more than Δ."""

import dataclasses
import itertools
from functools import lru_cache

import numpy as np
import pytest

from hushrec.estimation.head import Head
from hushrec.models.lists import sums
from hushrec.models.lists.sums import ItemWeights, PairSums, project_users
from support.interactions import interactions_of, people_of
from support.packed import packed

UNITS = ["user", "record"]
BESIDE = [[0, 1], [1, 2, 3], [0]]
"""Two or three others, whose sums bring the rounding of totals to other places."""


def lens_of(weights, direction, n_items=None):
    n = len(weights)
    return ItemWeights(
        Head(n_items or n, np.arange(n)), np.asarray(weights, float), np.asarray(direction, float)
    )


def at_random(n, rng):
    return lens_of(rng.uniform(0.05, 1, n), rng.uniform(0, 1, n))


def measured(people, lens, unit, threads=1):
    """Name → (query, values in steps)."""
    sums = PairSums(len(lens.head.items), unit, threads)
    found = {query.name: (query, values) for query, values in sums.measure(people, lens)}
    assert [query for query, _ in found.values()] == [*sums.queries()]
    return found


def same(one, other):
    assert one.keys() == other.keys()
    return all((one[name][1] == other[name][1]).all() for name in one)


# -- what they are ----------------------------------------------------------------------------------------


def exact_pairs(rows, lens, unit):
    """Above the diagonal, by integers of any size: sums rounded down to 2^-24 once, their correction once."""
    users = project_users(interactions_of(lens.head.n_items, rows), lens, unit)
    n, dropped = len(lens.head.items), 13 if unit == "user" else 17
    gram, cross, square = np.zeros((n, n), object), np.zeros(n, object), 0
    for user, (weight, multiple) in enumerate(
        zip(users.weight.tolist(), users.multiple.tolist(), strict=True)
    ):
        y = np.zeros(n, object)
        own = slice(users.indptr[user], users.indptr[user + 1])
        y[users.items[own]] = users.entries[own].tolist()
        gram += weight * np.outer(y, y)
        cross += np.array([weight * multiple * int(entry) >> dropped for entry in y], object)
        square += weight * multiple**2 >> dropped
    v = np.array(lens.along.tolist(), object)
    b = cross - (square * v >> 13)
    full = (gram >> dropped) - (np.outer(b, v) + np.outer(v, b) >> 12)
    return full[np.triu_indices(n, 1)].tolist()


def dense_pairs(rows, lens, unit):
    """Σ w z zᵀ above the diagonal, in floats, with z at a right angle to v."""
    y = np.zeros((len(rows), len(lens.head.items)))
    for user, row in enumerate(rows):
        at = lens.head.places[np.asarray(row, dtype=np.int64)]
        y[user, at[at >= 0]] = lens.weights[at[at >= 0]]
    v = lens.direction / np.linalg.norm(lens.direction)
    z = y - np.outer(y @ v, v)
    lengths = np.maximum(np.linalg.norm(z, axis=1), 1e-9)
    z[lengths < 0.1] = 0
    return (z.T @ (z / lengths[:, None] ** (2 if unit == "user" else 1)))[np.triu_indices(z.shape[1], 1)]


@lru_cache
def some_rows(n_users=150, n_items=30, seed=4):
    rng = np.random.default_rng(seed)
    return tuple(tuple(rng.permutation(n_items)[: rng.integers(1, n_items + 1)]) for _ in range(n_users))


@pytest.mark.parametrize("unit", UNITS)
def test_the_pairs_have_the_bits_of_exact_arithmetic(unit):
    rows, rng = some_rows(), np.random.default_rng(3)
    kept = np.array([1, 2, 3, 5, 8, 13, 21, 22, 29])
    few = ItemWeights(Head(30, kept), rng.uniform(0, 1, 9), rng.uniform(0, 1, 9))
    for lens in (at_random(30, rng), lens_of(np.ones(30), np.ones(30)), few):
        found = measured(people_of(30, rows), lens, unit)["item pairs"][1]
        assert found.tolist() == exact_pairs(rows, lens, unit)


@pytest.mark.parametrize("unit", UNITS)
def test_the_pairs_are_the_gram_matrix_of_what_is_left_of_users(unit):
    """To the rounding of d, v and τ: each is off by half a step of 2^-10 or 2^-12."""
    rows, lens = some_rows(), at_random(30, np.random.default_rng(5))
    query, values = measured(people_of(30, rows), lens, unit)["item pairs"]
    expected = dense_pairs(rows, lens, unit)
    assert np.abs(expected).max() > 5
    assert np.abs(values * query.step - expected).max() < 0.02


@pytest.mark.parametrize("unit", UNITS)
def test_the_popular_part_is_what_lies_along_the_direction(unit):
    rows, lens = some_rows(), at_random(30, np.random.default_rng(6))
    found = measured(people_of(30, rows), lens, unit)
    y = np.zeros((len(rows), 30))
    for user, row in enumerate(rows):
        y[user, list(row)] = lens.weights[list(row)]
    lengths = np.linalg.norm(y, axis=1)
    along = y @ lens.direction / np.linalg.norm(lens.direction)
    share = along**2 / np.maximum(lengths, 1e-9) ** (2 if unit == "user" else 1)
    query, values = found["popular part"]
    assert values * query.step == pytest.approx(share.sum(), rel=2e-3)
    if unit == "record":
        query, values = found["vector lengths"]
        assert values * query.step == pytest.approx(lengths.sum(), rel=2e-3)


@pytest.mark.parametrize("unit", UNITS)
def test_neither_order_nor_blocks_nor_threads_change_a_bit(unit, tmp_path):
    rows, lens = some_rows(), at_random(30, np.random.default_rng(7))
    plain = measured(people_of(30, rows), lens, unit)
    assert same(plain, measured(people_of(30, rows[::-1]), lens, unit))
    assert same(plain, measured(people_of(30, rows), lens, unit, threads=3))
    files = packed(interactions_of(30, rows), tmp_path / "blocks", 200)
    assert files.n_blocks > 5
    assert same(plain, measured(files, lens, unit))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("bits", [20, 45, 50])
def test_sums_that_need_two_words_have_the_same_bits(unit, bits, monkeypatch, tmp_path):
    rows, lens = some_rows(), at_random(30, np.random.default_rng(8))
    plain, numbers, right = measured(people_of(30, rows), lens, unit), [], sums.triangle_sums
    monkeypatch.setattr(sums, "_LARGEST_SUM", 2**bits)
    monkeypatch.setattr(sums, "triangle_sums", lambda *of: numbers.append(of[3]) or right(*of))
    assert same(plain, measured(people_of(30, rows), lens, unit))
    files = packed(interactions_of(30, rows), tmp_path / "blocks", 200)
    assert same(plain, measured(files, lens, unit))
    assert len(numbers) == 2
    assert bits > 20 or numbers == [2, 2], "two arrays in each of two runs"


def test_a_correction_of_huge_sums_is_exact():
    """Sums near 2^62, and a square of two words."""
    rng = np.random.default_rng(9)
    along = np.array([4, 12, 2, 0, 1, 40])  # in steps of 2^-12
    for square in (0, 1, 2**40 + 12345, 2**62 - 1, 2**68 + 77):
        cross = rng.integers(-(2**60), 2**60, 6) + np.array([square * v >> 13 for v in along.tolist()])
        packed = rng.integers(0, 2**60, 21)
        v, b = along.astype(object), cross.astype(object) - (square * along.astype(object) >> 13)
        full = np.zeros((6, 6), object)
        full[np.triu_indices(6)] = packed.tolist()
        full = full - (np.outer(b, v) + np.outer(v, b) >> 12)
        found = sums._correct(packed, cross, square, along)
        assert found.tolist() == full[np.triu_indices(6, 1)].tolist()


@pytest.mark.parametrize("unit", UNITS)
def test_nobody_adds_nothing(unit):
    lens = at_random(4, np.random.default_rng(1))
    assert not any(values.any() for _, values in measured(people_of(4, []), lens, unit).values())
    elsewhere = dataclasses.replace(lens, head=Head(5, lens.head.items))
    assert not any(values.any() for _, values in measured(people_of(5, [[4]]), elsewhere, unit).values())


# -- nobody moves them by more than Δ ---------------------------------------------------------------------


def ratios(search, lens, unit, one, other, bound=1.0):
    """Distance over ``bound`` · Δ by name, of neighbours beside the same others."""
    beside = [row for row in BESIDE if max(row) < lens.head.n_items]
    here = measured(people_of(lens.head.n_items, [*beside, one]), lens, unit)
    there = measured(people_of(lens.head.n_items, [*beside, *other]), lens, unit)
    return {
        name: search.exceeds(
            dataclasses.replace(query, sensitivity=bound * query.sensitivity), values, there[name][1]
        )
        for name, (query, values) in here.items()
    }


def worst(found):
    """The largest ratio of each query."""
    largest = {}
    for each in found:
        for name, ratio in each.items():
            largest[name] = max(largest.get(name, 0.0), ratio)
    return largest


def all_rows(n):
    return [row for k in range(n + 1) for row in itertools.combinations(range(n), k)]


def neighbours(n, unit):
    """Every user of n items without the user, or without one of the interactions."""
    for row in all_rows(n)[1:]:
        if unit == "user":
            yield row, []
        else:
            yield from ((row, [[i for i in row if i != left_out]]) for left_out in row)


def adversarial(n, rng):
    """Directions along users' vectors, near them, and far; weights that are equal, tiny, or of any size."""
    halves = np.where(np.arange(n) % 2, 1.0, 0.02)
    for weights in (np.ones(n), rng.uniform(0.01, 1, n), halves, np.r_[1, np.full(n - 1, 0.1)]):
        yield lens_of(weights, weights)
        yield lens_of(weights, np.where(np.arange(n) < n // 2, weights, 1e-3))
        yield lens_of(weights, weights * (1 + 0.2 * rng.standard_normal(n)))
        yield lens_of(weights, np.eye(n)[0])
        yield lens_of(weights, rng.uniform(0, 1, n))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.full
def test_no_neighbours_of_five_items_move_a_sum_by_more_than_delta(search, unit):
    rng = np.random.default_rng(2)
    found = [
        worst(ratios(search, lens, unit, *pair) for pair in neighbours(5, unit))
        for lens in adversarial(5, rng)
    ]
    assert max(worst(found).values()) <= 1
    assert worst(found)["popular part"] > (0.999 if unit == "user" else 0.85)
    if unit == "record":
        assert worst(found)["vector lengths"] > 0.99


def around_the_threshold(n, rng):
    """Weights and directions at which a user with all items but one begins to count."""
    for size in np.geomspace(0.02, 0.3, 12):
        away = rng.standard_normal(n)
        away *= size / np.linalg.norm(away)
        yield lens_of(np.clip(0.8 + away, 0, 1), np.r_[np.ones(n - 1), 0.0])


@pytest.mark.parametrize("unit", UNITS)
def test_no_neighbours_around_the_threshold_move_a_sum_by_more_than_delta(search, unit):
    n, rng = 40, np.random.default_rng(3)
    seen, found = set(), []
    for lens in around_the_threshold(n, rng):
        for last in (n - 1, n):
            row = [*range(last)]
            others = [[]] if unit == "user" else [[row[:k] + row[k + 1 :]] for k in (0, 7, last - 1)]
            found += [ratios(search, lens, unit, row, other) for other in others]
            seen.add(bool(project_users(interactions_of(n, [row]), lens, unit).weight[0]))
    assert seen == {True, False}, "some of them count, and some do not"
    assert max(worst(found).values()) <= 1


def long_users(unit, rng):
    """Users of few and many items beside the direction, along it and at random; one item added to rows."""
    for n in (3, 40, 300, 1100):
        beside = np.r_[np.ones(max(n // 10, 1)), np.zeros(n - max(n // 10, 1))]
        for weights, direction in (
            (np.ones(n), beside),
            (rng.uniform(0.2, 1, n), beside),
            (rng.uniform(0.2, 1, n), rng.uniform(0, 1, n)),
        ):
            lens = lens_of(weights, direction)
            for long in sorted({1, 2, n // 3, n * 9 // 10, n}):
                row = [*range(n - long, n)]
                yield lens, row, [] if unit == "user" else [row[1:]]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.full
def test_no_long_user_moves_the_pairs_by_more_than_delta_and_some_nearly_do(search, unit):
    found = worst(ratios(search, *pair) for pair in with_unit(unit))
    assert max(found.values()) <= 1
    assert found["item pairs"] > 0.995
    understated = worst(ratios(search, *pair, bound=0.99) for pair in with_unit(unit))
    assert understated["item pairs"] > 1


def with_unit(unit):
    for lens, one, other in long_users(unit, np.random.default_rng(6)):
        yield lens, unit, one, other
