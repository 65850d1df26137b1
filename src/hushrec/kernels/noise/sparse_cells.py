"""List the cells of a sparse matrix that reach a threshold, given the gaps between the empty ones that do."""

from hushrec.arrays import Ints, Ints32
from hushrec.kernels.compiled import compiled


@compiled(nogil=True)
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
        indptr: where each row's cells start, then where the last ones end; shape (rows + 1,).
        columns, values: the non-empty cells, noise included; ``indptr`` counts from their start.
        gaps: for each empty cell that reaches the threshold, the number of empty cells before it since the
            last such cell, over all rows in turn; the gaps must reach past the last empty cell.
        excesses: how far each of those exceeds the threshold; ~n for n with a negative sign.
        threshold: smallest absolute value that is listed.
        limit: cells are clamped to ±limit.
        reached: receives the columns of the listed cells; long enough.
        cells: receives their values; long enough.
        counts: receives the number of listed cells in each row, shape (rows,).

    Privacy: private; the results are released under the charge of the noise.
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
