"""Sums and counts of ratings per person, for models that publish a bias for every person."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.privacy.bounded import Norm
from hushrec.privacy.query import Sum
from hushrec.statistics.population import Population
from hushrec.statistics.residuals import ResidualRows, Residuals

_COUNT_BITS = 4  # below one, so that small noise can be drawn too


@dataclass(frozen=True)
class PeopleSums:
    """Σ clamp(r − item effect, ±clip) and the number of ratings of each person on the roster.

    Friedman, Berkovsky & Kaafar 2016, Algorithm 2. Unit ``record``: one rating is in one person's sum.

    Args:
        domain: the public domain, with a roster.
        clip: bound on a residual, in rating units.
        overall: whether to measure the sum over all residuals too.

    Privacy: public.
    """

    domain: Domain
    adjacency: str
    norm: Norm
    clip: float
    overall: bool = False

    @cached_property
    def residuals(self) -> Residuals:
        return Residuals(self.domain, self.adjacency, self.clip)

    def queries(self) -> Iterator[Sum]:
        """Descriptions of the sums, in the order in which they are measured."""
        change, step, n = self.residuals.change, self.residuals.grid.step, self.domain.n_users
        if self.overall:
            yield Sum("residual sum", change, self.norm, step, 1)
        yield Sum("user sums", change, self.norm, step, n)
        fixed = self.adjacency == "replace"
        yield Sum("user counts", 0.0 if fixed else 1.0, self.norm, 2.0**-_COUNT_BITS, n)

    def measure(self, people: Population, item_effects: Floats) -> Iterator[tuple[Sum, Ints]]:
        """The sums themselves, in the order of ``queries``.

        Args:
            people: people on the roster, without weights.
            item_effects: released, shape (n_items,).

        Privacy: bounded, each by its query's sensitivity.
        """

        def add(row: ResidualRows, sums: Ints, counts: Ints) -> None:
            indptr, _, values = row.entries
            sums[row.places] += np.add.reduceat(values, indptr[:-1], dtype=np.int64)
            counts[row.places] += np.diff(indptr) << _COUNT_BITS

        n = self.domain.n_users
        rows = self.residuals.rows(people, item_effects, np.zeros(n))
        sums, counts = rows.total(add, n, n)
        overall = [sums.sum(keepdims=True)] if self.overall else []
        yield from zip(self.queries(), [*overall, sums, counts], strict=True)
