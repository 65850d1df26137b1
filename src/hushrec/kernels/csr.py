"""Compressed sparse rows (CSR), and symmetric matrices packed as their upper triangle, row by row.

Rows are checked before a compiled loop, which does not check anything itself.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushrec.arrays import Bools, Ints, Ints32


class CSR(NamedTuple):
    """Compressed rows.

    Attributes:
        indptr: where each row starts and the last one ends, int64, shape (n_rows + 1,).
        columns: column of each entry, shape (n_entries,).
        values: of each entry, shape (n_entries,), in units that its maker states.

    Privacy: that of its source; neither bounded nor released.
    """

    indptr: Ints
    columns: Ints32
    values: NDArray[Any]


def cuts(indptr: Ints, size: int) -> bool:
    """Return whether ``indptr`` cuts this many entries into rows."""
    ends = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == size
    return bool(ends and (indptr[1:] >= indptr[:-1]).all())


def ascends(indptr: Ints, columns: Ints32) -> bool:
    """Return whether the columns of every row ascend, each once."""
    rising = columns[1:] > columns[:-1]
    starts = indptr[(indptr > 0) & (indptr < columns.size)]
    rising[starts - 1] = True  # where a row begins
    return bool(rising.all())


def check_rows(indptr: Ints, columns: Ints32, n_columns: int) -> None:
    """Check that ``indptr`` cuts ``columns`` into rows and that columns lie in 0 to ``n_columns`` - 1.

    Args:
        indptr: where each row's ratings start, then where the last ones end, shape (n_rows + 1,).
        columns: column of each rating, shape (n_ratings,).
    """
    if not cuts(indptr, len(columns)):
        raise ValueError("indptr must run from 0 to the number of ratings and not descend")
    if len(columns) and not (columns.min() >= 0 and columns.max() < n_columns):
        raise ValueError("items and users must lie in 0 to their number - 1")


def kept_rows(indptr: Ints, kept: Bools) -> Ints:
    """Return where each row starts, and the last one ends, of the ``kept`` entries alone."""
    return np.asarray(np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[indptr])


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a read-only, contiguous view of this type, or a copy.

    Read-only, because numba would compile again for writable arrays.
    """
    view = np.ascontiguousarray(array.astype(dtype, casting="safe", copy=False)).view()
    view.flags.writeable = False
    return view


_BLOCK = 64  # rows that are transposed at a time: a cache holds them; chosen by hand


def packed_size(n: int) -> int:
    """Return the cells of an (n, n) upper triangle, diagonal included: n (n + 1) / 2."""
    return n * (n + 1) // 2


def diagonal_positions(n: int) -> Ints:
    """Return where the diagonal is in a packed (n, n) upper triangle: i n − i (i − 1) / 2, shape (n,)."""
    i = np.arange(n, dtype=np.int64)
    return i * n - i * (i - 1) // 2


def bands(n: int, most: int) -> list[tuple[int, int]]:
    """Cut the rows of an (n, n) upper triangle into bands of at most ``most`` cells, or of one row.

    Returns:
        the first row of each band, and the one after its last.
    """
    starts, ends = np.append(diagonal_positions(n), packed_size(n)), [0]
    while ends[-1] < n:
        reached = int(np.searchsorted(starts, starts[ends[-1]] + most, side="right")) - 1
        ends.append(max(reached, ends[-1] + 1))
    return list(pairwise(ends)) or [(0, 0)]


def unpack(packed: NDArray[Any], n: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Unpack an upper triangle to its symmetric matrix.

    Args:
        packed: the upper triangle, row by row, shape (n (n + 1) / 2,).
        n: number of rows of the matrix.
        dtype: dtype of the matrix; float64 holds integers exactly up to 2^53.
    """
    if packed.shape != (packed_size(n),):
        raise ValueError(f"the packed triangle of {n} items has {packed_size(n)} cells, not {packed.shape}")
    matrix = np.empty((n, n), dtype)
    for i, start in enumerate(diagonal_positions(n)):
        matrix[i, i:] = packed[start : start + n - i]
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        matrix[end:, begin:end] = matrix[begin:end, end:].T
        square = matrix[begin:end, begin:end]
        square[:] = np.triu(square) + np.triu(square, 1).T
    return matrix
