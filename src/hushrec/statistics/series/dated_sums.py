"""Sums and counts by item in which every record counts by its age (``privacy.accounting.ages``).

Each is one of the T measurements of a series. Its sensitivity bounds all T together, for unit ``user`` under
add-remove; ``arrivals`` has the proof. Every product is truncated toward zero, so that rounding never makes a
term larger.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.kernels.sums.centring import centre, truncated_item_sums
from hushrec.privacy.accounting.ages import BITS, age_weights, joint_norm
from hushrec.privacy.query import Sum
from hushrec.statistics.item_sums import SLOPE_BITS, EffectSums
from hushrec.statistics.series.arrivals import WEIGHT_BITS, Dated

_WEIGHT_BITS = 28  # of weight × weight by age
_KEPT_BITS = 30  # of weight × entry, so that sums over a billion users stay below 2^62
_ROUNDING = 1 + 1e-12  # above the error of the float arithmetic of a bound


@dataclass(frozen=True)
class DatedCounts:
    """How many people gave each item: Σ w c_age over the records of each.

    Args:
        releases: T.
        contribution_cap: K, the largest Σ w² of a person over the whole series.

    Privacy: public.
    """

    domain: Domain
    releases: int
    contribution_cap: float

    def queries(self) -> Iterator[Sum]:
        """The counts, whose Δ is √K ‖c‖."""
        yield Sum("item counts", self._joint(1.0), "l2", 2.0**-_WEIGHT_BITS, self.domain.n_items)

    def measure(self, dated: Dated) -> list[Ints]:
        """The values of ``queries``, in steps. Privacy: bounded, all T together, each by its sensitivity."""
        return [self._by_item(dated, np.ones(len(dated.rows.items), dtype=np.int32), 0)]

    def _joint(self, bound: float) -> float:
        return bound * math.sqrt(self.contribution_cap) * joint_norm(self.releases) * _ROUNDING

    @cached_property
    def _ages(self) -> Ints:
        return age_weights(self.releases)

    def _by_item(self, dated: Dated, entries: Ints32, dropped_bits: int) -> Ints:
        each = np.arange(len(entries) + 1, dtype=np.int64)  # every record has a weight of its own
        weights = (dated.weights * self._ages[dated.ages]) >> (BITS + WEIGHT_BITS - _WEIGHT_BITS)
        return np.asarray(
            truncated_item_sums(each, dated.rows.items, entries, weights, dropped_bits, self.domain.n_items)
        )


@dataclass(frozen=True)
class DatedSums(DatedCounts):
    """Σ w c_age z over the ratings of each item, their counts, and the overall level of people.

    z is a rating minus its user's own mean, clamped, as in ``EffectSums`` of unit ``user``. The level is
    Σ_u c_age m_u over people, with m_u a user's mean, and Σ_u c_age; so are the slopes, each from 0 to 1.

    Args:
        of: the sums of one release alone, which say how ratings are centred and clamped.

    Privacy: public.
    """

    of: EffectSums

    def queries(self) -> Iterator[Sum]:
        """Level of people, slopes, sums, counts."""
        grid, norm = self.of.grid, joint_norm(self.releases) * _ROUNDING
        yield Sum("global sum", self._largest * grid.step * norm, "l2", grid.step, 1)
        yield Sum("global count", norm, "l2", 2.0**-WEIGHT_BITS, 1)
        yield Sum("slopes", norm, "l2", 2.0**-SLOPE_BITS, 1)
        step = 2.0 ** (self._dropped - _WEIGHT_BITS) * grid.step
        bound = self._joint(self._bound * grid.step)
        yield Sum("item sums", bound, "l2", step, self.domain.n_items)
        yield from super().queries()

    def measure(self, dated: Dated) -> list[Ints]:
        """As in ``DatedCounts``."""
        ratings = Ratings.of(dated.rows, by=type(self).__name__)
        values, people = self.of.grid_values[ratings.steps], self._ages[dated.people]
        level = np.zeros(0, dtype=np.int64)
        if ratings.n_users:
            means = np.add.reduceat(values, ratings.indptr[:-1]) // ratings.counts
            level = np.sign(means) * ((np.abs(means) * people) >> BITS)
        reg = -1 if self.of.reg is None else self.of.reg
        entries = centre(
            ratings.indptr,
            ratings.items,
            ratings.steps,
            self.of.grid_values,
            np.zeros(self.domain.n_items, dtype=np.int64),
            2 * self._largest,
            0,
            reg,
            self._bound,
        )
        slopes = np.zeros(0, dtype=np.int64)
        if ratings.n_users:
            slopes = (self.of.slopes(ratings, entries) * people) >> BITS
        return [
            np.array([level.sum()], dtype=np.int64),
            np.array([(people >> (BITS - WEIGHT_BITS)).sum()], dtype=np.int64),
            np.array([slopes.sum()], dtype=np.int64),
            self._by_item(dated, entries, self._dropped),
            *super().measure(dated),
        ]

    @cached_property
    def _largest(self) -> int:
        return int(np.abs(self.of.grid_values).max())

    @cached_property
    def _bound(self) -> int:
        if self.of.reg is None:
            return self._largest
        return min(self._largest * 2, self.of.grid.count(self.of.clip))

    @property
    def _dropped(self) -> int:
        return max(0, _WEIGHT_BITS + self._bound.bit_length() - _KEPT_BITS)
