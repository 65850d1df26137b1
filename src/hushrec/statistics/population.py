"""The people who take part, block by block, each with the weight that their own ε allows."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Floats, Ints
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.privacy.query import Sum as Query

FULL = 1 << 16
"""A weight of one, in steps of the weights' grid."""


class Population:
    """People with ratings, without those of weight 0, who do not even affect what is drawn for others.

    Args:
        source: private ratings, capped, in memory or in block files.
        weigh: maps requested ε to weights in steps of 2^-16, from 0 to ``FULL``, of the same shape. None if
            no ε are requested.

    Privacy: private.
    """

    def __init__(self, source: Ratings | Blocks, weigh: Callable[[Floats], Ints] | None = None) -> None:
        self.domain = source.domain
        self._source, self._weigh = source, weigh

    def blocks(self) -> Iterator[tuple[Ratings, Ints]]:
        """The ratings block by block, with weights; every block has a rating. Privacy: private."""
        if self._kept is not None:
            yield self._kept
            return
        for block in self._source.blocks():
            ratings, weights = self._weighed(block)
            if ratings.n_users:
                yield ratings, weights

    def single(self) -> tuple[Ratings, Ints | None]:
        """TEMPORARY"""
        empty = np.zeros(0, np.int32), np.zeros(0, np.uint8)
        nobody = Ratings(self.domain, pl.Series(dtype=pl.String), np.zeros(1, np.int64), *empty)
        if not isinstance(self._source, Ratings):
            self._source = self._source.gathered()
        ratings, weights = self._weighed(self._source)
        return (ratings if ratings.n_users else nobody), (None if self._weigh is None else weights)

    @cached_property
    def n_people(self) -> int:
        """Number of people who take part. Privacy: private."""
        return sum(len(weights) for _, weights in self.blocks())

    def sampled(self, chosen: Bools) -> Iterator[tuple[Ratings, Ints]]:
        """``blocks``, with weight 0 for people who are not chosen.

        Args:
            chosen: whether each person takes part in a round, shape (n_people,).

        Privacy: private.
        """
        start = 0
        for ratings, weights in self.blocks():
            yield ratings, np.where(chosen[start : start + len(weights)], weights, 0)
            start += len(weights)

    def total(
        self, measure: Callable[[Ratings, Ints], Iterable[tuple[Query, Ints]]]
    ) -> list[tuple[Query, Ints]]:
        """Sums over all blocks: integers, so the same bits as from a single block.

        Args:
            measure: computes the sums of a block of weighted people, each with its query.

        Privacy: bounded, each by its query's sensitivity.
        """
        empty = np.zeros(0, np.int32), np.zeros(0, np.uint8)
        nobody = Ratings(self.domain, pl.Series(dtype=pl.String), np.zeros(1, np.int64), *empty)
        totals = list(measure(nobody, np.zeros(0, np.int64)))
        for ratings, weights in self.blocks():
            parts = [part for _, part in measure(ratings, weights)]
            totals = [(query, sums + part) for (query, sums), part in zip(totals, parts, strict=True)]
        return totals

    @cached_property
    def _kept(self) -> tuple[Ratings, Ints] | None:
        """The single block of ratings in memory; None for block files, and if nobody takes part."""
        if not isinstance(self._source, Ratings):
            return None
        ratings, weights = self._weighed(self._source)
        return (ratings, weights) if ratings.n_users else None

    def _weighed(self, block: Ratings) -> tuple[Ratings, Ints]:
        if block.asked is None or self._weigh is None:
            return block, np.full(block.n_users, FULL, dtype=np.int64)
        weights = self._weigh(block.asked)
        return block.select(np.repeat(weights > 0, block.counts)), weights[weights > 0]
