"""The integer grids of private sums.

Ratings and everything computed from them are counted in steps of ``2^-bits`` of the scale's width, rounded up
to a power of two; user weights in steps of a power of two. Sums of integers are exact in any order, so the
same ratings give the same bits whatever the order of rows and the number of threads or chunks.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Floats, Ints

LARGEST_CAP = 1 << 29
"""K is below it, which is more than anybody has; chosen by hand."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid on which ratings are counted.

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
        """Number of whole steps in ``value``, rounded toward zero."""
        return math.trunc(value / self.step)

    def counts(self, values: Floats) -> Ints:
        """Nearest number of steps of public values."""
        return np.asarray(np.rint(values / self.step), dtype=np.int64)


@dataclass(frozen=True)
class Weights:
    """Weight of a user with c ratings: min(1, (K/(c + offset))^power), rounded down to a grid.

    Args:
        largest: largest number of ratings for which the weight is needed.
        bits: fineness; a step is 2^-bits.
        power: for vectors under L2 norms and matrices, unit ``user``: ½ and 1, twice that under L1 norms;
            for matrices, unit ``record``: ½ (L2) or 1 (L1).
        contribution: K, the number of ratings above which a user's weight decreases.
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
        """The weights for c = 0 … largest, in steps, shape (largest + 1,)."""
        counts = np.maximum(np.arange(self.largest + 1) + self.offset, 1.0)
        weights = np.minimum(1.0, (self.contribution / counts) ** self.power)
        # Down: a weighted row must not be longer than it is on paper.
        return np.asarray(np.floor(weights * 2.0**self.bits), dtype=np.int64)

    @property
    def step(self) -> float:
        return 2.0**-self.bits

    @property
    def values(self) -> Floats:
        """The weights for c = 0 … largest, as numbers, shape (largest + 1,)."""
        return np.asarray(self.steps * self.step, dtype=np.float64)
