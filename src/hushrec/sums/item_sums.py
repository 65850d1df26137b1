"""Sums and counts by item, and overall (McSherry & Mironov 2009, §4.2 and §4.5)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.errors import DomainError
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.sums.integer_grid import Grid, Weights
from hushrec.sums.kernels.centring import centre, item_counts, norm_sums, truncated_item_sums
from hushrec.sums.sensitivity import clipped_user, vector_user

OVERALL = ("global sum", "global count", "weight ratios")
"""The measurements over all users together, one number each (unit ``user``)."""
_CLIP_NORM = 0.26
"""R, bound on the norm of a user's centred ratings, in widths of the scale; a guess that was never tuned."""
_LARGEST_RATIO = 2  # of a user's two weights; chosen by hand
_BITS = 14  # steps of the grid in a scale's span: 2^14
_WEIGHT_BITS = 28  # steps in a weight of 1: 2^28
_COUNT_BITS = 4  # below one, so that small noise can be drawn too
_FULL_BITS = 16  # of a personal weight
_RATIO_BITS = 16  # steps in a ratio of 1: 2^16
_KEPT_BITS = 30  # of weight × entry, so that sums over a billion users stay below 2^62


@dataclass(frozen=True)
class ItemCounts:
    """How many people gave each item: N_i = Σ_u w_u [u gave i].

    Unit ``user``: w_u = 1/√c_u for a user with c_u items (1/c_u under L1 norms), so the norm of a user's
    whole contribution is 1. Unit ``record``: w_u = 1, so one rating or interaction moves one count by 1.

    Args:
        unit: unit of the guarantee, under add-remove.

    Privacy: public.
    """

    domain: Domain
    unit: str
    norm: Norm = "l2"

    @cached_property
    def weights(self) -> Weights:
        """A user's weight by number of items."""
        n = self.domain.n_items
        if self.unit == "record":
            return Weights(n, _COUNT_BITS, 0.5, n)
        return Weights(min(self.domain.max_per_user, n), _WEIGHT_BITS, 1.0 if self.norm == "l1" else 0.5)

    @property
    def query(self) -> Measurement:
        change = 1.0 if self.unit == "record" else vector_user(self.weights.values, 1.0, self.norm)
        return Measurement("item counts", change, self.norm, self.weights.step, self.domain.n_items)

    def measure(self, people: AnyPeople) -> Ints:
        """The counts in steps of the weights' grid, shape (n_items,).

        Args:
            people: people with private interactions or ratings, who all count in full.

        Privacy: bounded (``query.sensitivity``); unit ``user`` needs feedback capped to the domain's cap.
        """
        (counts,) = people.total(self.add, self.domain.n_items)
        return counts

    def add(self, block: People, counts: Ints, personal_weights: Ints | None = None) -> None:
        """Add the counts of a block of people, each times their weight of 2^16.

        Privacy: private.
        """
        weights = self.weights.steps[block.counts]
        if personal_weights is not None:
            # The floor cannot raise a weight, so nobody counts for more than their ε allows.
            weights = (weights * personal_weights) >> _FULL_BITS
        counts += item_counts(block.indptr, block.items, weights, self.domain.n_items)


@dataclass(frozen=True)
class EffectSums:
    """The sums and counts measured per item.

    Unit ``record``: Σ (r − origin) and the number of ratings of each item. Unit ``user``: each user's
    ratings are centred on the user's own mean, and all of them are scaled down to norm R together: Σ w z
    with w = min(1, R/‖z‖). The counts are those of ``ItemCounts``, with weights 1/√c. The global sum is that
    of the users' means, and the global count that of users. The weight ratios Σ min(w √c, 2) say how much
    more people weigh in the sums than in the counts.

    Args:
        unit, adjacency: unit and adjacency of the guarantee.
        reg: fictitious ratings at the origin in a user's mean (unit ``user``); None if ratings are neither
            centred nor clipped, but weighted as in the counts.
        origin: subtracted from every rating before summing, in rating units.
        overall: whether to measure the global sum and count in unit ``record`` too.
        personal_epsilon: whether users have weights, which scale their whole contribution (unit ``user``).

    Privacy: public.
    """

    domain: Domain
    unit: str
    adjacency: str
    norm: Norm
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

    @property
    def clip_norm(self) -> float:
        """R, in rating units (unit ``user``)."""
        return self._clip_steps * self.grid.step

    @property
    def _clip_steps(self) -> int:
        return self.grid.count(_CLIP_NORM * self.domain.scale.span)

    @cached_property
    def _counts(self) -> ItemCounts:
        return ItemCounts(self.domain, self.unit, self.norm)

    @property
    def _centred(self) -> bool:
        return self.unit == "user" and self.reg is not None

    @property
    def _shift(self) -> int:
        """Bits dropped from weight × entry, unit ``user``."""
        most = self._clip_steps if self._centred else int(np.abs(self.grid_values).max())
        return max(0, _WEIGHT_BITS + most.bit_length() - _KEPT_BITS)

    @property
    def _count_bits(self) -> int:
        return _FULL_BITS if self.personal_epsilon else _COUNT_BITS

    def queries(self) -> Iterator[Measurement]:
        """Descriptions of the sums, in the order in which they are measured."""
        grid, n, user = self.grid, self.domain.n_items, self.unit == "user"
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
            yield Measurement("weight ratios", float(_LARGEST_RATIO), self.norm, 2.0**-_RATIO_BITS, 1)
        unit = grid.step
        if user:
            # §4.5: Δ is the norm of a user's whole vector, R, or that of r_u/‖e_u‖.
            unit *= 2.0 ** (self._shift - _WEIGHT_BITS)
            weights = self._counts.weights.values
            whole = vector_user(weights, largest * grid.step, self.norm)
            change = clipped_user(self.clip_norm) if self._centred else whole
        yield Measurement("item sums", change, self.norm, unit, n)
        counts = self._counts.query
        yield replace(counts, sensitivity=0.0) if fixed else counts

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
        self._counts.add(ratings, item_counts, personal_weights)
        ratios = overall.pop() if self._centred else None
        values = self.grid_values[ratings.values]
        if overall:
            overall[0] += self._global_sum(ratings, values, personal_weights)
            overall[1] += self._global_count(ratings, personal_weights)
        entries = values.astype(np.int32) if ratios is None else self._entries(ratings)
        del values
        dropped = self._shift if self.unit == "user" else 0
        if self.unit == "record":
            weights = np.ones(ratings.n_users, dtype=np.int64)
        elif ratios is None:
            weights = self._counts.weights.steps[ratings.counts]
        else:
            weights = self._clipping_weights(ratings, entries)
            ratios += self._ratios(ratings, weights, personal_weights)
        if personal_weights is not None:
            weights = (weights * personal_weights) >> _FULL_BITS
        rows = ratings.indptr, ratings.items
        item_sums += truncated_item_sums(*rows, entries, weights, dropped, self.domain.n_items)

    def _entries(self, ratings: People) -> Ints32:
        """z, the ratings minus their users' means, in steps; at most the scale's width."""
        largest, width = int(np.abs(self.grid_values).max()), int(np.ptp(self.grid_values))
        # No item effects are known yet. Centring on the user's own mean is free in unit ``user``, and
        # halves what is left.
        offsets, prior = np.zeros(self.domain.n_items, dtype=np.int64), 0
        rows = ratings.indptr, ratings.items, ratings.values
        entries: Ints32 = centre(*rows, self.grid_values, offsets, largest, prior, self.reg or 0, width)
        return entries

    def _clipping_weights(self, ratings: People, entries: Ints32) -> Ints:
        """w = min(1, R/‖z‖) of each user, rounded down, in steps of 2^-``_WEIGHT_BITS``."""
        powers = norm_sums(ratings.indptr, entries, 1 if self.norm == "l1" else 2)
        norms: Floats = powers.astype(np.float64) if self.norm == "l1" else np.sqrt(powers)
        weights = np.minimum(1.0, self._clip_steps / np.maximum(norms, 1.0))
        return np.asarray(np.floor(weights * 2.0**_WEIGHT_BITS), dtype=np.int64)

    def _ratios(self, ratings: People, weights: Ints, personal_weights: Ints | None) -> int:
        """Sum min(w √c, 2), in steps of 2^-``_RATIO_BITS``."""
        ratios = (weights << _RATIO_BITS) // self._counts.weights.steps[ratings.counts]
        ratios = np.minimum(ratios, _LARGEST_RATIO << _RATIO_BITS)
        if personal_weights is not None:
            ratios = (ratios * personal_weights) >> _FULL_BITS
        return int(ratios.sum())

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
