"""Slots of profiles replaced at random: exact draws from ChaCha20's words (RFC 8439), and the law's extremes.

Slot n, counted over all rows, has two words at the place that its number gives it: word n of the streams with
nonce (0, h, 0) and (1, h, 0), h being the upper half of the block counter. The halves of the first say
whether the item is kept and, if not, whether it is replaced by one of its group; those of the second which
one, and the slot's priority. Where a half cannot be turned into a uniform choice, further words come from the
slot's own stream, of nonce (2, n). So no draw depends on threads, or on another slot's rejections.
"""

import numba
import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32, Words
from hushrec.kernels.noise.chacha import BLOCKS, WORDS, Words32, keystream

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_NOBODY = 2**62

__all__ = ["extremes", "substitute"]


@numba.njit(cache=True, nogil=True)
def extremes(starts: Ints, members: Ints32, most: Floats, least: Floats, holders: Ints) -> None:
    """In how many groups each item is, and the largest and smallest 1/|G| of these.

    Args:
        starts, members: the groups, in compressed rows.
        most: zeros, shape (n_items,); receives the largest.
        least: ones, shape (n_items,); receives the smallest.
        holders: zeros, shape (n_items,); receives the number.

    Privacy: as the groups.
    """
    for i in range(most.size):
        for place in range(starts[i], starts[i + 1]):
            share, j = 1.0 / (starts[i + 1] - starts[i]), members[place]
            most[j] = max(most[j], share)
            least[j] = min(least[j], share)
            holders[j] += 1


@numba.njit(cache=True, nogil=True)
def _below(n: int, half: int, slot: int, key: Words32, room: Words) -> int:
    """Uniform on 0 … n − 1: the upper half of a 32-bit half times n, rejected where that is biased.

    Lemire 2019, "Fast random integer generation in an interval", §4.
    """
    product, taken = half * n, 0
    # Halves of a product below 2³² mod n would come once more often than the others.
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


@numba.njit(cache=True, nogil=True)
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
    """Keep or replace the item of every slot of some rows.

    Of the slots of a row that land on one item, that of least priority is listed, of equals that of least
    mark. Priorities are random, so every one of them is as likely to be. What is listed depends on the *set*
    of landings, marks and priorities alone: if the place of a slot in its row had a say, it would tell which
    of two slots held the smaller item, for that is how rows are sorted.

    Args:
        first, last: the rows from ``first`` to below ``last``.
        indptr, columns, marks: all rows; ``columns`` are items.
        key: the key's little-endian words, shape (8,).
        keep: chance of an item to be kept, in units of 2⁻³².
        group: chance of a replacement to come from the item's group, in units of 2⁻³².
        starts, members: the groups, in compressed rows.
        listed: receives the items, ascending in a row; as long as there are slots.
        listed_marks: receives their marks.
        counts: receives how many each row has, at the row's own number.

    Returns:
        How many slots were listed.

    Privacy: private in; its results are released under the charge of the law.
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
