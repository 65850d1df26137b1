"""Both sides of the privacy boundary: bounded private sums, and the noisy public values made from them."""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.errors import GrantError
from hushrec.kernels.csr import ascends, cuts
from hushrec.privacy.accounting.events import EVERY_RATING, Event
from hushrec.text import above, below

Norm = Literal["l1", "l2"]
_CHUNK = 2**20  # entries converted at once; limits memory only


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A private sum of bounded contributions, on an integer grid.

    Adding, removing or replacing one privacy unit changes ``values × step`` by at most ``sensitivity``
    in ``norm``. The code that builds one must ensure that bound; later code cannot check it.

    Args:
        values: integers of any shape; the quantity is ``values × step``.
        sensitivity: the bound, in the quantity's units.
        norm: ``"l2"`` for Gaussian noise, ``"l1"`` for Laplace noise.
        step: width of the grid, in the quantity's units.

    Privacy: bounded (norm ≤ ``sensitivity``). Its values never appear in a repr or a message.
    """

    name: str
    values: Ints = field(repr=False)
    sensitivity: float
    norm: Norm
    step: float

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64:
            raise ValueError(f"{self.name}: bounded values must be int64 counts of grid steps")
        if not (0 < self.sensitivity < math.inf and 0 < self.step < math.inf):
            raise ValueError(f"{self.name}: sensitivity and step must be positive numbers")

    @property
    def size(self) -> int:
        return self.values.size


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """A released value: whatever is computed from it alone is post-processing.

    Args:
        values: float64, grid integers × step, in the shape of the bounded sum.
        sigma: standard deviation of the noise on each entry (√2 · scale for Laplace noise); 0 if no
            noise was added and nothing is claimed.
        event: what was charged for it; None if no noise was added.

    Privacy: public, and charged (``event``); private if ``event`` is None.
    """

    name: str
    values: Floats = field(repr=False)
    sigma: float
    step: float
    event: Event | None


@dataclass(frozen=True, slots=True, eq=False)
class BoundedMatrix:
    """A private sparse matrix on an integer grid; unlisted cells are 0.

    Adding, removing or replacing one privacy unit changes ``values × step`` by at most ``sensitivity`` in
    ``norm``, over all cells of the matrix. The code that builds one must ensure that bound.

    Args:
        indptr: CSR row offsets, int64, shape (rows + 1,).
        columns: int32, ascending in each row.
        values: int32 or int64; a cell is ``value × step``.
        sensitivity: the bound, in the cells' units.
        norm: ``"l1"`` for Laplace noise.
        step: width of the grid, in the cells' units.

    Privacy: bounded (norm ≤ ``sensitivity``). Its cells never appear in a repr or a message.
    """

    name: str
    shape: tuple[int, int]
    indptr: Ints = field(repr=False)
    columns: Ints32 = field(repr=False)
    values: Ints | Ints32 = field(repr=False)
    sensitivity: float
    norm: Norm
    step: float

    def __post_init__(self) -> None:
        rows, columns = self.shape
        if not (rows > 0 and 0 < columns < 2**31):
            raise ValueError(f"{self.name}: a matrix needs at least 1 row, and 1 to 2^31 - 1 columns")
        if not (
            self.indptr.dtype == np.int64
            and self.columns.dtype == np.int32
            and self.values.dtype in (np.int32, np.int64)
            and self.indptr.shape == (rows + 1,)
            and self.values.shape == self.columns.shape == (self.columns.size,)
            and cuts(self.indptr, self.columns.size)
        ):
            raise ValueError(f"{self.name}: indptr, columns and values are not CSR rows of its shape")
        if self.columns.size and not (self.columns.min() >= 0 and self.columns.max() < columns):
            raise ValueError(f"{self.name}: columns are outside its shape")
        if not ascends(self.indptr, self.columns):
            raise ValueError(f"{self.name}: columns must ascend in each row, without repeats")
        if not (0 < self.sensitivity < math.inf and 0 < self.step < math.inf):
            raise ValueError(f"{self.name}: sensitivity and step must be positive numbers")

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMatrix:
    """A released sparse matrix: whatever is computed from it alone is post-processing.

    Args:
        indptr: int64, shape (rows + 1,).
        columns: int32, ascending in each row.
        values: int32, in grid steps; a cell is ``value × step``. Unlisted cells fell below the threshold.
        sigma: standard deviation of the noise on each cell before the threshold; 0 if none was added.
        event: what was charged for it; None if no noise was added.

    Privacy: public, and charged (``event``); private if ``event`` is None.
    """

    name: str
    shape: tuple[int, int]
    indptr: Ints = field(repr=False)
    columns: Ints32 = field(repr=False)
    values: Ints32 = field(repr=False)
    sigma: float
    step: float
    event: Event | None


def require_booked(bounded: Bounded | BoundedMatrix, event: Event) -> None:
    """Refuse a sum that differs from what was booked.

    Privacy: public.
    """
    if bounded.sensitivity > event.sensitivity:
        raise GrantError(
            f"{bounded.name}: its sensitivity {above(bounded.sensitivity)} is above the booked "
            f"{below(event.sensitivity)}; plan and statistic must use the same bound"
        )
    each = event.size == EVERY_RATING and isinstance(bounded, Bounded)
    for quantity, actual, booked in (
        ("size", bounded.size, bounded.size if each else event.size),
        ("step", bounded.step, event.step),
        ("norm", bounded.norm, event.norm),
    ):
        if actual != booked:
            raise GrantError(
                f"{bounded.name}: {quantity} is {actual}, booked was {booked}; plan and statistic must agree"
            )


def require_range(name: str, threshold: int, limit: int) -> None:
    """Refuse bounds of listed cells that are out of order."""
    if not 1 <= threshold <= limit < 2**31:
        raise GrantError(f"{name}: threshold and limit must be grid steps with 1 ≤ threshold ≤ limit < 2^31")


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
