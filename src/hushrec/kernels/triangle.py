"""Symmetric matrices packed as their upper triangle, row by row, diagonal included."""

from typing import Any

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushrec.arrays import Ints, Ints32
from hushrec.kernels.csr import frozen
from hushrec.kernels.tasks import in_threads

_ROWS = 256  # that a thread takes at a time; chosen by hand
_U = np.uint64  # numba checks signed indices for wrapping from the end


def packed_size(n: int) -> int:
    """Return the cells of an (n, n) upper triangle, diagonal included: n (n + 1) / 2."""
    return n * (n + 1) // 2


def diagonal_positions(n: int) -> Ints:
    """Return where the diagonal is in a packed (n, n) upper triangle: i n − i (i − 1) / 2, shape (n,)."""
    i = np.arange(n, dtype=np.int64)
    return i * n - i * (i - 1) // 2


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
        row = packed[start : start + n - i]
        matrix[i, i:] = row
        matrix[i:, i] = row
    return matrix


def renumbered(packed: Ints, places: Ints32, *, threads: int = 2) -> Ints:
    """Reorder the rows and columns of a symmetric matrix.

    Args:
        packed: the upper triangle, row by row, shape (n (n + 1) / 2,).
        places: for each row of the result, the row of ``packed`` that it is; each once, shape (n,).
        threads: number of threads; the result does not depend on it.
    """
    n = len(places)
    if packed.shape != (packed_size(n),) or not np.array_equal(np.sort(places), np.arange(n)):
        raise ValueError("places must name each row of the triangle once")
    target, source, rows = np.empty_like(packed), frozen(packed, np.int64), frozen(places, np.int32)
    tasks = ((begin, min(begin + _ROWS, n)) for begin in range(0, n, _ROWS))
    in_threads(_gather, tasks, source, rows, target, threads=threads)
    return target


@numba.njit(cache=True, nogil=True)
def _gather(begin: int, end: int, packed: Ints, places: Ints32, target: Ints) -> None:
    n = np.int64(len(places))
    for i in range(begin, end):
        row, start = np.int64(places[i]), i * (2 * n - 1 - i) >> 1
        for j in range(i, n):
            column = np.int64(places[_U(j)])
            low, high = min(row, column), max(row, column)
            target[_U(start + j)] = packed[_U((low * (2 * n - 1 - low) >> 1) + high)]
