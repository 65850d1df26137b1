"""Ratings minus released averages, on an integer grid."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.kernels.csr import CSR
from hushrec.kernels.sums.gradients import residuals
from hushrec.statistics.engines.engine import Engine
from hushrec.statistics.integer_grid import Grid
from hushrec.statistics.population import Population

_BITS = 14  # steps of the grid in a scale's span: 2^14


class ResidualRows(NamedTuple):
    """Residuals of a block of people.

    Attributes:
        places: row of each person on the roster, shape (n_people,).
        entries: x of each rating by person and item, in grid steps.

    Privacy: private.
    """

    places: Ints
    entries: CSR


@dataclass(frozen=True)
class Residuals:
    """x = clamp(r − item effect − user effect, ±clip) (Friedman, Berkovsky & Kaafar 2016, §4.1, eq. 7).

    The effects are already released, so a rating changes only its own residual: adding one adds an x of at
    most ``clip``, changing one moves its x by at most 2 · clip, or by the width of the scale if that is less.
    Ratings, effects and clip are whole numbers of grid steps, so no rounding occurs.

    Args:
        domain: the public domain, with a roster if user effects are subtracted.
        clip: bound on |x|, in rating units.

    Privacy: public.
    """

    domain: Domain
    adjacency: str
    clip: float

    @cached_property
    def grid(self) -> Grid:
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

    def rows(self, people: Population, item_effects: Floats, user_effects: Floats) -> Engine[ResidualRows]:
        """x of every rating, block by block: 4 bytes a rating in memory, computed again for block files.

        Args:
            people: people on the roster, without weights.
            item_effects: released, shape (n_items,).
            user_effects: released, over the roster, shape (domain.n_users,).

        Privacy: private; each entry is bounded by ``bound``.
        """
        self.domain.require_roster()
        item_steps = self.grid.counts(item_effects - self.domain.scale.lo)
        user_steps = self.grid.counts(user_effects)

        def residual_rows(ratings: Ratings) -> ResidualRows:
            places, rows = ratings.places(), (ratings.indptr, ratings.items)
            offsets = item_steps, user_steps[places]
            values = residuals(*rows, ratings.steps, self.grid_values, *offsets, self.bound)
            return ResidualRows(places, CSR(*rows, values))

        return people.in_full.map(residual_rows)

    def entries(self, people: Population, item_effects: Floats, user_effects: Floats) -> CSR:
        """x of every rating, in grid steps, by person on the roster and item; takes 8 bytes a rating.

        Arguments, errors and privacy as for ``rows``.
        """
        rows = self.rows(people, item_effects, user_effects)

        def count(row: ResidualRows, counts: Ints) -> None:
            counts[row.places] += np.diff(row.entries.indptr)

        (counts,) = rows.total(count, self.domain.n_users)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        columns, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=np.int32)
        for places, (cuts, items, block_values) in rows.blocks():
            there = np.repeat(indptr[places] - cuts[:-1], np.diff(cuts))
            there += np.arange(len(there))
            columns[there], values[there] = items, block_values
        return CSR(indptr, columns, values)
