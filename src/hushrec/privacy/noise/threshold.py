"""Noise on every cell of a sparse matrix, without visiting empty cells that stay below a threshold.

Each stored cell gets its own noise. Empty cells are processed in runs of whole rows. In each run the *gaps*
between cells whose noise reaches the threshold are drawn one after another, which gives the same distribution
as noise on every cell (see ``geometric``). Runs depend only on the shape, so the result does not depend on
the number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hushrec.arrays import Ints, Ints32
from hushrec.kernels.compiled import compiled
from hushrec.privacy.noise.geometric import Count, excesses, gaps, threshold_passes

Draw = Callable[[Count, tuple[int, int], int, int], Ints]
"""``sampler.count_draws`` with its key."""

_RUN = 2**18  # approximate number of cells
_LONGEST = 2**31  # longest gap: no run has more cells
_GAPS, _EXCESSES = 0, 1


def reaching(
    shape: tuple[int, int],
    indptr: Ints,
    columns: Ints32,
    values: Ints,
    *,
    threshold: int,
    limit: int,
    scale: float,
    draw: Draw,
    threads: int = 2,
) -> tuple[Ints, Ints32, Ints32]:
    """Add rounded Laplace noise to all cells of a matrix; return those that reach a threshold, clamped.

    Args:
        indptr, columns: the stored cells, as CSR rows.
        values: values of the stored cells with their noise; the noise of all other cells, which are 0, is
            drawn here.
        threshold: smallest absolute value of a listed cell, at least 1.
        limit: cells are clamped to ±limit; at least ``threshold``.
        scale: b in integers, from 0.1 to 2⁵⁰.
        draw: draws from a key that was never used before.

    Returns:
        indptr, columns and values of the listed cells.

    Privacy: charged by the caller.
    """
    rows, n_columns = shape
    tall = max(1, _RUN // n_columns)
    gap_distribution, excess_law = gaps(scale, threshold, _LONGEST), excesses(scale, limit - threshold)

    def run(number: int) -> tuple[Ints, Ints32, Ints32]:
        bounds = indptr[number * tall : (number + 1) * tall + 1]
        there = slice(bounds[0], bounds[-1])
        row_counts = np.empty(bounds.size - 1, np.int64)
        empty = row_counts.size * n_columns - int(bounds[-1] - bounds[0])
        between, n_ends = threshold_passes(draw, gap_distribution, (_GAPS, number), empty)
        beyond = draw(excess_law, (_EXCESSES, number), 0, n_ends)
        listed, cells = np.empty((2, n_ends + columns[there].size), np.int32)
        size = merge(
            bounds - bounds[0],
            columns[there],
            values[there],
            between,
            beyond,
            n_columns,
            threshold,
            limit,
            listed,
            cells,
            row_counts,
        )
        return row_counts, listed[:size].copy(), cells[:size].copy()

    with ThreadPoolExecutor(threads) as pool:
        runs = list(pool.map(run, range(-(-rows // tall))))
    parts = [list(part) for part in zip(*runs, strict=True)]
    del runs
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(np.concatenate(parts.pop(0)), out=starts[1:])
    # One by one, so that at most one of them is in memory twice.
    listed = np.concatenate(parts.pop(0))
    return starts, listed, np.concatenate(parts.pop(0))


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
