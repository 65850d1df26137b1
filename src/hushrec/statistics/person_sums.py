"""Sums and counts of ratings per person, for models that publish a bias for every person."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.privacy.query import Norm
from hushrec.privacy.query import Sum as Query
from hushrec.statistics.population import Population
from hushrec.statistics.residuals import Residuals

_COUNT_BITS = 4  # below one, so that small noise can be drawn too


@dataclass(frozen=True)
class PeopleSums:
    """Σ clamp(r − item effect, ±clip) and the number of ratings of each person on the roster.

    Friedman, Berkovsky & Kaafar 2016, Algorithm 2. Unit ``rating``: one rating is in one person's sum.

    Args:
        domain: the public domain, with a roster.
        adjacency: adjacency of the guarantee.
        norm: norm of the noise.
        published: also measure the sum over all residuals, for GAvg′.
        clip: bound on a residual, in rating units.

    Privacy: public.
    """

    domain: Domain
    adjacency: str
    norm: Norm
    clip: float
    overall: bool = False

    @cached_property
    def residuals(self) -> Residuals:
        """The residuals that are summed."""
        return Residuals(self.domain, self.adjacency, self.clip)

    def queries(self) -> Iterator[Query]:
        """Descriptions of the sums, in the order in which they are measured."""
        change, step, n = self.residuals.change, self.residuals.grid.step, self.domain.n_users
        if self.overall:
            yield Query("residual sum", change, self.norm, step, 1)
        yield Query("user sums", change, self.norm, step, n)
        fixed = self.adjacency == "replace"
        yield Query("user counts", 0.0 if fixed else 1.0, self.norm, 2.0**-_COUNT_BITS, n)

    def measure(self, people: Population, item_effects: Floats) -> Iterator[tuple[Query, Ints]]:
        """The sums themselves, in the order of ``queries``.

        Args:
            ratings: private ratings of people on the roster.
            item_effects: released, shape (n_items,).

        Privacy: bounded, each by its query's sensitivity.
        """
        indptr, _, values = self.residuals.entries(people, item_effects, np.zeros(self.domain.n_users))
        running = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        sums = {
            "residual sum": running[-1:],
            "user sums": running[indptr[1:]] - running[indptr[:-1]],
            "user counts": np.diff(indptr) << _COUNT_BITS,
        }
        for query in self.queries():
            yield query, sums[query.name]
