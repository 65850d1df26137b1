"""Every rating with its own noise: a statistic that any factoriser can use as input."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.data.domain import Domain
from hushrec.estimation.noisy_ratings import NoisyRatings
from hushrec.kernels.csr import CSR
from hushrec.privacy.accounting.events import EVERY_RATING
from hushrec.privacy.bounded import BoundedMatrix
from hushrec.privacy.grant import Grant
from hushrec.statistics.query import Query
from hushrec.statistics.residuals import Residuals


@dataclass(frozen=True)
class Cells:
    """Residuals with Laplace noise, one by one (Friedman, Berkovsky & Kaafar 2016, Algorithm 3 and eq. 8).

    Adjacency ``replace``: noise on every rating. ``add-remove``: noise on every cell of people × items, where
    empty cells are 0; cells below the threshold are dropped. The remaining cells are drawn without ever
    storing the matrix.

    Args:
        domain: the public domain, with a roster.
        adjacency: adjacency of the guarantee.
        clip: B, bound on a residual, in rating units.
        threshold: α, smallest absolute value of a noisy cell that is kept, in rating units.
        limit: bound to which noisy cells are clamped, in rating units.

    Privacy: public.
    """

    domain: Domain
    adjacency: str
    clip: float
    threshold: float
    limit: float

    @cached_property
    def residuals(self) -> Residuals:
        """The grid and bound of residuals."""
        return Residuals(self.domain, self.adjacency, self.clip)

    def query(self) -> Query:
        """The only measurement."""
        everywhere = self.domain.n_users * self.domain.n_items
        name, size = ("ratings", EVERY_RATING) if self.adjacency == "replace" else ("cells", everywhere)
        return Query(name, self.residuals.change, "l1", self.residuals.grid.step, size)

    def release(self, grant: Grant, entries: CSR) -> NoisyRatings:
        """Noisy residuals.

        Args:
            grant: the grant that was charged for ``query``.
            entries: the result of ``residuals.entries``.

        Privacy: charged (the event of ``query``).
        """
        query, grid = self.query(), self.residuals.grid
        if self.adjacency == "replace":
            noisy = query.release(grant, entries.values.astype(np.int64))
            values = np.clip(noisy.values, -self.limit, self.limit).astype(np.float32)
            return NoisyRatings(entries.indptr, entries.columns, values, noisy.sigma)
        shape = self.domain.n_users, self.domain.n_items
        bounded = BoundedMatrix(query.name, shape, *entries, query.sensitivity, "l1", query.step)
        threshold, limit = max(1, grid.count(self.threshold)), grid.count(self.limit)
        found = grant.release_matrix(bounded, threshold=threshold, limit=max(threshold, limit))
        values = (found.values * np.float32(found.step)).astype(np.float32)
        return NoisyRatings(found.indptr, found.columns, values, found.sigma)
