"""What a grant takes beside plain sums, and what it returns: noisy public values."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.kernels.csr import ascends, cuts
from hushrec.privacy.accounting.measurement import Measurement

_CHUNK = 2**20  # entries converted at once; limits memory only
_BLOCK = 2**21  # cells, about, that get noise at once: 16 MB; chosen by hand, and seeded draws depend on it


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """A released value: whatever is computed from it alone is post-processing.

    Args:
        values: float64, grid integers × step, in the shape of the sum.
        sigma: standard deviation of the noise on each entry (√2 · scale for Laplace noise); 0 if no
            noise was added and nothing is claimed.
        measurement: what was charged for it; None if no noise was added.

    Privacy: public, and charged (``measurement``); private if ``measurement`` is None.
    """

    name: str
    values: Floats = field(repr=False)
    sigma: float
    step: float
    measurement: Measurement | None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A private sparse matrix on an integer grid; unlisted cells are 0. Of its noisy cells, those are listed
    that reach a threshold.

    Args:
        shape: rows and columns.
        indptr: CSR row offsets, int64, shape (rows + 1,).
        columns: int32, ascending in each row.
        values: int32 or int64; a cell is ``value × step``.
        threshold: smallest absolute value of a listed cell, in grid steps, at least 1. Public.
        limit: noisy cells are clamped to ±``limit`` grid steps; at least ``threshold``. Public.

    Privacy: bounded, over all cells, by the sensitivity of its measurement. Its cells never appear in a repr
    or a message.
    """

    shape: tuple[int, int]
    indptr: Ints = field(repr=False)
    columns: Ints32 = field(repr=False)
    values: Ints | Ints32 = field(repr=False)
    threshold: int
    limit: int

    def __post_init__(self) -> None:
        rows, columns = self.shape
        if not (rows > 0 and 0 < columns < 2**31):
            raise ValueError("a matrix needs at least 1 row, and 1 to 2^31 - 1 columns")
        if not (
            self.indptr.dtype == np.int64
            and self.columns.dtype == np.int32
            and self.values.dtype in (np.int32, np.int64)
            and self.indptr.shape == (rows + 1,)
            and self.values.shape == self.columns.shape == (self.columns.size,)
            and cuts(self.indptr, self.columns.size)
        ):
            raise ValueError("indptr, columns and values are not CSR rows of the matrix's shape")
        if self.columns.size and not (self.columns.min() >= 0 and self.columns.max() < columns):
            raise ValueError("columns are outside the matrix's shape")
        if not ascends(self.indptr, self.columns):
            raise ValueError("columns must ascend in each row, without repeats")
        if not 1 <= self.threshold <= self.limit < 2**31:
            raise ValueError("threshold and limit must be grid steps with 1 ≤ threshold ≤ limit < 2^31")

    @property
    def size(self) -> int:
        """Number of cells, including zeros."""
        return self.shape[0] * self.shape[1]

    def noisy(self, add: Callable[[Ints], None]) -> tuple[Ints, Ints32, Ints32]:
        """Every cell with noise, some rows at a time; those are listed that reach the threshold, clamped.

        Args:
            add: adds noise to every entry of a block, in place.

        Returns:
            indptr, columns and values, int32.

        Privacy: charged by the caller.
        """
        rows, width = self.shape
        tall = max(1, _BLOCK // width)
        counts, columns, values = [np.zeros(1, np.int64)], [], []
        for first in range(0, rows, tall):
            starts = self.indptr[first : first + tall + 1]
            block = np.zeros((starts.size - 1, width), np.int64)
            there, owners = slice(starts[0], starts[-1]), np.arange(starts.size - 1)
            block[np.repeat(owners, np.diff(starts)), self.columns[there]] = self.values[there]
            add(block)
            reached = np.abs(block) >= self.threshold
            counts.append(np.count_nonzero(reached, axis=1))
            columns.append(np.nonzero(reached)[1].astype(np.int32))
            values.append(np.clip(block[reached], -self.limit, self.limit).astype(np.int32))
        return np.cumsum(np.concatenate(counts)), np.concatenate(columns), np.concatenate(values)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMatrix:
    """A released sparse matrix: whatever is computed from it alone is post-processing.

    Args:
        indptr: int64, shape (rows + 1,).
        columns: int32, ascending in each row.
        values: int32, in grid steps; a cell is ``value × step``. Unlisted cells fell below the threshold.
        sigma: standard deviation of the noise on each cell before the threshold; 0 if none was added.
        measurement: what was charged for it; None if no noise was added.

    Privacy: public, and charged (``measurement``); private if ``measurement`` is None.
    """

    name: str
    shape: tuple[int, int]
    indptr: Ints = field(repr=False)
    columns: Ints32 = field(repr=False)
    values: Ints32 = field(repr=False)
    sigma: float
    step: float
    measurement: Measurement | None


def in_own_units(steps: Ints, step: float) -> Floats:
    """Convert grid integers to floats in place; exact below 2⁵³ for a step of 2^k.

    Privacy: post-processing.
    """
    integers = steps.reshape(-1)
    floats = integers.view(np.float64)
    for start in range(0, steps.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        floats[part] = integers[part] * step
    return floats.reshape(steps.shape)
