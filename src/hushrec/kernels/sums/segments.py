"""Users' ratings regrouped for the Gram kernel: checked, renumbered by popularity, indexed by block of items.

A *label* is an item's rank in popularity; a *block* is ``LANES`` consecutive labels. A rating becomes one
32-bit *word*, ``entry << LABEL_BITS | label``, and a user's words ascend by label. A *visit* is a user with
ratings in a block; it is identified by the position of the user's first word there, its *entrance*.

Each kernel processes the users ``begin`` to ``end``, one part of all, and writes only to that part's rows.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints, Ints32

LANES = 8
"""64-bit sums in a cache line of 64 bytes."""
LABEL_BITS = 18
"""A word has 32 bits: 14 for a signed entry of at most 2^12, the rest for the label."""
_U = np.uint64
_LABEL = (1 << LABEL_BITS) - 1
_LARGEST_ENTRY = 1 << 12  # of the 14 bits above
_LARGEST_WEIGHT = 1 << 24
"""Chosen by hand: with the largest entries a term is 2^48, and 2^14 of them fit below the limit of 2^62."""

__all__ = ["LABEL_BITS", "LANES", "index", "relabel", "survey"]


@numba.njit(cache=True, nogil=True)
def survey(
    part: int,
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    entries: Ints32,
    weights: Ints,
    raters: Ints,
    diagonal: Floats,
) -> bool:
    """Count raters and sum w_u a_ui² for each item; return whether everything is in range.

    Args:
        part: row of ``raters`` and ``diagonal`` to write.
        begin: first user.
        end: the user after the last.
        indptr: where each user's ratings start and end.
        items: item of each rating.
        entries: entry of each rating; empty for 1 everywhere.
        weights: weight of each user.
        raters: added to, shape (parts, n_items).
        diagonal: added to, shape (parts, n_items), accurate to 10 digits.
    """
    n_items = raters.shape[1]
    ones = len(entries) == 0
    for user in range(begin, end):
        weight = weights[user]
        if weight < 0 or weight > _LARGEST_WEIGHT:
            return False
        for p in range(_U(indptr[user]), _U(indptr[user + 1])):
            item = items[p]
            entry = np.int64(1) if ones else np.int64(entries[p])
            if item < 0 or item >= n_items or abs(entry) > _LARGEST_ENTRY:
                return False
            raters[part, _U(item)] += 1
            diagonal[part, _U(item)] += float(weight * entry * entry)
    return True


@numba.njit(cache=True, nogil=True)
def relabel(
    part: int,
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    entries: Ints32,
    label: Ints32,
    words: Ints32,
    visits: Ints,
) -> bool:
    """Write each user's words, ascending by label, and count visits; return whether items are distinct.

    Args:
        part: row of ``visits`` to write.
        begin: first user.
        end: the user after the last.
        indptr: where each user's ratings start and end.
        items: item of each rating.
        entries: entry of each rating; empty for 1 everywhere.
        label: label of each item.
        words: receives the words, shape of ``items``.
        visits: added to, shape (parts, blocks).
    """
    # Scatter a user's entries over one 16-bit slot per label, shifted to be above 0, then collect them in
    # order, four slots at a time: faster than sorting.
    raised = 2 * _LARGEST_ENTRY
    slots = np.zeros((len(label) + 3) // 4 * 4, np.uint16)
    fours = slots.view(np.uint64)
    ones = len(entries) == 0
    for user in range(begin, end):
        p, stop = _U(indptr[user]), _U(indptr[user + 1])
        for at in range(p, stop):
            slots[_U(label[_U(items[at])])] = raised + (np.int64(1) if ones else np.int64(entries[at]))
        block = np.int64(-1)
        for four in range(_U(len(fours))):
            if p == stop:
                break
            if fours[four] == 0:
                continue
            for q in range(_U(4) * four, _U(4) * four + _U(4)):
                if slots[q] != 0:
                    words[p] = (np.int64(slots[q]) - raised) << LABEL_BITS | np.int64(q)
                    slots[q] = 0
                    p += _U(1)
                    if np.int64(q) // LANES != block:
                        block = np.int64(q) // LANES
                        visits[part, block] += 1
        if p != stop:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def index(
    part: int,
    begin: int,
    end: int,
    indptr: Ints,
    words: Ints32,
    cursors: Ints,
    visitor: Ints32,
    entrance: NDArray[np.uint32],
) -> None:
    """List the visits to every block, in the order of users.

    Args:
        part: row of ``cursors`` to use.
        begin: first user.
        end: the user after the last.
        indptr: where each user's words start and end.
        words: every user's ratings.
        cursors: position of this part's next visit to each block, shape (parts, blocks); advanced.
        visitor: receives the user of each visit.
        entrance: receives the position of each visit's first word.
    """
    for user in range(begin, end):
        block = -1
        for p in range(_U(indptr[user]), _U(indptr[user + 1])):
            here = (words[p] & _LABEL) // LANES
            if here != block:
                block = here
                at = _U(cursors[part, block])
                cursors[part, block] += 1
                visitor[at] = user
                entrance[at] = p
