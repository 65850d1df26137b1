"""Slots kept or replaced, against the same draws made one by one in Python."""

import itertools

import numpy as np
import pytest
from scipy import stats

from hushrec.models.du_leighton_patel import kernels as local_kernels
from hushrec.privacy.noise import kernels as noise_kernels

KEY = np.arange(8, dtype=np.uint32)
LOW = 2**32 - 1
N_ITEMS = 7
GROUPS = ((1, 2), (0, 2, 3, 4, 5, 6), (), (0,), (0, 1), (6,), ())
STARTS = np.cumsum([0, *map(len, GROUPS)]).astype(np.int64)
MEMBERS = np.array([j for group in GROUPS for j in group], np.int32)
ALARM = 1e-7  # of each of the two checks of uniformity; their key is fixed


def words(stream, number):
    """Word ``number`` of one of the two streams that all slots share."""
    batch, place = divmod(number, noise_kernels.WORDS)
    block, found = batch * noise_kernels.BLOCKS, np.empty(noise_kernels.WORDS, np.uint64)
    noise_kernels.keystream(found, KEY, block & LOW, (stream, block >> 32, 0))
    return int(found[place])


def below(n, half, slot):
    """Lemire's choice, from words of the slot's own where the first will not do."""
    taken = 0
    while (half * n) % 2**32 < 2**32 % n:
        found = np.empty(noise_kernels.WORDS, np.uint64)
        nonce = (2, slot & LOW, slot >> 32)
        noise_kernels.keystream(found, KEY, taken // noise_kernels.WORDS * noise_kernels.BLOCKS, nonce)
        half, taken = int(found[taken % noise_kernels.WORDS]) & LOW, taken + 1
    return half * n >> 32


def reference(indptr, columns, marks, keep, group):
    rows = []
    for first, last in itertools.pairwise(indptr):
        best = {}
        for slot in range(first, last):
            decision, choice, item = words(0, slot), words(1, slot), int(columns[slot])
            if decision & LOW >= keep:
                near = GROUPS[item] if decision >> 32 < group else ()
                chosen = below(len(near) or N_ITEMS, choice & LOW, slot)
                item = near[chosen] if near else chosen
            best[item] = min(best.get(item, (2**40, 0)), (choice >> 32, int(marks[slot])))
        rows.append([(item, mark) for item, (_, mark) in sorted(best.items())])
    return rows


def profiles(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    own = [
        np.flatnonzero(generator.random(N_ITEMS) < chance).astype(np.int32)
        for chance in generator.random(n_rows)
    ]
    columns = np.concatenate(own)
    indptr = np.cumsum([0, *map(len, own)]).astype(np.int64)
    return indptr, columns, generator.integers(0, 256, columns.size).astype(np.uint8)


def substituted(indptr, columns, marks, keep, group, rows):
    slots = int(indptr[rows[1]] - indptr[rows[0]])
    listed, kept = np.full(slots, -1, np.int32), np.zeros(slots, np.uint8)
    counts = np.full(indptr.size - 1, -1, np.int64)
    arguments = indptr, columns, marks, KEY, keep, group, STARTS, MEMBERS, listed, kept, counts
    size = local_kernels.substitute(*rows, *arguments)
    ends = np.cumsum([0, *counts[slice(*rows)]])
    assert size == ends[-1]
    pairs = list(zip(listed[:size].tolist(), kept[:size].tolist(), strict=True))
    return [pairs[a:b] for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize("keep", [0, 2**31, 2**32])
@pytest.mark.parametrize("group", [0, 3 * 2**30, 2**32])
def test_slots_are_replaced_as_one_by_one(keep, group):
    given = profiles(400)
    assert given[1].size > noise_kernels.WORDS  # more than one batch of words
    assert substituted(*given, keep, group, (0, 400)) == reference(*given, keep, group)


def test_chances_are_neither_one_word_more_nor_less():
    given = profiles(40)
    for slot in range(12):  # a word that is just as large as the chance says no
        keep, group = words(0, slot) & LOW, words(0, slot) >> 32
        for chances in ((keep, group), (keep + 1, group), (keep, group + 1)):
            assert substituted(*given, *chances, (0, 40)) == reference(*given, *chances)


def test_what_is_kept_is_the_profile_itself():
    indptr, columns, marks = profiles(50)
    rows = substituted(indptr, columns, marks, 2**32, 0, (0, 50))
    assert [pair for row in rows for pair in row] == list(zip(columns.tolist(), marks.tolist(), strict=True))


def test_parts_of_the_rows_are_the_rows():
    given = profiles(300)
    whole = substituted(*given, 2**31, 2**31, (0, 300))
    parts = [
        substituted(*given, 2**31, 2**31, bounds) for bounds in ((0, 1), (1, 140), (140, 140), (140, 300))
    ]
    assert [row for part in parts for row in part] == whole


def choices(n, draws):
    room, generator = np.empty(noise_kernels.WORDS, np.uint64), np.random.default_rng(1)
    halves = generator.integers(0, 2**32, draws).tolist()
    found = [local_kernels._below_n(n, half, slot, KEY, room) for slot, half in enumerate(halves)]
    biased = [half * n >> 32 for half in halves]
    return halves, np.array(found), np.array(biased)


def test_a_choice_rejects_what_would_be_biased():
    n = 3 * 2**29  # every fourth half is one too many
    halves, found, biased = choices(n, 4000)
    assert found[:200].tolist() == [below(n, half, slot) for slot, half in enumerate(halves[:200])]
    assert 0 <= found.min() <= found.max() < n
    assert stats.chisquare(np.bincount(found % 3)).pvalue > ALARM
    assert stats.chisquare(np.bincount(biased % 3)).pvalue < ALARM  # the fault that this would catch


def test_every_slot_has_further_words_of_its_own():
    n, room = 2**30 + 1, np.empty(noise_kernels.WORDS, np.uint64)
    half = next(h for h in range(1, 10) if h * n % 2**32 < 2**32 % n)
    slots = (0, 5, 2**32, 2**33 + 7)
    assert len({below(n, half, slot) for slot in slots}) == len(slots)
    assert [local_kernels._below_n(n, half, s, KEY, room) for s in slots] == [
        below(n, half, s) for s in slots
    ]


def test_extremes_are_those_of_the_columns():
    most, least, holders = np.zeros(N_ITEMS), np.ones(N_ITEMS), np.zeros(N_ITEMS, np.int64)
    local_kernels.extremes(STARTS, MEMBERS, most, least, holders)
    for j in range(N_ITEMS):
        shares = [1 / len(group) for group in GROUPS if j in group]
        assert holders[j] == len(shares)
        assert (most[j], least[j]) == (max(shares, default=0.0), min(shares, default=1.0))
