"""Random replacement of profile slots: exact draws from ChaCha20 words (RFC 8439), and the law's extremes.

Slot n, counted over all rows, uses word n of the two streams with nonces (0, h, 0) and (1, h, 0), where h is
the upper half of the block counter. The halves of the first word decide whether the item is kept and, if not,
whether its replacement comes from its group; those of the second give the replacement and the priority. If
a half does not yield a uniform choice, further words come from the slot's own stream, with nonce (2, n). So
no draw depends on threads or on the rejections of another slot.
"""

import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32, Words, Words32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.noise.chacha import BLOCKS, WORDS, keystream

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_NOBODY = 2**62  # above every priority and mark, which take 40 bits

__all__ = ["extremes", "substitute"]


@compiled(nogil=True)
def extremes(starts: Ints, members: Ints32, most: Floats, least: Floats, holders: Ints) -> None:
    """Count the groups that contain each item, and find the largest and smallest 1/|G| among them.

    Args:
        starts, members: the groups, in compressed rows.
        most: zeros, shape (n_items,); receives the largest.
        least: ones, shape (n_items,); receives the smallest.
        holders: zeros, shape (n_items,); receives the number.

    Privacy: as the groups.
    """
    for i in range(most.size):
        for place in range(starts[i], starts[i + 1]):
            chance, j = 1.0 / (starts[i + 1] - starts[i]), members[place]
            most[j] = max(most[j], chance)
            least[j] = min(least[j], chance)
            holders[j] += 1


@compiled(nogil=True)
def _below(n: int, half: int, slot: int, key: Words32, room: Words) -> int:
    """Draw from 0 … n − 1 uniformly: the upper half of n times a 32-bit half, rejected if biased.

    Lemire 2019, "Fast random integer generation in an interval", §4.
    """
    product, taken = half * n, 0
    # Lower halves of the product below 2³² mod n are rejected: they would favour some results.
    if product & 0xFFFFFFFF < n:
        biased = (1 << 32) % n
        while product & 0xFFFFFFFF < biased:
            place = taken % WORDS
            if place == 0:
                nonce = (2, slot & 0xFFFFFFFF, slot >> 32)
                keystream(room, key, taken // WORDS * BLOCKS, nonce)
            product = int(np.int64(room[place] & _LOW)) * n
            taken += 1
    return product >> 32


@compiled(nogil=True)
def substitute(
    first: int,
    last: int,
    indptr: Ints,
    columns: Ints32,
    marks: Bytes,
    key: Words32,
    keep: int,
    group: int,
    starts: Ints,
    members: Ints32,
    listed: Ints32,
    listed_marks: Bytes,
    counts: Ints,
) -> int:
    """Keep or replace the item of each slot of some rows.

    If several slots of a row land on one item, the slot of lowest priority is listed; ties go to the lowest
    mark. Priorities are random, so all of these slots are equally likely. The list depends only on the *set*
    of landings, marks and priorities. The order of the slots must not matter: rows are sorted by item, so it
    would reveal which of two slots held the smaller item.
    Args:
        first, last: process the rows from ``first`` up to but excluding ``last``.
        indptr, columns, marks: all rows; ``columns`` are items.
        key: the key's little-endian words, shape (8,).
        keep: probability that an item is kept, in units of 2⁻³².
        group: probability that a replacement comes from the item's group, in units of 2⁻³².
        starts, members: the groups, in compressed rows.
        listed: receives the items, ascending in a row; as long as the number of slots.
        listed_marks: receives their marks.
        counts: receives the number of listed slots of each row, at the row's index.

    Privacy: private input; the results are released under the charge of the law.
    """
    n_items = starts.size - 1
    decisions, choices = np.empty(WORDS, np.uint64), np.empty(WORDS, np.uint64)
    room = np.empty(WORDS, np.uint64)
    best = np.full(n_items, _NOBODY, np.int64)  # priority and mark of the slot to be listed
    batch, size = -1, 0
    for row in range(first, last):
        before = size
        for slot in range(indptr[row], indptr[row + 1]):
            if slot // WORDS != batch:
                batch = slot // WORDS
                block = batch * BLOCKS
                keystream(decisions, key, block & 0xFFFFFFFF, (0, block >> 32, 0))
                keystream(choices, key, block & 0xFFFFFFFF, (1, block >> 32, 0))
            decision, choice = decisions[slot % WORDS], choices[slot % WORDS]
            item = int(columns[slot])
            # Du, Leighton & Patel 2019, §III.C: step 3 keeps the item, or else takes the choice of step 2.
            if np.int64(decision & _LOW) >= keep:
                half, begin = int(np.int64(choice & _LOW)), int(starts[item])
                n = int(starts[item + 1]) - begin
                if n > 0 and np.int64(decision >> _HALF) < group:
                    item = int(members[begin + _below(n, half, slot, key, room)])
                else:
                    item = _below(n_items, half, slot, key, room)
            rank = np.int64(choice >> _HALF) << 8 | np.int64(marks[slot])
            if best[item] == _NOBODY:
                listed[size] = item
                size += 1
            best[item] = min(best[item], rank)
        listed[before:size].sort()
        for place in range(before, size):
            listed_marks[place] = best[listed[place]] & 0xFF
            best[listed[place]] = _NOBODY
        counts[row] = size - before
    return size
