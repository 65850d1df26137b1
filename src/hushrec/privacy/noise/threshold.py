"""Noise on every cell of a sparse matrix, at the price of the cells that reach a threshold.

A cell that is there gets its own noise. The empty ones are taken in runs of whole rows, and in each run the
*gaps* between those whose noise reaches the threshold are drawn in turn: independent cells have no other law
(see ``counts``). Runs depend on the shape alone, so the cells do not depend on the number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hushrec.arrays import Ints, Ints32
from hushrec.kernels.noise.sparse_cells import merge
from hushrec.privacy.noise.geometric import Count, excesses, gaps, passing

Draw = Callable[[Count, tuple[int, int], int, int], Ints]
"""``sampling.count_draws`` with its key."""

_RUN = 2**18  # cells, about
_LONGEST = 2**31  # gap: no run has more cells
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
    """The cells of a matrix, rounded Laplace noise on all of them, that reach a threshold; clamped to ±limit.

    Args:
        shape: rows and columns.
        indptr, columns: the cells that are there, in compressed rows.
        values: theirs, their noise included; the other cells are 0, and their noise is drawn here.
        threshold: smallest size that is listed, at least 1.
        limit: at least ``threshold``.
        scale: b in integers, from 0.1 to 2⁵⁰.
        draw: of a key that was never used before.
        threads: how many threads draw.

    Returns:
        indptr, columns and values of the listed cells.

    Raises:
        SamplerError: The threshold is beyond any noise that is ever seen.

    Privacy: charged by the caller.
    """
    rows, n_columns = shape
    tall = max(1, _RUN // n_columns)
    gap_law, excess_law = gaps(scale, threshold, _LONGEST), excesses(scale, limit - threshold)

    def run(number: int) -> tuple[Ints, Ints32, Ints32]:
        bounds = indptr[number * tall : (number + 1) * tall + 1]
        there = slice(bounds[0], bounds[-1])
        row_counts = np.empty(bounds.size - 1, np.int64)
        empty = row_counts.size * n_columns - int(bounds[-1] - bounds[0])
        between, found = passing(draw, gap_law, (_GAPS, number), empty)
        beyond = draw(excess_law, (_EXCESSES, number), 0, found)
        listed, cells = np.empty((2, found + columns[there].size), np.int32)
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
    # One by one, so that no more than one of them is there twice.
    listed = np.concatenate(parts.pop(0))
    return starts, listed, np.concatenate(parts.pop(0))
