"""The two sides of the privacy line: a bounded private sum, and the noisy public value made from it."""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.privacy.events import Event

Norm = Literal["l1", "l2"]


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A private sum of bounded contributions, on an integer grid.

    Adding, removing or replacing one privacy unit changes ``values × step`` by at most ``sensitivity``
    in ``norm``. Whoever makes one vouches for that bound; nothing downstream can check it.

    Args:
        name: the measurement's name in its plan.
        values: integers of any shape; the quantity is ``values × step``.
        sensitivity: the bound, in the quantity's own units.
        norm: ``"l2"`` for Gaussian noise, ``"l1"`` for Laplace noise.
        step: width of the grid, in the quantity's own units.

    Raises:
        ValueError: The values are not int64, or a bound is not a positive number.

    Privacy: bounded (norm ≤ ``sensitivity``). Its values are in no repr and no message.
    """

    name: str
    values: Ints = field(repr=False)
    sensitivity: float
    norm: Norm
    step: float

    def __post_init__(self) -> None:
        if self.values.dtype != np.int64:
            raise ValueError(f"{self.name}: bounded values are int64 counts of grid steps")
        if not (0 < self.sensitivity < math.inf and 0 < self.step < math.inf):
            raise ValueError(f"{self.name}: sensitivity and step must be positive numbers")

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.values.size


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """A released value: everything made from it alone is post-processing.

    Args:
        name: the measurement's name in its plan.
        values: float64, grid integers × step, in the shape of the bounded sum.
        sigma: standard deviation of the noise on each entry (√2 · scale for Laplace noise); 0 where no
            noise was added and nothing is claimed.
        step: width of the grid.
        event: what was charged for it; None where no noise was added.

    Privacy: public, and charged (``event``); private where ``event`` is None.
    """

    name: str
    values: Floats = field(repr=False)
    sigma: float
    step: float
    event: Event | None
