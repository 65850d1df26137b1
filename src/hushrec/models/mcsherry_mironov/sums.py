"""Item–item covariance and co-rating weights (McSherry & Mironov 2009, §4.3–4.5)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.errors import DomainError
from hushrec.estimation.head import Head
from hushrec.kernels.csr import kept_rows, packed_size
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.sums import sensitivity
from hushrec.sums.integer_grid import Grid, Weights
from hushrec.sums.kernels.centring import centre
from hushrec.sums.kernels.gram import weighted_gram
from hushrec.sums.triangles import triangle_sums

_BITS = 14  # steps of the grid in a scale's span: 2^14
_MOST_WEIGHT_BITS = 24
_SUM_BITS = {"l2": 58, "l1": 62}  # for the declared users; under L1, coarser weights would cost more noise
_KERNEL_BITS = 62  # of one sum: if there are more users than declared, high bits are kept apart
_FEWEST_WEIGHT_BITS = 8
_KEPT_BITS = (
    34  # of the squared width of the scale: fine enough to lose nothing, coarse enough to draw noise for
)


class HeadRatings(NamedTuple):
    """A block of people with their ratings of the head's items, or of all items; some may have none.

    Attributes:
        indptr: where each person's ratings start, then where the last ones end, shape (n_users + 1,).
        items: place of each item in the head.
        steps: uint8, steps above the bottom of the scale, shape of ``items``.

    Privacy: private.
    """

    indptr: Ints
    items: Ints32
    steps: Bytes

    @property
    def n_users(self) -> int:
        """Number of people. Privacy: private."""
        return len(self.indptr) - 1

    @property
    def counts(self) -> Ints:
        """Number of ratings of every person, shape (n_users,). Privacy: private."""
        return np.diff(self.indptr)


def of_head(block: People, places: Ints32 | None) -> HeadRatings:
    """Each person's ratings of the head's items; without ``places``, of all.

    A map of each person's own ratings by public places, which keeps neighbouring data neighbouring for every
    unit: people who differ in one rating then differ in one at most.

    Args:
        places: place of each item of the catalogue in the head, −1 in the tail, shape (n_items,).

    Privacy: private.
    """
    assert block.values is not None
    if places is None:
        return HeadRatings(block.indptr, block.items, block.values)
    at = places[block.items]
    kept = at >= 0
    return HeadRatings(kept_rows(block.indptr, kept), at[kept], block.values[kept])


@dataclass(frozen=True)
class CovarianceSums:
    """Σ_u w_u ẑ_u ẑ_uᵀ and Σ_u w_u e_u e_uᵀ as upper triangles, and how they are computed.

    Each user's residuals x = r − item effect are clamped to ±limit, centred on the user's own shrunk mean,
    and clamped to ±clip. Weights: unit ``record``, 1/√c (Gaussian) or 1/c (Laplace), of c + ``offset``
    ratings; unit ``user``, min(1, K/c) or its square.

    With ``pair_items``, they are sums over the ratings of that many items, the head of the catalogue, as if
    no one had rated any other: c and the mean are those of a user's ratings of the head.

    Item effects are clamped to the scale, so with its whole width as ``limit`` no residual is clamped.

    Args:
        unit, adjacency: unit and adjacency of the guarantee.
        limit: bound on a residual before it is centred, in rating units.
        clip: B, in rating units.
        reg: β_p, fictitious ratings in a user's mean.
        contribution_cap: K (unit ``user``).
        offset: added to c in the weights (unit ``record``).
        threads: number of threads of the kernel; the sums do not depend on it.
        pair_items: number of items whose pairs are summed; None for the whole catalogue.

    Attributes:
        draws: how often an entry off the diagonal is released, each time with noise of its own.

    Privacy: public.
    """

    draws: ClassVar[int] = 1

    domain: Domain
    unit: str
    adjacency: str
    norm: Norm
    limit: float
    clip: float
    reg: int
    contribution_cap: float
    offset: float
    threads: int = 2
    pair_items: int | None = None

    @property
    def n_items(self) -> int:
        """Number of items whose pairs are summed."""
        return min(self.domain.n_items, self.pair_items or self.domain.n_items)

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.domain.scale.span, _BITS)

    @property
    def bound(self) -> int:
        """B in grid steps."""
        return self.grid.count(self.clip)

    @cached_property
    def weights(self) -> Weights:
        """A user's weight by number of ratings, as fine as the sums of all declared users allow."""
        users = math.ceil(math.log2(self.domain.max_users + 1))
        # users · weight · B² must stay below the limit: more users leave fewer bits for a weight.
        bits = min(_MOST_WEIGHT_BITS, _SUM_BITS[self.norm] - users - 2 * self.bound.bit_length())
        if bits < _FEWEST_WEIGHT_BITS:
            raise DomainError(f"sums of {self.domain.max_users:,} users do not fit 64 bits; declare fewer")
        # 1/‖e_u‖ of §4.4, which is 1/c in L1 and 1/√c in L2. Unit user squares it (§4.5).
        power = 1.0 if self.norm == "l1" else 0.5
        if self.unit == "record":
            return Weights(self.n_items, bits, power, offset=self.offset)
        return Weights(min(self.domain.max_per_user, self.n_items), bits, 2 * power, self.contribution_cap)

    def weight_of(self, count: float) -> float:
        """Return the weight of a user with that many ratings."""
        values = self.weights.values
        return float(values[min(round(count), len(values) - 1)])

    @property
    def dropped_bits(self) -> int:
        """Bits of the summed covariance below its published grid; they are dropped after summing."""
        # So many bits has a product below the scale's squared width; noise for the last would be waste.
        return max(0, self.weights.bits + 2 * _BITS - _KEPT_BITS)

    def queries(self) -> Iterator[Measurement]:
        """Descriptions of the two matrices, in the order in which they are measured."""
        step, size = self.grid.step, packed_size(self.n_items)
        bound, weights = self.bound * step, self.weights.values
        unit = step**2 * self.weights.step * 2**self.dropped_bits
        replace, norm, draws = self.adjacency == "replace", self.norm, self.draws
        # Theorems 5 and 6, in the form of ``sums/sensitivity.py``; unit user as in §4.5.
        if self.unit == "user":
            change = sensitivity.matrix_user(weights, bound, unit, norm, draws=draws)
            co_rating = sensitivity.matrix_user(weights, 1.0, 0.0, norm, draws=draws)
        else:
            rule = sensitivity.matrix_replace if replace else sensitivity.matrix_add_remove
            moved = {"max_residual": 2 * self.limit, "reg": self.reg, "step": step}
            change = rule(weights, bound, unit, norm, draws=draws, **moved)
            co_rating = sensitivity.matrix_add_remove(weights, 1.0, 0.0, norm, draws=draws)
            # Under replace it is public who rated what, so the co-rating weights need no noise.
            co_rating = 0.0 if replace else co_rating
        yield Measurement("covariance", change, norm, unit, size)
        yield Measurement("co-rating weights", co_rating, norm, self.weights.step, size)

    def entries(self, ratings: HeadRatings, item_effects: Floats, global_mean: float) -> Ints32:
        """Each user's centred and clamped ratings ẑ, in grid steps, shape (n_ratings,).

        Args:
            item_effects: released mean rating of each item that they are of, shape (n_items,).
            global_mean: released mean residual G′.

        Privacy: private.
        """
        lo, hi, step = self.domain.scale
        limit = self.grid.count(self.limit)
        # §4.3: x = clamp(r − MAvg, ±limit), r̄ = (Σ x + β_p G′)/(c + β_p), r̂ = clamp(x − r̄, ±B). The
        # averages are clamped to the scale first, which §4.2 leaves out: then no x passes the scale's width.
        centred: Ints32 = centre(
            ratings.indptr,
            ratings.items,
            ratings.steps,
            self.grid.counts(lo + step * np.arange(self.domain.scale.n_values, dtype=np.float64)),
            self.grid.counts(np.clip(item_effects, lo, hi)),
            limit,
            min(max(self.grid.count(global_mean), -limit), limit),
            self.reg,
            self.bound,
        )
        return centred

    def measure(
        self, people: AnyPeople, item_effects: Floats, global_mean: float, head: Head | None = None
    ) -> Iterator[tuple[Measurement, Callable[[], Ints]]]:
        """The two matrices, summed together and packed as upper triangles.

        Args:
            people: people without weights; for unit ``user``, their ratings are capped to the domain's cap.
            item_effects: released mean rating of each item of the catalogue, shape (domain.n_items,).
            global_mean: released mean residual G′.
            head: ``n_items`` items, chosen from released values alone, whose order is that of the matrices;
                None for the whole catalogue. Sums are fastest if items ascend by their number of raters.

        Yields:
            each query, and a function that returns its sum, once.

        Privacy: bounded, each by its query's sensitivity.
        """
        covariance, co_rating = self.queries()
        effects, places = (item_effects, None) if head is None else (item_effects[head.items], head.places)
        if len(effects) != self.n_items:
            raise ValueError(f"the head must have the {self.n_items:,} items that were planned")

        def add(rows: tuple[int, int], block: People, *sums: Ints) -> None:
            ratings = of_head(block, places)
            self._add(ratings, self.entries(ratings, effects, global_mean), rows, *sums)

        n_sums = 2 if self._fits(people) else 3
        sums: list[Ints] = []

        def summed() -> list[Ints]:
            if not sums:
                sums.extend(triangle_sums(people, add, self.n_items, n_sums))
            return sums

        # Each is a large triangle, so nothing here keeps one that was given away.
        yield covariance, lambda: self._cut(summed())
        yield co_rating, lambda: summed().pop(0)

    @property
    def _most(self) -> int:
        """The largest sum of weights at which a sum of products fits 62 bits."""
        return int((2**_KERNEL_BITS - 1) // max(self.bound, 1) ** 2 - 2**self.weights.bits)

    def _fits(self, people: AnyPeople) -> bool:
        """Whether one integer holds each sum: with more users than declared it takes two, high and low bits.

        Neither this nor how users are cut into blocks and runs changes a bit, so it may depend on private
        data.
        """
        return people.n_users << self.weights.bits <= self._most

    def _add(
        self,
        ratings: HeadRatings,
        entries: Ints32,
        rows: tuple[int, int],
        co_rating: Ints,
        low: Ints,
        high: Ints | None = None,
    ) -> None:
        """Add to some rows of both; with ``high``, only the dropped bits of products stay in ``low``."""
        weights = self.weights.steps[ratings.counts]
        # A new run before the weights of its users could take a sum past 62 bits.
        runs = 0 * weights if high is None else np.cumsum(weights) // self._most
        ends = np.flatnonzero(np.diff(runs)) + 1
        for start, stop in pairwise([0, *ends.tolist(), ratings.n_users]):
            indptr = ratings.indptr[start : stop + 1]
            run = slice(indptr[0], indptr[-1])
            weighted_gram(
                indptr - indptr[0],
                ratings.items[run],
                entries[run],
                weights[start:stop],
                self.n_items,
                threads=self.threads,
                out=low,
                co_rating=co_rating,
                rows=rows,
            )
            if high is not None:
                high += low >> self.dropped_bits
                low &= 2**self.dropped_bits - 1

    def _cut(self, sums: list[Ints]) -> Ints:
        """Take the products from the sums, without their dropped bits, truncated once."""
        _, low, *high = sums
        # The list is all that still holds low and high: their memory goes with this call.
        del sums[1:]
        low >>= self.dropped_bits
        for part in high:
            low += part
        return low
