"""k-ary randomized response on sparse rows, given the gaps between the cells that are not answered truly.

Uniform choices are exact: a word that would cause bias is rejected, and the next one is read.
"""

import numpy as np

from hushrec.arrays import Bytes, Ints, Ints32, Words, Words32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.noise.chacha import BLOCKS, WORDS, keystream

_BITS = 32  # random bits for each choice
_ALL = 2**_BITS


@compiled(nogil=True)
def _below(bound: int, words: Words, read: Ints, key: Words32, run: int) -> int:
    # Lemire 2019, algorithm 5. ``words`` holds the part of the run's stream around position ``read[0]``,
    # counted in 32-bit words; all values are signed integers, for bound < 2^31.
    while True:
        place = read[0] % (2 * WORDS)
        if place == 0:
            keystream(words, key, read[0] // (2 * WORDS) * BLOCKS, (0, run, 0))
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
            column = _below(last + 1, words, read, key, run)
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
    gaps: Ints,
    width: int,
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
        gaps: for each cell not answered truly, the number of cells before it since the last such cell, over
            all rows in turn; the gaps must reach past the last cell.
        others: number of marks, which equals the number of symbols other than a cell's own.
        key: ChaCha20's key, shape (8,).
        run: the stream of the key to use.
        listed: receives the columns of the non-empty answers; long enough.
        reported: receives their marks; long enough.
        counts: receives the number of answers in each row, shape (rows,).

    Privacy: private; the results are released under the charge of the responses.
    """
    words, read = np.empty(WORDS, np.uint64), np.zeros(1, np.int64)
    size, drawn, turned = 0, 1, gaps[0]  # turned: the column, in this row or beyond, of the next flipped cell
    for row in range(counts.size):
        before = size
        for cell in range(indptr[row], indptr[row + 1] + 1):
            there = np.int64(columns[cell]) if cell < indptr[row + 1] else width
            while turned < there:
                listed[size], reported[size] = turned, _below(others, words, read, key, run)
                size += 1
                turned += 1 + gaps[drawn]
                drawn += 1
            if there == width:
                break
            answer = marks[cell]
            if turned == there:
                choice = _below(others, words, read, key, run)
                turned += 1 + gaps[drawn]
                drawn += 1
                if choice == answer:
                    continue
                answer = np.uint8(choice)
            listed[size], reported[size] = there, answer
            size += 1
        turned -= width
        counts[row] = size - before
    return size
