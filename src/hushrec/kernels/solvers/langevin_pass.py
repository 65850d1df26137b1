"""A pass of Langevin dynamics over the ratings: its key, and its progress."""

from dataclasses import dataclass, field

import numpy as np

from hushrec.arrays import Ints32, Words32
from hushrec.kernels.csr import frozen

__all__ = ["LangevinPass"]


@dataclass(eq=False)
class LangevinPass:
    """A pass and its progress; ``langevin`` may be called for one block of users after the other.

    Attributes:
        key: 32 bytes from which all noise is derived; private. Use a key and a number for only one pass.
        number: number of the pass, at least 0.
        visits: number of users that all calls of the pass visit together.
        noise_intervals: number of intervals of the pass.
        visited: number of users visited so far.
        paid: time up to which each item is updated, in half intervals, shape (n_items,); private. Stored with
            ``visited``, it lets an interrupted pass continue between two calls.
    """

    key: bytes = field(repr=False)
    number: int
    visits: int
    n_items: int
    noise_intervals: int = 8
    visited: int = field(default=0, init=False)
    paid: Ints32 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.key) != 32 or not 0 <= self.number < 2**32 or not 1 <= self.noise_intervals <= 2**16:
            raise ValueError("use a key of 32 bytes, a number from 0 to 2^32 - 1 and 1 to 65536 quanta")
        if self.visits < 0:
            raise ValueError("visits must not be negative")
        self.paid = np.zeros(self.n_items, np.int32)

    @property
    def end(self) -> int:
        """The end of the pass, in half intervals."""
        return 2 * self.noise_intervals

    def times(self, order: Ints32) -> Ints32:
        """Return the midpoint of the interval of each of the next visits, in half intervals."""
        places = self.visited + np.arange(len(order), dtype=np.int64)
        return (2 * (places * self.noise_intervals // max(self.visits, 1)) + 1).astype(np.int32)

    @property
    def words(self) -> Words32:
        """The key, in the form that ``draw`` takes."""
        return frozen(np.frombuffer(self.key, "<u4"), np.uint32)
