"""Compressed rows regrouped by column. Privacy: as the given ratings."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Ints, Ints32
from hushrec.kernels.compiled import compiled, spans
from hushrec.kernels.csr import check_rows, frozen


def transpose(indptr: Ints, columns: Ints32, n_columns: int, *, threads: int = 2) -> tuple[Ints, Ints32, Any]:
    """Regroup ratings by column, rows ascending within a column.

    Args:
        indptr: where each row's ratings start, then where the last ones end, shape (n_rows + 1,).
        columns: column of each rating, shape (n_ratings,).
        threads: number of threads; the result does not depend on it.

    Returns:
        where each column's ratings start, then where the last ones end, shape (n_columns + 1,); the row of
        each rating; its index in the arguments, so that ``values[order]`` are the regrouped values: int32, or
        int64 from 2^31 ratings.

    Privacy: private.
    """
    if threads < 1:
        raise ValueError("use 1 thread or more")
    check_rows(indptr, columns, n_columns)
    n_ratings = len(columns)
    indptr, columns = frozen(indptr, np.int64), frozen(columns, np.int32)
    parts = spans(indptr, threads)
    rows = np.empty(n_ratings, np.int32)
    order = np.empty(n_ratings, np.int32 if n_ratings < 1 << 31 else np.int64)
    counts = np.zeros((threads, n_columns), np.int64)
    with ThreadPoolExecutor(threads) as pool:

        def each_part(kernel: Any, table: Ints, *common: Any) -> None:
            list(pool.map(lambda t: kernel(*parts[t], indptr, columns, table[t], *common), range(threads)))

        # A counting sort in two passes: with the counts of all parts, each thread knows its places, and rows
        # ascend within a column whatever the number of threads.
        each_part(_count, counts)
        starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        each_part(_scatter, starts[:-1] + np.cumsum(counts, axis=0) - counts, rows, order)
    return starts, rows, order


@compiled(nogil=True)
def _count(begin: int, end: int, indptr: Ints, columns: Ints32, counts: Ints) -> None:
    """Count the ratings of each column in the rows ``begin`` to ``end``."""
    for p in range(np.uint64(indptr[begin]), np.uint64(indptr[end])):
        counts[np.uint64(columns[p])] += 1


@compiled(nogil=True)
def _scatter(
    begin: int, end: int, indptr: Ints, columns: Ints32, cursors: Ints, rows: Ints32, order: NDArray[Any]
) -> None:
    """Write the destinations of the ratings in rows ``begin`` to ``end``, each column from its cursor on."""
    for row in range(begin, end):
        for p in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            column = np.uint64(columns[p])
            at = np.uint64(cursors[column])
            cursors[column] += 1
            rows[at] = row
            order[at] = p
