"""Ratings minus released averages, on an integer grid."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.kernels.csr import CSR
from hushrec.kernels.sums.gradients import residuals
from hushrec.statistics.integer_grid import Grid
from hushrec.statistics.population import Population

_BITS = 14


@dataclass(frozen=True)
class Residuals:
    """x = clamp(r − item effect − user effect, ±clip) (Friedman, Berkovsky & Kaafar 2016, §4.1, eq. 7).

    The effects are already released, so a rating changes only its own residual: adding one adds an x of at
    most ``clip``, changing one moves its x by at most 2 · clip, or by the width of the scale if that is less.
    Ratings, effects and clip are whole numbers of grid steps, so no rounding occurs.

    Args:
        domain: the public domain, with a roster if user effects are subtracted.
        adjacency: adjacency of the guarantee.
        clip: bound on |x|, in rating units.

    Privacy: public.
    """

    domain: Domain
    adjacency: str
    clip: float

    @cached_property
    def grid(self) -> Grid:
        """The grid of the residuals."""
        return Grid(self.domain.scale.span, _BITS)

    @property
    def bound(self) -> int:
        """``clip``, in steps."""
        return max(1, self.grid.count(self.clip))

    @cached_property
    def grid_values(self) -> Ints:
        """Every possible rating above the bottom of the scale, in steps."""
        return self.grid.counts(
            self.domain.scale.step * np.arange(self.domain.scale.n_values, dtype=np.float64)
        )

    @property
    def change(self) -> float:
        """The most that a neighbour moves one residual, all others unchanged."""
        if self.adjacency == "replace":
            return min(2 * self.bound, int(self.grid_values[-1])) * self.grid.step
        return self.bound * self.grid.step

    def entries(self, people: Population, item_effects: Floats, user_effects: Floats) -> CSR:
        """x of every rating, in grid steps, by person and item.

        Args:
            ratings: private ratings of people on the roster.
            item_effects: released, shape (n_items,).
            user_effects: released, over the roster, shape (domain.n_users,).

        Privacy: private; each entry is bounded by ``bound``.
        """
        ratings, _ = people.single()
        indptr = ratings.roster_indptr()
        values: Ints32 = residuals(
            indptr,
            ratings.items,
            ratings.steps,
            self.grid_values,
            self.grid.counts(item_effects - self.domain.scale.lo),
            self.grid.counts(user_effects),
            self.bound,
        )
        return CSR(indptr, ratings.items, values)
