"""The people who take part, block by block, each with the weight that their own ε allows."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.people import People
from hushrec.data.spark.people import SparkPeople
from hushrec.sums.engine import Engine
from hushrec.sums.spark_engine import SparkRows

FULL = 1 << 16
"""A weight of one, in steps of the weights' grid."""


class Weighed(NamedTuple):
    """A block of people.

    Attributes:
        rows: what they gave, ``People`` in memory.
        weights: weight of each, in steps of 2^-16, from 0 to ``FULL``, shape (n_users,).

    Privacy: private.
    """

    rows: Any
    weights: Ints


class Population:
    """People who gave feedback, without those of weight 0, who do not even affect what is drawn for others.

    No sum over them depends on how they are cut into blocks, or on their order.

    Args:
        source: private ratings or interactions, capped.
        weigh: maps requested ε to weights in steps of 2^-16, from 0 to ``FULL``, of the same shape. None if
            no ε are requested. It is sent to where the people are, so it holds nothing but settings.

    Attributes:
        domain: the public domain.
        n_listed: number of people of the source, those of weight 0 included.
        weighed: the blocks with weights, for sums that take them.

    Privacy: private.
    """

    def __init__(self, source: AnyPeople, weigh: Callable[[Floats], Ints] | None = None) -> None:
        self.domain = source.domain
        self.n_listed = source.n_users
        rows = engine_of(source)
        personal_weigh = weigh if source.has_personal_epsilon else None
        self.weighed: Engine[Weighed] = rows.map(partial(_weigh, personal_weigh))
        self._everyone = None if personal_weigh else rows

    @property
    def in_full(self) -> Engine[Any]:
        """The blocks of people who all count in full, for sums that take no weights.

        Privacy: private.
        """
        if self._everyone is None:
            raise ValueError("this sum takes no weights, but these people have weights; use one that does")
        return self._everyone

    def blocks(self) -> Iterator[Weighed]:
        """The people block by block, with weights. Privacy: private."""
        return self.weighed.blocks()


def _weigh(weigh: Callable[[Floats], Ints] | None, block: People) -> Weighed:
    if block.personal_epsilon is None or weigh is None:
        return Weighed(block, np.full(block.n_users, FULL, dtype=np.int64))
    # Whole rows go, not only their weight: nothing that is drawn for others may depend on people of weight 0.
    weights = weigh(block.personal_epsilon)
    return Weighed(block.select(np.repeat(weights > 0, np.diff(block.indptr))), weights[weights > 0])


def engine_of(source: AnyPeople) -> Engine[Any]:
    """The engine for ratings or interactions, wherever they are. Privacy: private."""
    if isinstance(source, SparkPeople):
        return SparkRows(source)
    reader = None if source.folder is None else ThreadPoolExecutor(1)
    return Engine(source.blocks, source.n_blocks, reader)


def rows_here(source: AnyPeople) -> People | None:
    """The people themselves if all their rows are in memory, else None.

    Privacy: private.
    """
    return source if isinstance(source, People) and source.folder is None else None
