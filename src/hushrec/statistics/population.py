"""The people who take part, block by block, each with the weight that their own ε allows."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from hushrec.arrays import Bools, Floats, Ints
from hushrec.data.feedback import Feedback
from hushrec.data.packed.blocks import Blocks
from hushrec.statistics.engines import Engine, engine_of

FULL = 1 << 16
"""A weight of one, in steps of the weights' grid."""


class Weighed(NamedTuple):
    """A block of people.

    Attributes:
        rows: what they gave, ``Ratings`` or ``Interactions``.
        weights: weight of each, in steps of 2^-16, from 0 to ``FULL``, shape (n_users,).

    Privacy: private.
    """

    rows: Any
    weights: Ints


class Population:
    """People who gave feedback, without those of weight 0, who do not even affect what is drawn for others.

    Sums over them do not depend on how they are cut into blocks, nor on their order. Who is in a Poisson
    sample does: ``load_blocks`` lists people in another order than ``load``.

    Args:
        source: private ratings or interactions, capped, in memory or in block files.
        weigh: maps requested ε to weights in steps of 2^-16, from 0 to ``FULL``, of the same shape. None if
            no ε are requested.

    Attributes:
        domain: the public domain.
        weighed: the blocks with weights, for sums that take them.

    Privacy: private.
    """

    def __init__(self, source: Feedback | Blocks, weigh: Callable[[Floats], Ints] | None = None) -> None:
        self.domain = source.domain
        self._weigh = weigh if source.asks else None
        self._n_listed = source.n_users
        self._everyone: Engine[Any] | None = engine_of(source)
        self.weighed: Engine[Weighed] = self._everyone.map(self._weighed)
        if self._weigh:
            self._everyone = None

    @property
    def in_full(self) -> Engine[Any]:
        """The blocks of people who all count in full, for sums that take no weights.

        Raises:
            ValueError: people have weights, or a sample of them was drawn.

        Privacy: private.
        """
        if self._everyone is None:
            raise ValueError("this sum takes no weights, but these people have weights; use one that does")
        return self._everyone

    def blocks(self) -> Iterator[Weighed]:
        """The people block by block, with weights. Privacy: private."""
        return self.weighed.blocks()

    @property
    def n_people(self) -> int:
        """Number of people who take part. Privacy: private."""
        return sum(self._sizes) if self._weigh else self._n_listed

    def sampled(self, chosen: Bools) -> Self:
        """The same people, with weight 0 for those who are not chosen.

        Args:
            chosen: whether each person takes part in a round, in the order of the blocks, shape (n_people,).

        Privacy: private.
        """
        sample = copy(self)
        parts = np.split(chosen, np.cumsum(self._sizes, dtype=np.int64))[:-1]
        sample.weighed, sample._everyone = self.weighed.map(_draw, parts), None
        return sample

    @cached_property
    def _sizes(self) -> list[int]:
        """People in each block."""
        return [len(weights) for _, weights in self.blocks()]

    def _weighed(self, block: Feedback) -> Weighed:
        if block.asked is None or self._weigh is None:
            return Weighed(block, np.full(block.n_users, FULL, dtype=np.int64))
        weights = self._weigh(block.asked)
        return Weighed(block.select(np.repeat(weights > 0, np.diff(block.indptr))), weights[weights > 0])


def _draw(block: Weighed, chosen: Bools) -> Weighed:
    return block._replace(weights=np.where(chosen, block.weights, 0))
