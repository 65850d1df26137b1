"""The law of a slot: its losses against the whole matrix, what it refuses, and that draws are repeatable."""

import hashlib
import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from hushrec.errors import BudgetError, GrantError
from hushrec.models.du_leighton_patel import substitution
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.models.du_leighton_patel.substitution import SubstitutionRandomizer, worst_per_slot
from hushrec.privacy.accounting.measurement import Responses, Substitutions


def distribution(keep, group, groups):
    members = np.array([j for own in groups for j in sorted(own)], np.int32)
    return SubstitutionRandomizer(keep, group, np.cumsum([0, *map(len, groups)]), members)


def matrix(of):
    """P(out = j | in = i), written down from the definition."""
    m = of.n_items
    chances = of.keep * np.eye(m)
    for i in range(m):
        own = of.members[of.indptr[i] : of.indptr[i + 1]]
        group = of.group if own.size else 0.0
        chances[i] += (1 - of.keep) * (1 - group) / m
        chances[i, own] += (1 - of.keep) * group / max(own.size, 1)
    return chances


def slot(chances):
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(chances.max(axis=0) / chances.min(axis=0)).max())


def random_laws(number, largest=8):
    generator = np.random.default_rng(3)
    for _ in range(number):
        m, filled = int(generator.integers(1, largest + 1)), generator.choice([0.0, 0.2, 0.5, 0.8, 1.0])
        groups = [[j for j in range(m) if j != i and generator.random() < filled] for i in range(m)]
        keep, group = generator.random(2) ** generator.choice([0.2, 1, 5])
        yield distribution(float(keep), float(group), groups)


def clusters(m, size):
    """Groups of ``size`` items each, and themselves."""
    starts = [i // (size + 1) * (size + 1) for i in range(m)]
    return [[j for j in range(a, min(a + size + 1, m)) if j != i] for i, a in enumerate(starts)]


def test_the_loss_of_a_slot_is_that_of_the_whole_matrix():
    for each in random_laws(400):
        chances = matrix(each)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        exact = slot(chances)
        assert exact <= each.per_slot <= exact + 1e-9


@pytest.mark.parametrize("m", [3, 5, 9])
def test_the_loss_of_a_slot_that_every_other_group_holds(m):
    """Nobody is far from the first item: one group holds it alone, the others beside all that there is."""
    groups = [[j for j in range(m) if j != i] for i in range(m)]
    groups[1] = [0]
    for keep, group in itertools.product(np.linspace(0, 0.9, 31), np.linspace(0, 0.9, 10)):
        each = distribution(float(keep), float(group), groups)
        assert slot(matrix(each)) <= each.per_slot <= slot(matrix(each)) + 1e-9


@pytest.mark.parametrize(
    "fault",
    [
        lambda each: distribution(each.group_probability, each.keep_probability, [[1, 2], [0, 2], [0], []]),
        lambda each: distribution(
            each.keep_probability * 1.05, each.group_probability, [[1, 2], [0, 2], [0], []]
        ),
        lambda each: distribution(each.keep_probability, each.group_probability, [[1, 2], [0, 2], [0], [0]]),
    ],
)
def test_another_law_has_another_loss(fault):
    each = distribution(0.6, 0.7, [[1, 2], [0, 2], [0], []])
    assert abs(fault(each).per_slot - slot(matrix(each))) > 0.01


@pytest.mark.parametrize(("chance", "epsilon"), [(0.8, 9.9), (0.9, 11.4), (0.95, 12.8), (0.97, 13.9)])
def test_a_thousand_items_lose_what_is_written_down_of_them(chance, epsilon):
    each = distribution(chance, chance, clusters(1000, 30))
    assert round(each.per_slot, 1) == epsilon
    assert each.per_slot <= worst_per_slot(chance, chance, 1000) < each.per_slot + 0.01
    assert each.distance_epsilon < each.per_slot - 1


def test_the_distance_based_loss_is_that_of_its_definition():
    for each in random_laws(300):
        near = np.eye(each.n_items)
        for j in range(each.n_items):
            near[each.members[each.indptr[j] : each.indptr[j + 1]], j] = 1
        exact = slot(matrix(each) @ near)
        assert exact - 1e-12 <= each.distance_epsilon <= exact + 1e-9
        assert each.distance_epsilon <= each.per_slot


def divergence(chances):
    pairs = itertools.product(chances, chances)
    return max(float((p * np.log(p / q)).sum()) for p, q in pairs)


def test_the_mean_loss_bounds_all_divergences_and_is_met_by_disjoint_groups():
    for each in random_laws(300):
        assert divergence(matrix(each)) <= each.expected <= each.per_slot
    mixed = [[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4], [7], [6], [9], [8], [], []]
    single = [*clusters(6, 2), [0]]  # one group of one item: no pair of such
    few = [[1], [], [], [], []]
    for groups in (clusters(8, 1), clusters(9, 2), mixed, [[]] * 5, single, few):
        for keep, group in ((0.7, 0.6), (0.1, 0.8)):
            each = distribution(keep, group, groups)
            assert each.expected == pytest.approx(divergence(matrix(each)), abs=1e-9)


@pytest.mark.full
def test_no_groups_lose_more_than_the_worst():
    for m, (keep, group) in itertools.product(
        (1, 2, 3, 4), [(0.9, 0.9), (0.05, 0.8), (0.5, 0.0), (0.3, 0.5)]
    ):
        bound, largest = worst_per_slot(keep, group, m), 0.0
        options = [
            [own for size in range(m) for own in itertools.combinations(set(range(m)) - {i}, size)]
            for i in range(m)
        ]
        for groups in itertools.product(*options):
            found = distribution(keep, group, groups).per_slot
            assert found <= bound
            largest = max(largest, found)
        if m > 2:  # some groups are as bad, so nothing smaller would do
            assert largest > bound - 1e-9


def test_no_larger_groups_lose_more_than_the_worst_either():
    for each in random_laws(200):
        assert each.per_slot <= worst_per_slot(each.keep_probability, each.group_probability, each.n_items)


def test_chances_of_zero_lose_everything():
    half = [[1], [0], [3], [2]]
    assert distribution(0.5, 1.0, half).per_slot == math.inf
    assert distribution(1.0, 0.5, half).per_slot == math.inf
    assert distribution(0.5, 1.0, half).distance_epsilon == math.inf
    assert distribution(0.5, 1.0, half).expected == math.inf
    assert worst_per_slot(0.5, 1.0, 4) == worst_per_slot(1.0, 0.5, 4) == math.inf
    everybody = [[j for j in range(4) if j != i] for i in range(4)]
    assert distribution(0.25, 1.0, everybody).per_slot < 1e-9  # uniform, whatever comes in
    assert distribution(0.5, 1.0, everybody).per_slot == pytest.approx(math.log(3))
    with pytest.raises(BudgetError, match="no finite"):
        Substitutions.of("cells", math.inf, 0.5, 1, 4)


def test_chances_are_rounded_down_before_they_are_priced():
    each = distribution(0.9, 0.3, [[1], [0], []])
    assert each.keep * 2**32 == math.floor(0.9 * 2**32)
    assert each.group * 2**32 == math.floor(0.3 * 2**32)
    assert 0 <= 0.9 - each.keep < 2**-32


@pytest.mark.parametrize(
    "arguments",
    [
        (1.1, 0.5, [0, 1, 1], [1]),
        (0.5, -0.1, [0, 1, 1], [1]),
        (math.nan, 0.5, [0, 1, 1], [1]),
        (0.5, 0.5, [0, 1, 1], [0]),
        (0.5, 0.5, [0, 1, 1], [2]),
        (0.5, 0.5, [0, 2, 2, 2], [2, 1]),
        (0.5, 0.5, [0, 2, 2, 2], [1, 1]),
        (0.5, 0.5, [0, 2, 1], [1]),
    ],
)
def test_what_is_no_law_is_refused(arguments):
    keep, group, indptr, members = arguments
    with pytest.raises(ValueError, match=r"chances|group|indptr|lie"):
        SubstitutionRandomizer(keep, group, np.array(indptr), np.array(members, np.int32))


def test_groups_are_in_no_repr():
    assert (
        repr(distribution(0.5, 0.25, [[1], [0]]))
        == "SubstitutionRandomizer(keep_probability=0.5, group_probability=0.25)"
    )


# -- what was booked --------------------------------------------------------------------------------------


GROUPS = [[1, 2], [0, 2], [0, 1], [4], [3], []]


def rows(*profiles, width=6, seed=0):
    """Rows with these items."""
    columns = np.array([item for own in profiles for item in own], np.int32)
    indptr = np.cumsum([0, *map(len, profiles)]).astype(np.int64)
    marks = np.random.default_rng(seed).integers(0, 5, columns.size).astype(np.uint8)
    return Rows("cells", width, indptr, columns, marks)


def test_what_was_booked_may_be_drawn():
    each = distribution(0.9, 0.9, GROUPS)
    booked = Substitutions.of("cells", each.per_slot, 0.1, 3, 6)
    each.require_booked(rows((0, 1, 5), ()), booked)
    each.require_booked(rows(), booked)


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        ({"per_slot": 6.0}, rows((0, 1)), "loses more"),
        ({"cells": 1}, rows((0,), (0, 1)), "more slots"),
        ({"size": 7}, rows((0,)), "catalogue"),
        ({}, rows((0,), width=7), "catalogue"),
    ],
)
def test_what_was_not_booked_is_refused(change, given, message):
    each = distribution(0.9, 0.9, GROUPS)
    booked = {"per_slot": each.per_slot, "noise": 0.1, "cells": 3, "size": 6} | change
    with pytest.raises(GrantError, match=message) as caught:
        each.require_booked(given, Substitutions.of("cells", **booked))
    assert not any(sign.isdigit() for sign in str(caught.value))


def test_another_randomizer_is_refused():
    with pytest.raises(GrantError, match="randomized response"):
        distribution(0.9, 0.9, GROUPS).require_booked(rows((0,)), Responses.of("cells", 6, 1.0, 2, 6))


# -- draws ------------------------------------------------------------------------------------------------


KNOWN = "c98d930e62029ad5465a280c512be02fe25ce8f6121ec366c85598c576a2dff4"


def many(seed=0):
    generator = np.random.default_rng(seed)
    own = [np.flatnonzero(generator.random(60) < chance) for chance in generator.random(900) ** 2]
    return rows(*own, (), (), width=60), distribution(0.6, 0.7, [*clusters(60, 7)[:-1], []])


def drawn(given, each, salt=b""):
    return each.draw(given, hashlib.sha256(salt + b"slots").digest())


def test_rows_come_out_as_rows():
    given, each = many()
    indptr, columns, marks = drawn(given, each)
    Rows("cells", 60, indptr, columns, marks)  # checks them
    sizes, before = np.diff(indptr), np.diff(given.indptr)
    assert np.all((sizes <= before) & ((sizes > 0) == (before > 0)))
    assert 0.7 < sizes.sum() / before.sum() < 0.99


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk", [1, 700, 10**6])
def test_draws_depend_on_the_key_alone(threads, chunk, monkeypatch):
    given, each = many()
    before = drawn(given, each)
    monkeypatch.setattr(substitution, "_THREADS", threads)
    monkeypatch.setattr(substitution, "_CHUNK", chunk)
    for one, other in zip(before, drawn(given, each), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(before[1], drawn(given, each, b"another")[1])


def test_draws_are_the_known_ones():
    total = hashlib.sha256()
    for array, kind in zip(drawn(*many()), ("<i8", "<i4", "u1"), strict=True):
        total.update(array.astype(kind).tobytes())
    assert total.hexdigest() == KNOWN


@pytest.mark.parametrize("given", [rows(), rows(()), rows((), (), ())])
def test_nobody_and_nothing_come_out_as_they_are(given):
    indptr, columns, marks = drawn(given, distribution(0.9, 0.9, GROUPS))
    np.testing.assert_array_equal(indptr, given.indptr)
    assert (columns.dtype, marks.dtype, columns.size, marks.size) == (np.int32, np.uint8, 0, 0)


def test_what_is_kept_for_sure_is_kept():
    given, each = many()
    _, columns, marks = drawn(given, SubstitutionRandomizer(1.0, 0.5, each.indptr, each.members))
    np.testing.assert_array_equal(columns, given.columns)
    np.testing.assert_array_equal(marks, given.marks)


def test_to_look_at_the_law_loads_no_compiler():
    code = "import sys, hushrec.models.du_leighton_patel.substitution; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
