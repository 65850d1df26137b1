"""Symmetric matrices packed as their upper triangle, row by row, diagonal included."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushrec.arrays import Ints

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
