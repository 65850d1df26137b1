"""Compressed sparse rows (CSR) on their way into a compiled loop, which checks nothing itself."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushrec.arrays import Ints, Ints32

__all__ = ["check_rows", "frozen"]


def check_rows(indptr: Ints, columns: Ints32, n_columns: int) -> None:
    """See that ``indptr`` cuts ``columns`` into rows, and that these lie in 0 to ``n_columns`` - 1.

    Args:
        indptr: where each row's ratings start, and the last ones end, shape (n_rows + 1,).
        columns: column of each rating, shape (n_ratings,).
        n_columns: number of columns.

    Raises:
        ValueError: they do not fit together.
    """
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(columns) or (np.diff(indptr) < 0).any():
        raise ValueError("indptr must run from 0 to the number of ratings and not descend")
    if len(columns) and not (columns.min() >= 0 and columns.max() < n_columns):
        raise ValueError("items and users must lie in 0 to their number - 1")


def frozen(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """A read-only, contiguous view of this type, or a copy: numba compiles anew for writable arrays."""
    view = np.ascontiguousarray(array.astype(dtype, casting="safe", copy=False)).view()
    view.flags.writeable = False
    return view
