"""Every rating with its own noise: a statistic that any factoriser can use as input."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.data.domain import Domain
from hushrec.kernels.csr import CSR
from hushrec.models.friedman_berkovsky_kaafar.estimate import NoisyRatings
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement
from hushrec.privacy.grant import Measures
from hushrec.privacy.noisy import Cells as Matrix
from hushrec.sums.residuals import Residuals


@dataclass(frozen=True)
class Cells:
    """Residuals with Laplace noise, one by one (Friedman, Berkovsky & Kaafar 2016, Algorithm 3 and eq. 8).

    Adjacency ``replace``: noise on every rating. ``add-remove``: noise on every cell of people × items, where
    empty cells are 0; cells below the threshold are dropped. The matrix is never stored whole.

    Args:
        domain: the public domain, with a roster.
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
        return Residuals(self.domain, self.adjacency, self.clip)

    @cached_property
    def query(self) -> Measurement:
        change, step = self.residuals.change, self.residuals.grid.step
        if self.adjacency == "replace":
            return Measurement("ratings", change, "l1", step, EVERY_RATING)
        # §4.2, unbounded: a missing rating counts as 0, so one more rating moves a cell by B at most.
        return Measurement("cells", change, "l1", step, self.domain.n_users * self.domain.n_items)

    @property
    def bounds(self) -> tuple[int, int]:
        """The threshold and the limit, in grid steps."""
        threshold = max(1, self.residuals.grid.count(self.threshold))
        return threshold, max(threshold, self.residuals.grid.count(self.limit))

    def measure(self, run: Measures, entries: CSR) -> NoisyRatings:
        """Noisy residuals.

        Args:
            run: the charged plan, which has ``query``.
            entries: the result of ``residuals.entries``.

        Privacy: charged (the measurement of ``query``).
        """
        if self.query.size == EVERY_RATING:
            noisy = run.measure(self.query, entries.values.astype(np.int64))
            # Algorithm 3, line 2.
            values = np.clip(noisy.values, -self.limit, self.limit).astype(np.float32)
            return NoisyRatings(entries.indptr, entries.columns, values, noisy.sigma)
        shape = self.domain.n_users, self.domain.n_items
        released = run.measure_cells(self.query, Matrix(shape, *entries, *self.bounds))
        values = (released.values * np.float32(released.step)).astype(np.float32)
        return NoisyRatings(released.indptr, released.columns, values, released.sigma)
