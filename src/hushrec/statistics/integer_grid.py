"""The integer grids that private sums live on.

Ratings and everything made from them are counted in steps of ``2^-bits`` of the scale's width, rounded up
to a power of two; a user's weight in steps of a power of two. Sums of integers are exact in any order, so the
same ratings give the same bits whatever the order of rows, the number of threads or of chunks.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps that ratings are counted in.

    Args:
        span: width of the rating scale.
        bits: fineness; a step is 2^-bits of the power of two above ``span``.

    Privacy: public.
    """

    span: float
    bits: int

    @property
    def step(self) -> float:
        """Width of one step, in rating units; a power of two."""
        return 2.0 ** (math.ceil(math.log2(self.span)) - self.bits)

    def count(self, value: float) -> int:
        """Number of whole steps in ``value``, toward zero."""
        return math.trunc(value / self.step)

    def counts(self, values: Floats) -> Ints:
        """Nearest number of steps of public values."""
        return np.asarray(np.rint(values / self.step), dtype=np.int64)


@dataclass(frozen=True)
class Weights:
    """Weight of a user with c ratings: min(1, (K/(c + offset))^power), rounded down to a grid.

    Args:
        largest: number of ratings up to which it is needed.
        bits: fineness; a step is 2^-bits.
        power: ½ for vectors under L2 norms and 1 for matrices where unit ``user`` is protected, twice that
            under L1 norms; ½ (L2) or 1 (L1) for matrices where unit ``rating`` is.
        contribution: K, the number of ratings from which on a user's weight decreases.
        offset: added to c.

    Privacy: public.
    """

    largest: int
    bits: int
    power: float
    contribution: float = 1.0
    offset: float = 0.0

    @cached_property
    def steps(self) -> Ints:
        """For c = 0 … largest, in steps, shape (largest + 1,)."""
        counts = np.maximum(np.arange(self.largest + 1) + self.offset, 1.0)
        weights = np.minimum(1.0, (self.contribution / counts) ** self.power)
        return np.asarray(np.floor(weights * 2.0**self.bits), dtype=np.int64)

    @property
    def step(self) -> float:
        """Width of a step."""
        return 2.0**-self.bits

    @property
    def values(self) -> Floats:
        """For c = 0 … largest, as they are, shape (largest + 1,)."""
        return np.asarray(self.steps * self.step, dtype=np.float64)
