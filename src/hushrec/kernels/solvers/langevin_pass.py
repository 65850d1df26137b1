"""A pass of Langevin dynamics over the ratings: its key, and how far it has come."""

from dataclasses import dataclass, field

import numpy as np

from hushrec.arrays import Ints32
from hushrec.kernels.csr import frozen
from hushrec.kernels.noise.chacha import Words32

__all__ = ["Epoch"]


@dataclass(eq=False)
class Epoch:
    """A pass, and how far it has come: ``langevin`` may be called block by block of users.

    Attributes:
        key: 32 bytes from which all noise is derived; private. A key and a number are used for one pass.
        number: of the pass, at least 0.
        visits: how many users all the calls of the pass visit together.
        n_items: number of items.
        quanta: pieces that the pass is cut into.
        visited: how many users have been visited.
        paid: up to which time each item was paid, in half quanta, shape (n_items,); private. Kept with
            ``visited``, it lets a pass go on that was interrupted between two calls.
    """

    key: bytes = field(repr=False)
    number: int
    visits: int
    n_items: int
    quanta: int = 8
    visited: int = field(default=0, init=False)
    paid: Ints32 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.key) != 32 or not 0 <= self.number < 2**32 or not 1 <= self.quanta <= 2**16:
            raise ValueError("use a key of 32 bytes, a number from 0 to 2^32 - 1 and 1 to 65536 quanta")
        if self.visits < 0:
            raise ValueError("visits must not be negative")
        self.paid = np.zeros(self.n_items, np.int32)

    @property
    def end(self) -> int:
        """The end of the pass, in half quanta."""
        return 2 * self.quanta

    def times(self, order: Ints32) -> Ints32:
        """The middle of the quantum of each of the next visits, in half quanta."""
        places = self.visited + np.arange(len(order), dtype=np.int64)
        return (2 * (places * self.quanta // max(self.visits, 1)) + 1).astype(np.int32)

    @property
    def words(self) -> Words32:
        """The key, as ``draw`` takes it."""
        return frozen(np.frombuffer(self.key, "<u4"), np.uint32)
