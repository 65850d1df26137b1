"""The memory of a series: when each record of its people came, and how much it counts.

Releases of a series share one bound. A person's record that comes in at release a adds at most

    w · c_{t−a} · B

to the entries of every later release t, with a weight w that is set when it comes and never changes, and the
weights by age c of ``privacy.accounting.ages``. A person's weights satisfy Σ w² ≤ K over the whole series,
records that were deleted since included. The entries of two records do not overlap at one release, so all
releases together move by

    √(Σ_records Σ_t (w c_{t−a} B)²) ≤ √K · ‖c‖ · B,

whatever comes, goes, comes back or changes its value, and whenever. With fresh Gaussian noise on every
release, that bounds what is lost also if people react to earlier ones (Denisov et al. 2022, §2). It needs
what is remembered here: weights that are computed anew from what is there would change with later records,
and so would arrivals that are read off dates.

Privacy: private.

``DatedSums`` and ``DatedCounts`` are sums and counts by item in which every record counts by its age. Each is
one of the T measurements of a series. Its sensitivity bounds all T together, for unit ``user`` under
add-remove, as proven above. Every product is truncated toward zero, so that rounding never makes a term
larger.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from hushrec.arrays import Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback, Ratings
from hushrec.data.readers.quiet import quiet
from hushrec.privacy.accounting.ages import BITS, age_weights, joint_norm
from hushrec.privacy.query import Sum
from hushrec.sums.item_sums import SLOPE_BITS, EffectSums
from hushrec.sums.kernels.centring import centre, truncated_item_sums

WEIGHT_BITS = 16
"""Weights are rounded down to multiples of 2^-WEIGHT_BITS."""
PARTS = 4
"""After each group of this many records of a person, one more is expected; chosen on made-up years."""
LARGEST_CAP = 1 << 64 - 2 * WEIGHT_BITS - PARTS.bit_length()
"""K is below it, so that ``PARTS`` times K fits 64 bits, in steps of squared weights."""
_COLUMNS = {"user_id": pl.String, "item_id": pl.String, "part": pl.Int64, "weight": pl.Int64}


class Dated(NamedTuple):
    """The records of one release, with what is remembered of them.

    Attributes:
        rows: the ratings or interactions.
        weights: w of each record, in steps of 2^-WEIGHT_BITS, shape (n_entries,).
        ages: number of releases since each record came, shape (n_entries,).
        people: number of releases since each person came, shape (n_users,).

    Privacy: private.
    """

    rows: Feedback
    weights: Ints
    ages: Ints
    people: Ints


@dataclass(frozen=True)
class Arrivals:
    """When records came, and how much each counts.

    Records that are gone are forgotten. Of a person who is gone, the release at which they came and what
    their records used up of K remain, so that no one counts anew by leaving and coming back.

    Args:
        table: a row for every record, with ``part`` and ``weight``, and one for every person, whose
            ``item_id`` is null and whose ``weight`` is Σ w², in steps of 2^(−2 · WEIGHT_BITS).
        before: public mark of what was remembered at the release before; empty at the first one.

    Privacy: private.
    """

    table: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_COLUMNS), repr=False)
    before: str = ""

    def joined(self, rows: Feedback, part: int, contribution_cap: float) -> tuple[Self, Dated]:
        """Return the memory after a release, and the records of that release.

        A person's n new records divide what is left of K with what may still come, as if that were a quarter
        of the m that they have now: w = min(1, √(left/(n + m/4))). So something is left for what they
        give later, and those who give all at once lose a tenth of their weight.

        Args:
            rows: what people have given and not deleted so far.
            part: number of the release in its series, from 0.
            contribution_cap: K.

        Privacy: private; what is remembered of a person depends on their own records alone.
        """
        owner = np.repeat(np.arange(rows.n_users), rows.counts)
        items = pl.Series(rows.domain.items, dtype=pl.String).gather(rows.items)
        with quiet():
            now = pl.DataFrame({"user_id": rows.users.gather(owner), "item_id": items})
            cells = self.table.filter(pl.col("item_id").is_not_null())
            people = self.table.filter(pl.col("item_id").is_null()).drop("item_id")
            remembered = now.join(cells, ["user_id", "item_id"], how="left", maintain_order="left")
            remembered_people = pl.DataFrame({"user_id": rows.users}).join(
                people, "user_id", how="left", maintain_order="left"
            )
            gone = people.join(remembered_people, "user_id", how="anti")
        new = remembered["part"].is_null().to_numpy()
        parts = remembered["part"].fill_null(part).to_numpy()
        weights = remembered["weight"].fill_null(0).to_numpy().copy()
        used = remembered_people["weight"].fill_null(0).to_numpy().copy()
        first = remembered_people["part"].fill_null(part).to_numpy()
        arriving = np.bincount(owner[new], minlength=rows.n_users).astype(np.int64)
        left = int(contribution_cap * (1 << 2 * WEIGHT_BITS)) - used
        new_weights = _root(PARTS * left // np.maximum(PARTS * arriving + rows.counts, 1))  # n w² ≤ left
        weights[new] = new_weights[owner[new]]
        used += arriving * new_weights * new_weights
        with quiet():
            table = pl.concat(
                [
                    now.with_columns(part=pl.Series(parts), weight=pl.Series(weights)),
                    remembered_people.select(
                        "user_id",
                        item_id=pl.lit(None, pl.String),
                        part=pl.Series(first),
                        weight=pl.Series(used),
                    ),
                    gone.select("user_id", pl.lit(None, pl.String).alias("item_id"), "part", "weight"),
                ]
            )
        return type(self)(table), Dated(rows, weights, part - parts, part - first)

    def to_bytes(self) -> bytes:
        """As a Parquet file, whose last row has ``before`` and no user. Privacy: private."""
        file = io.BytesIO()
        with quiet():
            last = pl.DataFrame([(None, self.before, -1, 0)], schema=_COLUMNS, orient="row")
            pl.concat([self.table, last]).write_parquet(file)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read the bytes that ``to_bytes`` wrote. Privacy: private."""
        with quiet():
            rows = pl.read_parquet(io.BytesIO(content), schema=_COLUMNS)
            return cls(rows[:-1], rows["item_id"][-1])


def _root(values: Ints) -> Ints:
    """⌊√values⌋, at most a weight of one; 0 where nothing is left."""
    values = np.clip(values, 0, 1 << 2 * WEIGHT_BITS)
    root = np.sqrt(values.astype(np.float64)).astype(np.int64)
    return np.asarray(root - (root * root > values), dtype=np.int64)


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
