"""What the Gram kernel is prepared from: counts, words and visits, against plain Python."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.kernels.csr import frozen
from hushrec.kernels.sums.segments import LABEL_BITS, LANES, index, relabel, survey

N_USERS, N_ITEMS, ENTRY, WEIGHT = 12, 3 * LANES + 1, 1 << 12, 1 << 24
BLOCKS = -(-N_ITEMS // LANES)


@pytest.fixture
def case():
    """Rows of distinct items, not ascending; the first user has none, the last one all."""
    rng = default_rng(0)
    own = [rng.permutation(N_ITEMS)[:n] for n in [0, *rng.integers(0, N_ITEMS, N_USERS - 2), N_ITEMS]]
    items = np.concatenate(own).astype(np.int32)
    entries = rng.integers(-ENTRY, ENTRY + 1, len(items), dtype=np.int32)
    entries[:3] = 0, ENTRY, -ENTRY
    indptr = np.cumsum([0, *map(len, own)])
    return frozen(indptr, np.int64), frozen(items, np.int32), frozen(entries, np.int32)


def surveyed(indptr, items, entries, weights, begin=0, end=N_USERS):
    raters, diagonal = np.zeros((2, N_ITEMS), np.int64), np.zeros((2, N_ITEMS))
    fine = survey(1, begin, end, indptr, items, entries, frozen(weights, np.int64), raters, diagonal)
    assert not raters[0].any(), "another share's row"
    return fine, raters[1], diagonal[1]


@pytest.mark.parametrize("ones", [True, False])
def test_a_survey_counts_raters_and_sums_squares(case, ones):
    indptr, items, entries = case
    weights = default_rng(1).integers(0, WEIGHT + 1, N_USERS)
    begin, end = 3, 11
    own = slice(indptr[begin], indptr[end])
    each = np.ones(len(items), np.int64) if ones else entries.astype(np.int64)
    weight = np.repeat(weights, np.diff(indptr))
    given = frozen(np.empty(0, np.int32), np.int32) if ones else entries
    fine, raters, diagonal = surveyed(indptr, items, given, weights, begin, end)
    assert fine
    np.testing.assert_array_equal(raters, np.bincount(items[own], minlength=N_ITEMS))
    wanted = np.bincount(items[own], (weight * each**2)[own], N_ITEMS)
    np.testing.assert_allclose(diagonal, wanted, rtol=1e-10)


@pytest.mark.parametrize(
    ("array", "values"), [(1, (-1, N_ITEMS)), (2, (-ENTRY - 1, ENTRY + 1)), (3, (-1, WEIGHT + 1))]
)
def test_a_survey_finds_what_is_out_of_range(case, array, values):
    parts = [*case, np.full(N_USERS, WEIGHT)]
    assert surveyed(*parts)[0]
    for value in values:
        wrong = parts[array].copy()
        wrong[-1] = value
        assert not surveyed(*parts[:array], frozen(wrong, wrong.dtype), *parts[array + 1 :])[0]


def relabelled(indptr, items, entries, label):
    words, visits = np.zeros(len(items), np.int32), np.zeros((1, BLOCKS), np.int64)
    return relabel(0, 0, len(indptr) - 1, indptr, items, entries, label, words, visits), words, visits[0]


def test_words_ascend_by_label_and_hold_the_entries(case):
    indptr, items, entries = case
    label = default_rng(2).permutation(N_ITEMS).astype(np.int32)
    fine, words, visits = relabelled(indptr, items, entries, label)
    assert fine
    seen = np.zeros(BLOCKS, np.int64)
    for start, stop in pairwise(indptr):
        own = sorted(zip(label[items[start:stop]].tolist(), entries[start:stop].tolist(), strict=True))
        assert words[start:stop].tolist() == [entry << LABEL_BITS | place for place, entry in own]
        seen[list({place // LANES for place, _ in own})] += 1
    assert visits.tolist() == seen.tolist()


def test_an_item_that_a_user_has_twice_is_found(case):
    indptr, items, entries = case
    label = np.arange(N_ITEMS, dtype=np.int32)
    twice = items.copy()
    twice[-1] = twice[-2]
    assert not relabelled(indptr, frozen(twice, np.int32), entries, label)[0]


def test_every_block_lists_its_visits_in_the_order_of_users(case):
    indptr, items, entries = case
    _, words, visits = relabelled(indptr, items, entries, np.arange(N_ITEMS, dtype=np.int32))
    first = np.concatenate([[0], np.cumsum(visits)])
    visitor, entrance = np.empty(first[-1], np.int32), np.empty(first[-1], np.uint32)
    cursors = first[:-1][None].copy()
    index(0, 0, N_USERS, indptr, words, cursors, visitor, entrance)
    assert cursors[0].tolist() == first[1:].tolist()
    wanted = []
    for block in range(BLOCKS):
        for user in range(N_USERS):
            own = range(indptr[user], indptr[user + 1])
            places = [p for p in own if (words[p] & (1 << LABEL_BITS) - 1) // LANES == block]
            wanted += [(user, places[0])] if places else []
    assert list(zip(visitor.tolist(), entrance.tolist(), strict=True)) == wanted
