"""Gradients of item factors by everybody's own likelihood, made at home, clipped person by person."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.kernels.marginal import marginal_gradients
from hushrec.statistics.home import at_home
from hushrec.statistics.population import FULL
from hushrec.statistics.query import Query

_STEP_BITS = 16  # below the clip, so that truncation drops little of a person who rated much
_THREADS = 2


@dataclass(frozen=True)
class MarginalGradients:
    """Σ_u of every person's gradient of noise · ln p(his ratings | item factors), his vector integrated out.

    Any map of one person's own ratings is free in unit ``user``; all that he gives is clipped to norm
    ``contribution`` times his weight and truncated to a grid, toward zero.

    Args:
        domain: the public frame.
        rank: number of factors.
        rounds: how often the gradients are measured.
        rate: probability with which a person takes part in a round.
        noise: variance of a rating around effects and factors, in squared rating units.
        clip: bound on a rating's error, in rating units.
        contribution: bound on the L2 norm of all that one person gives.

    Privacy: public.
    """

    domain: Domain
    rank: int
    rounds: int
    rate: float
    noise: float
    clip: float
    contribution: float

    @property
    def step(self) -> float:
        """Width of the grid, a power of two."""
        return float(2.0 ** (np.floor(np.log2(self.contribution)) - _STEP_BITS))

    def query(self, number: int) -> Query:
        """The measurement of round ``number`` from 1."""
        size = self.domain.n_items * self.rank
        return Query(f"items, round {number}", self.contribution, "l2", self.step, size, rate=self.rate)

    def queries(self) -> Iterator[Query]:
        """Descriptions of the sums, in the order in which they are measured."""
        return (self.query(number) for number in range(1, self.rounds + 1))

    def measure(
        self, people: Callable[[], Iterable[tuple[Ratings, Ints]]], item_effects: Floats, item_factors: Floats
    ) -> Ints:
        """The sum of one round, in grid steps, shape (n_items, rank).

        Args:
            people: gives those who take part, ratings capped, with their weights in steps of 2^-16, block by
                block.
            item_effects: released, shape (n_items,).
            item_factors: released, shape (n_items, rank).

        Privacy: bounded, by the query's sensitivity times each person's weight.
        """
        sums = np.zeros(item_factors.shape, dtype=np.int64)
        for ratings, weights in people():
            rows = ratings.indptr, ratings.items, at_home(ratings, item_effects), item_factors
            clips = self.contribution * (weights / FULL)
            sums += marginal_gradients(*rows, self.noise, self.clip, clips, self.step, threads=_THREADS)
        return sums
