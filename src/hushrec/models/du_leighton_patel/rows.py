"""Users' rows before they are randomized: what a device holds."""

from dataclasses import dataclass, field

import numpy as np

from hushrec.arrays import Bytes, Ints, Ints32
from hushrec.kernels.csr import ascends, cuts


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Private rows, one per user: which of ``width`` columns hold which mark. All other cells are empty.

    Args:
        name: of the measurement that randomizes them.
        indptr: CSR row offsets, int64, shape (rows + 1,).
        columns: int32, ascending in each row.
        marks: uint8.

    Privacy: private. They never appear in a repr or a message.
    """

    name: str
    width: int
    indptr: Ints = field(repr=False)
    columns: Ints32 = field(repr=False)
    marks: Bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not (
            self.indptr.dtype == np.int64
            and self.columns.dtype == np.int32
            and self.marks.dtype == np.uint8
            and self.marks.shape == self.columns.shape == (self.columns.size,)
            and cuts(self.indptr, self.columns.size)
            and self.columns.min(initial=0) >= 0
            and self.columns.max(initial=0) < self.width
            and ascends(self.indptr, self.columns)
        ):
            raise ValueError(f"{self.name}: indptr, columns and marks are not rows of {self.width} columns")

    @property
    def longest(self) -> int:
        """Number of cells of the longest row. Privacy: private."""
        return int(np.diff(self.indptr).max(initial=0))
