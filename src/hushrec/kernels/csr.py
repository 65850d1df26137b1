"""Check compressed sparse rows (CSR) before a compiled loop, which does not check anything itself."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushrec.arrays import Bools, Ints, Ints32

__all__ = ["CSR", "ascends", "check_rows", "cuts", "frozen", "kept_rows"]


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
