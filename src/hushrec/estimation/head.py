"""The head of a catalogue: the items whose pairs a model measures, chosen by released counts.

A matrix of all pairs grows with the square of the catalogue. Its size has to be known before anything is
read, so the number of items is public and fixed; which items they are follows from noisy counts.

Privacy: public, because it is made from released counts.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.kernels.csr import diagonal_positions, packed_size

_STAYS = 2.0
"""What the count of an item of the head is multiplied by when the next head is chosen. Chosen by hand."""


@dataclass(frozen=True, eq=False)
class Head:
    """Some items of a catalogue; the others are its tail.

    Args:
        items: positions of the head's items in the catalogue, shape (n_head,); −1 for one that left it.
    """

    n_items: int
    items: Ints

    @classmethod
    def of(cls, counts: Floats, most: int, before: "Head | None" = None) -> Self:
        """Take the items with the largest counts, in ascending order; of equal ones, the first.

        Args:
            counts: released number of ratings or interactions of each item, shape (n_items,).
            most: largest number of items in the head.
            before: the head of the release before, whose sums are lost for an item that leaves it. So one
                leaves only for another that is twice as common.

        Privacy: post-processing.
        """
        if before is not None:
            inside = before.places >= 0
            chosen = np.argsort(-np.where(inside, _STAYS * counts, counts), kind="stable")[:most]
            return cls(len(counts), chosen[np.argsort(counts[chosen], kind="stable")])
        # Ascending counts: so the Gram kernel visits the fewest cells.
        return cls(len(counts), np.argsort(-counts, kind="stable")[:most][::-1].copy())

    @cached_property
    def places(self) -> Ints32:
        """Place of each item of the catalogue in the head, −1 in the tail, shape (n_items,)."""
        places, here = np.full(self.n_items, -1, dtype=np.int32), self.items >= 0
        places[self.items[here]] = np.flatnonzero(here)
        return places

    def spread(self, rows: Floats) -> Floats:
        """Spread rows of the head's items over the catalogue; those of the tail are zero.

        Args:
            rows: shape (n_head, any).

        Returns:
            Shape (n_items, any).
        """
        spread = np.zeros((self.n_items, rows.shape[1]))
        spread[self.items] = rows
        return spread

    def spread_triangle(self, packed: Floats32) -> Floats32:
        """Spread a packed triangle of the head over the catalogue, zero for pairs with an item of the tail.

        Args:
            packed: shape (n_head (n_head + 1) / 2,).

        Returns:
            Shape (n_items (n_items + 1) / 2,).
        """
        spread = np.zeros(packed_size(self.n_items), packed.dtype)
        rows, head_rows = diagonal_positions(self.n_items), diagonal_positions(len(self.items))
        for place, item in enumerate(self.items):
            others = self.items[place:]
            first, second = np.minimum(item, others), np.maximum(item, others)
            of_item = packed[head_rows[place] : head_rows[place] + len(others)]
            spread[rows[first] + second - first] = of_item
        return spread
