"""Ratings minus released averages, on an integer grid, and their sums and counts for each person."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import Once, People
from hushrec.kernels.csr import CSR
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.sums.integer_grid import Grid
from hushrec.sums.kernels.gradients import residuals

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

    def rows(self, item_effects: Floats, user_effects: Floats) -> Once[ResidualRows]:
        """x of every rating of a block of people on the roster, without weights; takes 4 bytes a rating.

        Args:
            item_effects: released, shape (n_items,).
            user_effects: released, over the roster, shape (domain.n_users,).

        Privacy: private; each entry is bounded by ``bound``.
        """
        self.domain.require_roster()
        item_steps = self.grid.counts(item_effects - self.domain.scale.lo)
        # Released effects may be rounded to the nearest step: no rating decides how.
        user_steps = self.grid.counts(user_effects)

        def residual_rows(ratings: People) -> ResidualRows:
            places, rows = ratings.places(), (ratings.indptr, ratings.items)
            offsets = item_steps, user_steps[places]
            values = residuals(*rows, ratings.values, self.grid_values, *offsets, self.bound)
            return ResidualRows(places, CSR(*rows, values))

        return Once(residual_rows)

    def entries(self, people: AnyPeople, item_effects: Floats, user_effects: Floats) -> CSR:
        """x of every rating, in grid steps, by person on the roster and item; takes 8 bytes a rating.

        Args:
            people: people on the roster, without weights.
            item_effects, user_effects: as for ``rows``.

        Privacy: private, as for ``rows``.
        """
        rows = self.rows(item_effects, user_effects)

        def count(block: People, counts: Ints) -> None:
            counts[rows(block).places] += block.counts

        (counts,) = people.total(count, self.domain.n_users)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        columns, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=np.int32)
        for places, (cuts, items, block_values) in map(rows, people.blocks()):
            # Where each rating goes: the start of its person's row, plus its place in that row.
            there = np.repeat(indptr[places] - cuts[:-1], np.diff(cuts))
            there += np.arange(len(there))
            columns[there], values[there] = items, block_values
        return CSR(indptr, columns, values)


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

    def queries(self) -> Iterator[Measurement]:
        """Descriptions of the sums, in the order in which they are measured."""
        change, step, n = self.residuals.change, self.residuals.grid.step, self.domain.n_users
        if self.overall:
            yield Measurement("residual sum", change, self.norm, step, 1)
        yield Measurement("user sums", change, self.norm, step, n)
        # Under replace nobody's number of ratings changes.
        fixed = self.adjacency == "replace"
        yield Measurement("user counts", 0.0 if fixed else 1.0, self.norm, 2.0**-_COUNT_BITS, n)

    def measure(self, people: AnyPeople, item_effects: Floats) -> Iterator[tuple[Measurement, Ints]]:
        """The sums themselves, in the order of ``queries``.

        Args:
            people: people on the roster, without weights.
            item_effects: released, shape (n_items,).

        Privacy: bounded, each by its query's sensitivity.
        """
        n = self.domain.n_users
        rows = self.residuals.rows(item_effects, np.zeros(n))

        def add(block: People, sums: Ints, counts: Ints) -> None:
            places, (indptr, _, values) = rows(block)
            # ``reduceat`` is wrong for empty rows; ``People`` refuses a user without a rating.
            sums[places] += np.add.reduceat(values, indptr[:-1], dtype=np.int64)
            counts[places] += block.counts << _COUNT_BITS

        sums, counts = people.total(add, n, n)
        # The sum over everyone is that of the people's sums, so it is of the clamped residuals too.
        overall = [sums.sum(keepdims=True)] if self.overall else []
        yield from zip(self.queries(), [*overall, sums, counts], strict=True)
