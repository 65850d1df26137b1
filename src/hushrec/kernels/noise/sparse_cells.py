"""Which cells of a sparse matrix reach a threshold, when the empty ones are told by the gaps between them."""

import numba

from hushrec.arrays import Ints, Ints32


@numba.njit(cache=True, nogil=True)
def merge(
    indptr: Ints,
    columns: Ints32,
    values: Ints,
    gaps: Ints,
    excesses: Ints,
    n_columns: int,
    threshold: int,
    limit: int,
    reached: Ints32,
    cells: Ints32,
    counts: Ints,
) -> int:
    """List the cells of some rows that reach the threshold, in order.

    Args:
        indptr: where the cells of each row begin, and the last one's end; shape (rows + 1,).
        columns, values: the cells that are there, noise included; ``indptr`` counts from their start.
        gaps: numbers of empty cells, over all rows in turn, before each one that reaches the threshold;
            together they pass the last empty cell.
        excesses: how far each of those is beyond the threshold; ~n for n and a negative sign.
        n_columns: of the matrix.
        threshold: smallest size that is listed.
        limit: cells are clamped to ±limit.
        reached: columns of the listed cells, long enough.
        cells: their values, long enough.
        counts: how many each row has, shape (rows,).

    Returns:
        How many cells were listed.

    Privacy: private; its results are released under the charge of the noise.
    """
    listed = drawn = 0
    gap = gaps[0]
    for row in range(counts.size):
        before = listed
        column, cell, end = 0, indptr[row], indptr[row + 1]
        while True:
            there = int(columns[cell]) if cell < end else n_columns
            while gap < there - column:
                column += gap
                excess = excesses[drawn]
                size = min(threshold + max(excess, ~excess), limit)
                reached[listed] = column
                cells[listed] = size if excess >= 0 else -size
                listed += 1
                column += 1
                drawn += 1
                gap = gaps[drawn]
            gap -= there - column
            if cell == end:
                break
            value = values[cell]
            if abs(value) >= threshold:
                reached[listed] = there
                cells[listed] = min(max(value, -limit), limit)
                listed += 1
            column = there + 1
            cell += 1
        counts[row] = listed - before
    return listed
