"""Sums and counts by item, and overall (McSherry & Mironov 2009, §4.2 and §4.5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Ints, Ints32
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.errors import DomainError
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.sums.integer_grid import Grid, Weights
from hushrec.sums.kernels.centring import centre, truncated_item_sums, weighted_item_sums
from hushrec.sums.sensitivity import vector_user

OVERALL = ("global sum", "global count", "slopes")
"""The measurements over all users together, one number each (unit ``user``)."""
_BITS = 14  # steps of the grid in a scale's span: 2^14
_WEIGHT_BITS = 28  # steps in a weight of 1: 2^28
_COUNT_BITS = 4  # below one, so that small noise can be drawn too
_FULL_BITS = 16  # of a personal weight
_SLOPE_BITS = 16  # steps in a slope of 1: 2^16
_KEPT_BITS = 30  # of weight × entry, so that sums over a billion users stay below 2^62


@dataclass(frozen=True)
class EffectSums:
    """The sums and counts measured per item.

    Unit ``record``: Σ (r − origin) and the number of ratings of each item. Unit ``user``: each user's
    ratings are centred on the user's own mean, clamped to ±clip, and weighted by √(K/c) if the user has
    c > K of them, so the norm of a user's whole contribution is at most √K · clip (sums) and √K (counts).
    The global sum is then that of the users' means, and the global count that of users. The slopes say how
    much of an item's effect b_i is left in z: if one of c ratings grows by one, its z grows by
    1 − 1/(c + reg), and not at all where it is clamped. A user adds the mean of that over their ratings.

    Args:
        unit, adjacency: unit and adjacency of the guarantee.
        clip: bound on a centred rating (unit ``user``).
        contribution_cap: K (unit ``user``); the paper's is 1.
        reg: fictitious ratings at the origin in a user's mean (unit ``user``); None if ratings are
            neither centred nor clamped.
        origin: subtracted from every rating before summing, in rating units.
        overall: whether to measure the global sum and count in unit ``record`` too.
        personal_epsilon: whether users have weights, which scale their whole contribution (unit ``user``).

    Privacy: public.
    """

    domain: Domain
    unit: str
    adjacency: str
    norm: Norm
    clip: float
    contribution_cap: float
    reg: int | None
    origin: float
    overall: bool = False
    personal_epsilon: bool = False

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.domain.scale.span, _BITS)

    @cached_property
    def grid_values(self) -> Ints:
        """Every possible rating minus ``origin``, in steps."""
        lo, _, step = self.domain.scale
        ratings = lo + step * np.arange(self.domain.scale.n_values, dtype=np.float64)
        grid_values = self.grid.counts(ratings - self.origin)
        if np.abs(grid_values).max() >= 2**30:
            raise DomainError(
                "this scale lies too far from zero for its width; declare ratings minus its middle"
            )
        return grid_values

    @cached_property
    def weights(self) -> Weights:
        """A user's weight by number of ratings (unit ``user``)."""
        largest = min(self.domain.max_per_user, self.domain.n_items)
        return Weights(largest, _WEIGHT_BITS, 1.0 if self.norm == "l1" else 0.5, self.contribution_cap)

    @property
    def _shift(self) -> int:
        """Bits dropped from weight × entry."""
        return max(0, _WEIGHT_BITS + self._bound.bit_length() - _KEPT_BITS)

    @property
    def _bound(self) -> int:
        # A rating minus a mean of such ratings is at most twice the largest, whatever the clip.
        largest = int(np.abs(self.grid_values).max())
        as_they_are = self.unit == "record" or self.reg is None
        return largest if as_they_are else min(largest * 2, self.grid.count(self.clip))

    def queries(self) -> Iterator[Measurement]:
        """Descriptions of the sums, in the order in which they are measured."""
        grid, n = self.grid, self.domain.n_items
        user = self.unit == "user"
        grid_values = self.grid_values
        largest, width = int(np.abs(grid_values).max()), int(grid_values.max() - grid_values.min())
        # McSherry & Mironov 2009, §3.3: one rating moves a sum by its largest absolute value. With the middle
        # of the scale as origin that is half the width.
        change = (width if self.adjacency == "replace" else largest) * grid.step
        fixed = self.adjacency == "replace"
        if self.overall or user:
            yield Measurement("global sum", change, self.norm, grid.step, 1)
            yield Measurement("global count", 0.0 if fixed else 1.0, self.norm, 2.0**-self._count_bits, 1)
        if self._centred:
            # A user adds a mean of slopes: at most 1 − 1/h for h ratings, fictitious ones included.
            heaviest = min(self.domain.max_per_user, self.domain.n_items) + (self.reg or 0)
            yield Measurement("slopes", (heaviest - 1) / heaviest, self.norm, 2.0**-_SLOPE_BITS, 1)
        if not user:
            yield Measurement("item sums", change, self.norm, grid.step, n)
            yield Measurement("item counts", 0.0 if fixed else 1.0, self.norm, 2.0**-_COUNT_BITS, n)
            return
        # §4.5, with min(1, √(K/c)) for 1/‖e_u‖, which is K = 1: Δ is the norm of a user's whole vector.
        unit = 2.0**self._shift * self.weights.step * grid.step
        bound = self._bound * grid.step
        sums = vector_user(self.weights.values, bound, unit, self.norm)
        counts = vector_user(self.weights.values, 1.0, 0.0, self.norm)
        yield Measurement("item sums", sums, self.norm, unit, n)
        yield Measurement("item counts", counts, self.norm, self.weights.step, n)

    def measure(self, people: AnyPeople) -> Iterator[tuple[Measurement, Ints]]:
        """The sums themselves, in the order of ``queries``, in one pass over the blocks.

        Args:
            people: people with private ratings. If ``personal_epsilon``, each has a weight w and adds at most
                w times each query's sensitivity.

        Privacy: bounded, each by its query's sensitivity; unit ``user`` needs ratings capped to the
        domain's cap.
        """
        queries = [*self.queries()]
        sizes = (query.size for query in queries)
        yield from zip(queries, people.total(self._add, *sizes, weighted=self.personal_epsilon), strict=True)

    def _add(self, ratings: People, *sums: Ints) -> None:
        personal_weights = ratings.weights if self.personal_epsilon else None
        *overall, item_sums, item_counts = sums
        slopes = overall.pop() if self._centred else None
        rating, n = self.unit == "record", self.domain.n_items
        values = self.grid_values[ratings.values]
        if overall:
            overall[0] += self._global_sum(ratings, values, personal_weights)
            overall[1] += self._global_count(ratings, personal_weights)
        reg = None if rating else self.reg
        entries = values.astype(np.int32) if reg is None else self._entries(ratings, reg)
        del values
        if slopes is not None:
            each_slope = self._slopes(ratings, entries)
            slopes += (
                each_slope.sum()
                if personal_weights is None
                else ((each_slope * personal_weights) >> _FULL_BITS).sum()
            )
        rows = (ratings.indptr, ratings.items)
        counts = np.diff(ratings.indptr)
        # Unit record: every rating counts in full. Unit user: by the number of the user's ratings (Weights).
        full = np.full(len(counts), 1 << _WEIGHT_BITS, dtype=np.int64)
        weights = full if rating else self.weights.steps[counts]
        if personal_weights is not None:
            # The floor cannot raise a weight, so nobody counts for more than their ε allows.
            weights = (weights * personal_weights) >> _FULL_BITS
        dropped = _WEIGHT_BITS if rating else self._shift
        each = weighted_item_sums if personal_weights is None else truncated_item_sums
        item_sums += each(*rows, entries, weights, dropped, n)
        # The same loop with every entry 1 gives the sum of weights.
        entries.fill(1)
        dropped = _WEIGHT_BITS - _COUNT_BITS if rating else 0
        item_counts += weighted_item_sums(*rows, entries, weights, dropped, n)

    def _slopes(self, ratings: People, entries: Ints32) -> Ints:
        """Mean slope of each user's ratings, from 0 to 1, in steps of 2^-``_SLOPE_BITS``, shape (n_users,).

        Args:
            ratings: of whole users.
            entries: their ratings centred and clamped, in steps of ``grid``.

        Privacy: private.
        """
        # ∂z_i/∂r_i is 1 − 1/(c + reg) where z_i is not clamped, and 0 where it is.
        inside = np.add.reduceat(np.abs(entries) < self._bound, ratings.indptr[:-1], dtype=np.int64)
        counts = np.diff(ratings.indptr)
        weight = counts + (self.reg or 0)
        # Both divisions round down, so the slope of no one exceeds its bound.
        slopes = ((inside << _SLOPE_BITS) // counts) * (weight - 1) // weight
        return np.asarray(slopes, dtype=np.int64)

    @property
    def _centred(self) -> bool:
        return self.unit == "user" and self.reg is not None

    @property
    def _count_bits(self) -> int:
        return _FULL_BITS if self.personal_epsilon else _COUNT_BITS

    def _global_count(self, ratings: People, personal_weights: Ints | None) -> int:
        members = len(ratings.items if self.unit == "record" else ratings.users)
        return (members << self._count_bits) if personal_weights is None else int(personal_weights.sum())

    def _global_sum(self, ratings: People, values: Ints, personal_weights: Ints | None) -> int:
        if self.unit == "record":
            return int(values.sum())
        # The mean of a user's ratings, rounded down to the grid, lies in the range of a single rating.
        means = np.add.reduceat(values, ratings.indptr[:-1]) // np.diff(ratings.indptr)
        if personal_weights is not None:
            # Toward zero: rounding down would make a negative mean larger than its weight allows.
            means = np.sign(means) * ((np.abs(means) * personal_weights) >> _FULL_BITS)
        return int(means.sum())

    def _entries(self, ratings: People, reg: int) -> Ints32:
        # Twice the largest, so the first clamp changes nothing: the second alone bounds an entry.
        limit = 2 * int(np.abs(self.grid_values).max())
        entries: Ints32 = centre(
            ratings.indptr,
            ratings.items,
            ratings.values,
            self.grid_values,
            # No item effects are known yet. Centring on the user's own mean is free in unit ``user``, and
            # halves what is left; on MovieLens 1M it took private global effects from .988 to .968 at ε = 1.
            np.zeros(self.domain.n_items, dtype=np.int64),
            limit,
            0,
            reg,
            self._bound,
        )
        return entries
