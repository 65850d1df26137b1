"""Compiled loops of the local randomizers: randomized response, replacement of items, and their laws.

Replacement of a profile's slots draws exactly, from ChaCha20 words (RFC 8439). Slot n, counted over all rows,
uses word n of the two streams with nonces (0, h, 0) and (1, h, 0), where h is the upper half of the block
counter. The halves of the first word decide whether the item is kept and, if not, whether its replacement
comes from its group; those of the second give the replacement and the priority. If a half does not yield a
uniform choice, further words come from the slot's own stream, with nonce (2, n). So no draw depends on
threads or on the rejections of another slot.

Randomized response is k-ary, on every cell of sparse rows, given which cells are not answered truly. Uniform
choices are exact: a word that would cause bias is rejected, and the next one is read. Each run of rows reads
streams of its own, with nonces (stream, run, 0).

Privacy: private, as the arrays that are given.
"""

import numpy as np

from hushrec.arrays import Bools, Bytes, Floats, Ints, Ints32, Words, Words32
from hushrec.kernels.compiled import compiled
from hushrec.privacy.noise.kernels import BLOCKS, WORDS, keystream


@compiled(nogil=True)
def landing(
    first: int,
    last: int,
    starts: Ints,
    members: Ints32,
    holding: Ints,
    holders: Ints32,
    keep: float,
    group: float,
    most: Floats,
    least: Floats,
) -> None:
    """Find the largest and smallest probability, over all items, to land inside GRP_j = G_j ∪ {j}.

    P(out ∈ GRP_j | i) = p* [i ∈ GRP_j] + (1 − p*)(p |G_i ∩ GRP_j|/|G_i| + (1 − p)|GRP_j|/m), with p = 0 for
    an i whose group is empty. Overlaps are counted through the groups that contain members of GRP_j.

    Args:
        first, last: process the items j from ``first`` up to but excluding ``last``.
        starts, members: the groups, in compressed rows.
        holding, holders: for each item, the items whose groups contain it, in compressed rows.
        keep: p*.
        group: p.
        most, least: receive the probabilities, shape (n_items,).

    Privacy: as the groups.
    """
    m = most.size
    overlaps, inside = np.zeros(m, np.int64), np.zeros(m, np.bool_)
    for j in range(first, last):
        size = starts[j + 1] - starts[j] + 1
        for number in range(size):
            near = j if number == 0 else members[starts[j] + number - 1]
            inside[near] = True
            for place in range(holding[near], holding[near + 1]):
                overlaps[holders[place]] += 1
        most[j], least[j] = 0.0, np.inf
        for i in range(m):
            chance, n = size / m, starts[i + 1] - starts[i]
            if n > 0:
                chance = group * (overlaps[i] / n) + (1 - group) * chance
            chance *= 1 - keep
            if inside[i]:
                chance += keep
            most[j], least[j] = max(most[j], chance), min(least[j], chance)
            overlaps[i], inside[i] = 0, False


_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_NOBODY = 2**62  # above every priority and mark, which take 40 bits


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
def _below_n(n: int, half: int, slot: int, key: Words32, room: Words) -> int:
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
                    item = int(members[begin + _below_n(n, half, slot, key, room)])
                else:
                    item = _below_n(n_items, half, slot, key, room)
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


_BITS = 32  # random bits for each choice
_ALL = 2**_BITS
TRUTH, SYMBOLS, FURTHER, SAMPLE = range(4)
"""Streams of a key: whether a cell is answered truly, by which symbol, further words, which cells."""


@compiled(nogil=True)
def stream(words: Words, key: Words32, first: int, nonce: tuple[int, int, int]) -> None:
    """Write the words of a stream of the key from the first named on.

    Privacy: private.
    """
    block = np.empty(WORDS, np.uint64)
    for number in range(first, first + words.size):
        if number == first or number % WORDS == 0:
            keystream(block, key, number // WORDS * BLOCKS, nonce)
        words[number - first] = block[number % WORDS]


@compiled(nogil=True)
def _below_in_run(bound: int, words: Words, read: Ints, key: Words32, nonce: tuple[int, int, int]) -> int:
    # Lemire 2019, algorithm 5. ``words`` holds the part of the run's stream around position ``read[0]``,
    # counted in 32-bit words; all values are signed integers, for bound < 2^31.
    while True:
        place = read[0] % (2 * WORDS)
        if place == 0:
            keystream(words, key, read[0] // (2 * WORDS) * BLOCKS, nonce)
        read[0] += 1
        word = np.int64(words[place // 2] >> np.uint64(_BITS * (place % 2))) & (_ALL - 1)
        scaled = word * bound
        low = scaled & (_ALL - 1)
        if low >= bound or low >= (_ALL - bound) % bound:
            return int(scaled >> _BITS)


@compiled(nogil=True)
def choose(chosen: Ints32, width: int, key: Words32, run: int) -> None:
    """Choose columns for each row, uniform among subsets of that size, ascending (Bentley & Floyd 1987).

    Args:
        chosen: receives the columns, shape (rows, answered), answered at most ``width``.
        width: number of columns, below 2³¹.
        key: ChaCha20's key, shape (8,).
        run: the stream of the key to use.

    Privacy: private.
    """
    words, read = np.empty(WORDS, np.uint64), np.zeros(1, np.int64)
    taken = np.zeros(-(-width // 8) * 8, np.uint8)
    eights = taken.view(np.uint64)
    rows, answered = chosen.shape
    for row in range(rows):
        for last in range(width - answered, width):
            column = _below_in_run(last + 1, words, read, key, (SAMPLE, run, 0))
            taken[last if taken[column] else column] = 1
        place = 0
        for eight in range(eights.size):
            if eights[eight]:
                for column in range(8 * eight, 8 * eight + 8):
                    if taken[column]:
                        chosen[row, place] = column
                        place += 1
                eights[eight] = 0


@compiled(nogil=True)
def restrict(
    indptr: Ints, columns: Ints32, marks: Bytes, chosen: Ints32, starts: Ints, places: Ints32, kept: Bytes
) -> None:
    """Keep the cells in chosen columns, each with the index of its column among the chosen ones.

    Args:
        indptr, columns, marks: cells of some rows; ``indptr`` counts from their start.
        chosen: as in ``choose``.
        starts, places, kept: receive the result as compressed rows; long enough.

    Privacy: private.
    """
    answered = chosen.shape[1]
    size = 0
    starts[0] = 0
    for row in range(chosen.shape[0]):
        place = 0
        for cell in range(indptr[row], indptr[row + 1]):
            while place < answered and chosen[row, place] < columns[cell]:
                place += 1
            if place < answered and chosen[row, place] == columns[cell]:
                places[size], kept[size] = place, marks[cell]
                size += 1
        starts[row + 1] = size


@compiled(nogil=True)
def respond(
    indptr: Ints,
    columns: Ints32,
    marks: Bytes,
    turned: Bools,
    others: int,
    key: Words32,
    run: int,
    listed: Ints32,
    reported: Bytes,
    counts: Ints,
) -> int:
    """List the answers of some rows, in order.

    A cell that is not answered truly gets a uniform choice n of the marks, as many as its other symbols. A
    cell with mark n is answered as empty, any other cell with mark n.

    Args:
        indptr: where each row's cells start, then where the last ones end; shape (rows + 1,).
        columns, marks: the cells that hold a mark; ``indptr`` counts from their start.
        turned: which cells are not answered truly, shape (rows, width).
        others: number of marks, which equals the number of symbols other than a cell's own.
        key: ChaCha20's key, shape (8,).
        run: the stream of the key to use.
        listed: receives the columns of the non-empty answers; long enough.
        reported: receives their marks; long enough.
        counts: receives the number of answers in each row, shape (rows,).

    Privacy: private; the results are released under the charge of the responses.
    """
    words, read = np.empty(WORDS, np.uint64), np.zeros(1, np.int64)
    size = 0
    for row in range(counts.size):
        before, cell = size, indptr[row]
        for column in range(turned.shape[1]):
            answer = others  # empty
            if cell < indptr[row + 1] and columns[cell] == column:
                answer = int(marks[cell])
                cell += 1
            if turned[row, column]:
                choice = _below_in_run(others, words, read, key, (SYMBOLS, run, 0))
                answer = others if choice == answer else choice
            if answer < others:
                listed[size], reported[size] = column, answer
                size += 1
        counts[row] = size - before
    return size
