"""How often two items are given by the same users: a Gram matrix of normalised rows, without its diagonal."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from hushrec.arrays import Ints
from hushrec.data.feedback import Feedback
from hushrec.kernels.sums.centring import weighted_item_sums
from hushrec.kernels.sums.gram import weighted_gram
from hushrec.privacy.query import Sum
from hushrec.statistics import sensitivity
from hushrec.statistics.engines.engine import Engine, triangle_sums
from hushrec.statistics.interactions.directions import (
    DIRECTION_BITS,
    ENTRY_BITS,
    WEIGHT_BITS,
    Directed,
    ItemWeights,
    directed,
    largest_pull,
)
from hushrec.statistics.population import Population

_STEP_BITS = 24  # a step of the sums is 2^-24
_FRACTION_BITS = 20  # a step of the popular fraction is 2^-20
_LARGEST_SUM = 2**61  # of the weighted squares of one pass of the kernel, whose limit is 2^62
_COARSE_BITS, _WORD_BITS = 28, 32


@dataclass(frozen=True)
class PairSums:
    """Σ_u w_u z_u z_uᵀ above the diagonal, and how much of the users' vectors lies along the direction v.

    A user's vector y = d ∘ x is split into its part along v and the rest, z. Unit ``user``: w = 1/‖z‖², so
    one user's whole contribution has norm 1. Unit ``record``: w = 1/‖z‖, so one interaction moves it by 1.

    Args:
        n_items: number of weighted items.
        unit: unit of the guarantee, under add-remove.
        threads: number of threads of the kernel; the sums do not depend on it.

    Privacy: public.
    """

    n_items: int
    unit: str
    threads: int = field(default=2, compare=False)

    @property
    def pairs(self) -> Sum:
        """Description of the pairs, row by row above the diagonal."""
        step, n = 2.0**-_STEP_BITS, self.n_items
        if self.unit == "user":
            change = sensitivity.pairs_user(n, step)
        else:
            entry, weight = 2.0**-ENTRY_BITS, 2.0 ** (ENTRY_BITS - WEIGHT_BITS["record"])
            change = sensitivity.pairs_interaction(n, step, entry, weight)
        return Sum("item pairs", change, "l2", step, n * (n - 1) // 2)

    @property
    def popular_part(self) -> Sum:
        """Description of Σ_u ⟨v, y⟩²/‖y‖², or /‖y‖ for unit ``record``."""
        step = 2.0**-_FRACTION_BITS
        change = 1.0 if self.unit == "user" else sensitivity.part_along(step)
        return Sum("popular part", change, "l2", step, 1)

    @property
    def lengths(self) -> Sum:
        """Description of Σ_u ‖y‖, for unit ``record``."""
        step = 2.0**-_FRACTION_BITS
        return Sum("vector lengths", 1 + step, "l2", step, 1)

    @property
    def most_people(self) -> int:
        """Number of people whose sums fit 64 bits in any case. The pairs themselves have two words."""
        return int(2.0**63 / (largest_pull(self.n_items, self.unit) * 2.0**-self._dropped + 1))

    def queries(self) -> Iterator[Sum]:
        yield self.popular_part
        if self.unit == "record":
            yield self.lengths
        yield self.pairs

    def measure(self, people: Population, lens: ItemWeights) -> Iterator[tuple[Sum, Ints]]:
        """The sums, in the order of ``queries``.

        Args:
            people: people with private interactions, who all count in full.
            lens: public weights of ``n_items`` items.

        Privacy: bounded, each by its query's sensitivity.
        """

        def project(block: Feedback) -> Directed:
            return directed(block, lens, self.unit)

        rows = people.in_full.map(project)
        part, lengths, largest = rows.total(self._add_parts(lens), 1, 1, 1)
        yield self.popular_part, part
        if self.unit == "record":
            yield self.lengths, lengths
        yield self.pairs, self._pairs(rows, lens, int(largest[0]))

    def _add_parts(self, lens: ItemWeights) -> Callable[[Directed, Ints, Ints, Ints], None]:
        steps = 2.0**_FRACTION_BITS

        def add(rows: Directed, part: Ints, lengths: Ints, largest: Ints) -> None:
            length = np.sqrt(rows.square)
            along = rows.product.astype(np.float64) ** 2 / lens.square
            fraction = np.minimum(along / np.maximum(rows.square, 1), 1)
            if self.unit == "record":
                fraction = fraction * length * 2.0**-ENTRY_BITS
            part += int(np.floor(fraction * steps).astype(np.int64).sum())
            lengths += int(np.floor(length * 2.0**-ENTRY_BITS * steps).astype(np.int64).sum())
            largest += int(((rows.weight * rows.square >> _COARSE_BITS) + 1).sum())

        return add

    @property
    def _dropped(self) -> int:
        """Bits of a product of weight and entries below the published grid."""
        bits = WEIGHT_BITS[self.unit] + (ENTRY_BITS if self.unit == "record" else 0)
        return bits - _STEP_BITS

    def _pairs(self, rows: Engine[Directed], lens: ItemWeights, largest: int) -> Ints:
        n, dropped = self.n_items, self._dropped
        n_triangles = 1 if largest << _COARSE_BITS < _LARGEST_SUM else 2

        def add(
            band: tuple[int, int],
            part: Directed,
            cross: Ints,
            square: Ints,
            low: Ints,
            high: Ints | None = None,
        ) -> None:
            pulled = part.weight * part.multiple
            vectors = part.indptr, part.items, part.entries
            cross += weighted_item_sums(*vectors, pulled, dropped, n)
            squares = pulled * part.multiple >> dropped
            square += (squares >> _WORD_BITS).sum(), (squares & (1 << _WORD_BITS) - 1).sum()
            if high is None:
                weighted_gram(*vectors, part.weight, n, rows=band, threads=self.threads, out=low)
                return
            heights = np.cumsum((part.weight * part.square).astype(np.float64))
            ends = np.flatnonzero(np.diff(heights // (_LARGEST_SUM / 2))) + 1
            for start, stop in pairwise([0, *ends.tolist(), len(part.weight)]):
                in_run = slice(part.indptr[start], part.indptr[stop])
                indptr = part.indptr[start : stop + 1] - part.indptr[start]
                items, entries = part.items[in_run], part.entries[in_run]
                weights = part.weight[start:stop]
                weighted_gram(indptr, items, entries, weights, n, rows=band, threads=self.threads, out=low)
                high += low >> dropped
                low &= 2**dropped - 1

        cross, square, low, *high = triangle_sums(rows, add, n, n_triangles, n, 2)
        low >>= dropped
        if high:
            low += high.pop()
        return _corrected(low, cross, (int(square[0]) << _WORD_BITS) + int(square[1]), lens.along)


def _corrected(packed: Ints, cross: Ints, square: int, along: Ints) -> Ints:
    """G − b vᵀ − v bᵀ above the diagonal with b = cross − square v/2, written over the packed triangle G.

    Products are taken in two parts, high and low bits, so that none leaves 64 bits.
    """
    bits, n = DIRECTION_BITS, len(along)
    half = (square >> bits + 1) * along + (((square & (2 << bits) - 1) * along) >> bits + 1)
    b = cross - half
    high, low = b >> bits, b & (1 << bits) - 1
    to = start = 0
    for i in range(n):
        rest = slice(i + 1, n)
        whole = high[i] * along[rest] + along[i] * high[rest]
        parts = (low[i] * along[rest] + along[i] * low[rest]) >> bits
        packed[to : to + n - i - 1] = packed[start + 1 : start + n - i] - whole - parts
        to, start = to + n - i - 1, start + n - i
    return packed[:to]
