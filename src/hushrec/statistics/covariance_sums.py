"""Item–item covariance and co-rating weights (McSherry & Mironov 2009, §4.3–4.5)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import DomainError
from hushrec.kernels.sums.centring import centre
from hushrec.kernels.sums.gram import weighted_gram
from hushrec.kernels.triangle import packed_size
from hushrec.privacy.query import Norm
from hushrec.privacy.query import Sum as Query
from hushrec.statistics import sensitivity
from hushrec.statistics.integer_grid import Grid, Weights
from hushrec.statistics.population import Population

_BITS = 14
_MOST_WEIGHT_BITS = 24
_SUM_BITS = {"l2": 58, "l1": 62}  # for the declared users; under L1, coarser weights would cost more noise
_KERNEL_BITS = 62  # of one kernel sum: if there are more users than declared, several sums are taken
_FEWEST_WEIGHT_BITS = 8
_KEPT_BITS = (
    34  # of the squared width of the scale: fine enough to lose nothing, coarse enough to draw noise for
)


@dataclass(frozen=True)
class CovarianceSums:
    """Σ_u w_u ẑ_u ẑ_uᵀ and Σ_u w_u e_u e_uᵀ as upper triangles, and how they are computed.

    Each user's residuals x = r − item effect are clamped to ±limit, centred on the user's own shrunk mean,
    and clamped to ±clip. Weights: unit ``rating``, 1/√c (Gaussian) or 1/c (Laplace), of c + ``offset``
    ratings; unit ``user``, min(1, K/c) or its square.

    The published form does not clamp residuals before centring; here they lie within the width of the scale
    because the item effects are clamped to the scale, and the true Δ is computed from that.

    Args:
        domain: the public domain.
        unit, adjacency: unit and adjacency of the guarantee.
        norm: norm of the noise.
        published: use the algorithm as the paper prints it.
        clip: B, in rating units.
        strength: β_p, fictitious ratings in a user's mean.
        contribution_cap: K (unit ``user``).
        offset: added to c in the weights (unit ``rating``).
        threads: number of threads of the kernel; the sums do not depend on it.

    Privacy: public.
    """

    domain: Domain
    unit: str
    adjacency: str
    norm: Norm
    limit: float
    clip: float
    strength: int
    contribution_cap: float
    offset: float
    threads: int = 2

    @cached_property
    def grid(self) -> Grid:
        """The grid of the entries."""
        return Grid(self.domain.scale.span, _BITS)

    @property
    def bound(self) -> int:
        """B in grid steps."""
        return self.grid.count(self.clip)

    @cached_property
    def weights(self) -> Weights:
        """A user's weight by number of ratings, as fine as the sums of all declared users allow."""
        users = math.ceil(math.log2(self.domain.max_users + 1))
        bits = min(_MOST_WEIGHT_BITS, _SUM_BITS[self.norm] - users - 2 * self.bound.bit_length())
        if bits < _FEWEST_WEIGHT_BITS:
            raise DomainError(f"sums of {self.domain.max_users:,} users do not fit 64 bits; declare fewer")
        power = 1.0 if self.norm == "l1" else 0.5
        if self.unit == "rating":
            return Weights(self.domain.n_items, bits, power, offset=self.offset)
        return Weights(min(self.domain.cap, self.domain.n_items), bits, 2 * power, self.contribution_cap)

    @property
    def dropped_bits(self) -> int:
        """Bits of the summed covariance below its published grid; they are dropped after summing."""
        return max(0, self.weights.bits + 2 * _BITS - _KEPT_BITS)

    def queries(self) -> Iterator[Query]:
        """Descriptions of the two matrices, in the order in which they are measured."""
        step, size = self.grid.step, packed_size(self.domain.n_items)
        bound, weights = self.bound * step, self.weights.values
        unit = step**2 * self.weights.step * 2**self.dropped_bits
        replace = self.adjacency == "replace"
        if self.unit == "user":
            change = sensitivity.matrix_user(weights, bound, unit, self.norm)
            co_rating = sensitivity.matrix_user(weights, 1.0, 0.0, self.norm)
        else:
            rule = sensitivity.matrix_replace if replace else sensitivity.matrix_add_remove
            moved = {"max_residual": 2 * self.limit, "strength": self.strength, "step": step}
            change = rule(weights, bound, unit, self.norm, **moved)
            co_rating = 0.0 if replace else sensitivity.matrix_add_remove(weights, 1.0, 0.0, self.norm)
        yield Query("covariance", change, self.norm, unit, size)
        yield Query("co-rating weights", co_rating, self.norm, self.weights.step, size)

    def entries(self, ratings: Ratings, item_effects: Floats, global_mean: float) -> Ints32:
        """Each user's centred and clamped ratings ẑ, in grid steps, shape (n_ratings,).

        Args:
            ratings: ratings of all users.
            item_effects: released mean rating of each item, shape (n_items,).
            global_mean: released mean residual G′.

        Privacy: private.
        """
        lo, hi, step = self.domain.scale
        limit = self.grid.count(self.limit)
        centred: Ints32 = centre(
            ratings.indptr,
            ratings.items,
            ratings.steps,
            self.grid.counts(lo + step * np.arange(self.domain.scale.n_values, dtype=np.float64)),
            self.grid.counts(np.clip(item_effects, lo, hi)),
            limit,
            min(max(self.grid.count(global_mean), -limit), limit),
            self.strength,
            self.bound,
        )
        return centred

    def measure(
        self, people: Population, item_effects: Floats, global_mean: float
    ) -> Iterator[tuple[Query, Ints]]:
        """The two matrices, one after the other, packed as upper triangles.

        Privacy: bounded, each by its query's sensitivity; unit ``user`` needs ratings capped to the
        domain's cap.
        """
        ratings, _ = people.single()
        covariance, co_rating = self.queries()
        weights = self.weights.steps[ratings.counts]
        rows = (ratings.indptr, ratings.items)
        n = self.domain.n_items
        entries = self.entries(ratings, item_effects, global_mean)
        sums = self._covariance(ratings, entries, weights)
        yield covariance, sums
        del sums, entries  # each is a triangle of the whole catalogue: keep one at a time
        yield co_rating, weighted_gram(*rows, None, weights, n, threads=self.threads)

    def _covariance(self, ratings: Ratings, entries: Ints32, weights: Ints) -> Ints:
        """Σ w ẑ ẑᵀ without its dropped bits: exact for any number of users, truncated once.

        How users are divided into kernel runs does not change a bit, so it may depend on private data.
        """
        most = (2**_KERNEL_BITS - 1) // max(self.bound, 1) ** 2 - 2**self.weights.bits  # of a run's weights
        ends = np.flatnonzero(np.diff(np.cumsum(weights) // most)) + 1
        cuts = [0, *ends.tolist(), ratings.n_users]
        sums, rest = self._run(ratings, entries, weights, *cuts[:2]), None
        for start, stop in pairwise(cuts[1:]):
            if rest is None:
                rest = sums & (2**self.dropped_bits - 1)
                sums >>= self.dropped_bits
            more = self._run(ratings, entries, weights, start, stop)
            sums += more >> self.dropped_bits
            more &= 2**self.dropped_bits - 1
            rest += more
        if rest is None:
            sums >>= self.dropped_bits
            return sums
        rest >>= self.dropped_bits
        sums += rest
        return sums

    def _run(self, ratings: Ratings, entries: Ints32, weights: Ints, start: int, stop: int) -> Ints:
        """Σ w ẑ ẑᵀ for the users of one run."""
        bounds = ratings.indptr[start : stop + 1]
        mine = slice(bounds[0], bounds[-1])
        rows = bounds - bounds[0], ratings.items[mine], entries[mine], weights[start:stop]
        sums: Ints = weighted_gram(*rows, self.domain.n_items, threads=self.threads)
        return sums
