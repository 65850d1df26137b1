"""Private sums of interactions: pairs of items of the same users, and a vote of the people.

``PairSums`` is a Gram matrix of normalised rows, without its diagonal, and each row without its part along a
public direction. With public weights d and a public direction v, a user who gave the items x has y = d ∘ x
and z = y − τ v, where τ v is the multiple of v nearest to y. All are counted in steps: the entries of y, and
τ, in 2^-10, those of v in 2^-12. ``Votes`` asks whether lists by people's own items find more than the list
by popularity.

Privacy: private, except for ``ItemWeights``, which is public.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.anywhere import AnyPeople
from hushrec.data.people import Once, People
from hushrec.estimation.head import Head
from hushrec.kernels.csr import kept_rows
from hushrec.models.lists.estimate.pair_factors import LinearWeights
from hushrec.models.lists.kernels import list_gains
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.sums import sensitivity
from hushrec.sums.kernels.centring import weighted_item_sums
from hushrec.sums.kernels.gram import weighted_gram
from hushrec.sums.triangles import triangle_sums

_SIZE_BITS = 10  # steps in a size of 1: 2^10


@dataclass(frozen=True)
class CrowdSize:
    """How large the population is: Σ_u 1 for unit ``user``, Σ_u √c_u for unit ``record``.

    One interaction moves √c by at most 1, which the grid rounds down.

    Args:
        unit: unit of the guarantee, under add-remove.

    Privacy: public.
    """

    unit: str

    @property
    def query(self) -> Measurement:
        step = 2.0**-_SIZE_BITS
        return Measurement("crowd size", 1.0 if self.unit == "user" else 1 + step, "l2", step, 1)

    def measure(self, people: AnyPeople) -> Ints:
        """The size in steps of 2^-10, shape (1,). Privacy: bounded (``query.sensitivity``)."""
        (size,) = people.total(self._add, 1)
        return size

    def _add(self, block: People, size: Ints) -> None:
        if self.unit == "user":
            size += block.n_users << _SIZE_BITS
        else:
            size += int(np.floor(np.sqrt(block.counts) * 2**_SIZE_BITS).astype(np.int64).sum())


ENTRY_BITS, DIRECTION_BITS = 10, 12
LARGEST = 1 << 15
"""Most items that are weighted, so that every sum of one user's squares fits 64 bits."""
WEIGHT_BITS = {"user": 37, "record": 31}
"""Bits of a user's weight, 1/‖z‖² for unit ``user`` and 1/‖z‖ for unit ``record``, with z in steps."""
_LEAST = {"user": 2**13, "record": 2**14}
"""The smallest ‖z‖², in squared steps, that counts: the weights then fit the 24 bits of the Gram kernel."""
_LEAST_FRACTION_BITS = 9
"""Unit ``user``: below 2^-9 of ‖y‖², ‖z‖² counts as 0, so that sums of a billion users fit 64 bits."""


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """Which items are weighted, and how: public, because it is made from released counts.

    Args:
        head: the weighted items, at most 2^15.
        weights: d of each, above 0 and at most 1, shape (n_head,).
        direction: v, shape (n_head,); it is scaled to length 1.

    Privacy: public.
    """

    head: Head
    weights: Floats
    direction: Floats

    @cached_property
    def entries(self) -> Ints32:
        """d in steps."""
        return np.rint(np.clip(self.weights, 0, 1) * 2.0**ENTRY_BITS).astype(np.int32)

    @cached_property
    def along(self) -> Ints:
        """v in steps, of length 1 up to rounding; the first item's direction if none is given."""
        length = max(float(np.linalg.norm(self.direction)), 1e-300)
        steps = np.rint(self.direction / length * 2.0**DIRECTION_BITS).astype(np.int64)
        if not steps.any():
            steps[:1] = 1 << DIRECTION_BITS
        return steps

    @cached_property
    def square(self) -> int:
        """‖v‖² in squared steps."""
        return int((self.along**2).sum())


class Directed(NamedTuple):
    """A block of users, as vectors over the weighted items.

    Attributes:
        indptr: where each user's items start, then where the last ones end, shape (n_users + 1,).
        items: place of each item among the weighted ones.
        entries: y, in steps, shape of ``items``.
        square: ‖y‖², in squared steps, shape (n_users,).
        product: ⟨v, y⟩, in steps of both, shape (n_users,).
        multiple: τ, in steps of y, shape (n_users,).
        weight: 1/‖z‖² or 1/‖z‖, in steps of 2^-``WEIGHT_BITS``; 0 if z is about 0, shape (n_users,).

    Privacy: private.
    """

    indptr: Ints
    items: Ints32
    entries: Ints32
    square: Ints
    product: Ints
    multiple: Ints
    weight: Ints


def project_users(block: People, lens: ItemWeights, unit: str) -> Directed:
    """The users of a block, as vectors; each depends on the user's own items alone.

    Args:
        block: private interactions.
        lens: public weights.
        unit: unit of the guarantee, which decides the weight.

    Privacy: private.
    """
    at = lens.head.places[block.items]
    kept = at >= 0
    indptr, items = kept_rows(block.indptr, kept), at[kept]
    entries = lens.entries[items]
    wide = entries.astype(np.int64)
    square, product = _sums(wide**2, indptr), _sums(wide * lens.along[items], indptr)
    scaled = product << DIRECTION_BITS
    # τ = ⟨v, y⟩/‖v‖², so that z = y − τ v.
    # (2a + b) // 2b is the integer nearest to a/b: integers alone, so the same bits everywhere.
    multiple = (2 * scaled + lens.square) // (2 * lens.square)  # the nearest integer
    # ‖z‖² in squared steps times 2^24: exact, and below 2^62 for 2^15 items.
    rest = (square << 2 * DIRECTION_BITS) - 2 * multiple * scaled + multiple**2 * lens.square
    size = np.maximum(rest, 1) * 2.0 ** (-2 * DIRECTION_BITS)
    with_bits = 2.0 ** WEIGHT_BITS[unit] / (size if unit == "user" else np.sqrt(size))
    # Unit record: 2^14 squared steps are the norm 1/8 below which ``pairs_interaction`` takes z for 0. Unit
    # user: dropping what is all but along v is a map of the user's own items, which costs nothing.
    least = np.maximum(square >> _LEAST_FRACTION_BITS, _LEAST[unit]) if unit == "user" else _LEAST[unit]
    # Rounded down, so that w never exceeds 1/‖z‖², or 1/‖z‖.
    weight = np.where(size >= least, np.floor(with_bits), 0).astype(np.int64)
    return Directed(indptr, items, entries, square, product, multiple, weight)


def largest_pull(n_items: int, unit: str) -> float:
    """A bound on w τ y_i of one user, and on w τ² v_i/2, in steps, whatever they give.

    Unit ``user``: w ≤ 2^(37 + 9)/‖y‖², |τ| ≤ ‖y‖ and y_i ≤ ‖y‖. Unit ``record``: w ≤ 2^(31 − 7),
    |τ| ≤ 2^10 √n and y_i ≤ 2^10. The length of v in steps is 1 up to 3 %.

    Args:
        n_items: number n of weighted items.

    Privacy: public.
    """
    if unit == "user":
        return 1.05 * 2.0 ** (WEIGHT_BITS[unit] + _LEAST_FRACTION_BITS)
    return 1.05 * 2.0 ** (WEIGHT_BITS[unit] + 2 * ENTRY_BITS) * math.sqrt(n_items / _LEAST[unit])


def _sums(values: NDArray[Any], indptr: Ints) -> Ints:
    """Sum over each user's items, shape (n_users,)."""
    totals = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return np.asarray(totals[indptr[1:]] - totals[indptr[:-1]], dtype=np.int64)


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
    def pairs(self) -> Measurement:
        """Description of the pairs, row by row above the diagonal."""
        step, n = 2.0**-_STEP_BITS, self.n_items
        if self.unit == "user":
            change = sensitivity.pairs_user(n, step)
        else:
            entry, weight = 2.0**-ENTRY_BITS, 2.0 ** (ENTRY_BITS - WEIGHT_BITS["record"])
            change = sensitivity.pairs_interaction(n, step, entry, weight)
        return Measurement("item pairs", change, "l2", step, n * (n - 1) // 2)

    @property
    def popular_part(self) -> Measurement:
        """Description of Σ_u ⟨v, y⟩²/‖y‖², or /‖y‖ for unit ``record``."""
        step = 2.0**-_FRACTION_BITS
        change = 1.0 if self.unit == "user" else sensitivity.part_along(step)
        return Measurement("popular part", change, "l2", step, 1)

    @property
    def lengths(self) -> Measurement:
        """Description of Σ_u ‖y‖, for unit ``record``."""
        step = 2.0**-_FRACTION_BITS
        return Measurement("vector lengths", 1 + step, "l2", step, 1)

    @property
    def most_people(self) -> int:
        """Number of people whose sums fit 64 bits in any case. The pairs themselves have two words."""
        return int(2.0**63 / (largest_pull(self.n_items, self.unit) * 2.0**-self._dropped + 1))

    def queries(self) -> Iterator[Measurement]:
        yield self.popular_part
        if self.unit == "record":
            yield self.lengths
        yield self.pairs

    def measure(self, people: AnyPeople, lens: ItemWeights) -> Iterator[tuple[Measurement, Ints]]:
        """The sums, in the order of ``queries``.

        Args:
            people: people with private interactions, who all count in full.
            lens: public weights of ``n_items`` items.

        Privacy: bounded, each by its query's sensitivity.
        """

        def project(block: People) -> Directed:
            return project_users(block, lens, self.unit)

        rows = Once(project)
        part, lengths, largest = people.total(self._add_parts(rows, lens), 1, 1, 1)
        yield self.popular_part, part
        if self.unit == "record":
            yield self.lengths, lengths
        yield self.pairs, self._pairs(people, rows, lens, int(largest[0]))

    def _add_parts(
        self, rows_of: Once[Directed], lens: ItemWeights
    ) -> Callable[[People, Ints, Ints, Ints], None]:
        steps = 2.0**_FRACTION_BITS

        def add(block: People, part: Ints, lengths: Ints, largest: Ints) -> None:
            rows = rows_of(block)
            length = np.sqrt(rows.square)
            along = rows.product.astype(np.float64) ** 2 / lens.square
            # ⟨v, y⟩²/(‖v‖² ‖y‖²), a squared cosine: at most 1, but for rounding.
            fraction = np.minimum(along / np.maximum(rows.square, 1), 1)
            if self.unit == "record":
                fraction = fraction * length * 2.0**-ENTRY_BITS
            part += int(np.floor(fraction * steps).astype(np.int64).sum())
            lengths += int(np.floor(length * 2.0**-ENTRY_BITS * steps).astype(np.int64).sum())
            # Rounded up. It decides between one word a cell and two, which changes no bit of the sums.
            largest += int(((rows.weight * rows.square >> _COARSE_BITS) + 1).sum())

        return add

    @property
    def _dropped(self) -> int:
        """Bits of a product of weight and entries below the published grid."""
        bits = WEIGHT_BITS[self.unit] + (ENTRY_BITS if self.unit == "record" else 0)
        return bits - _STEP_BITS

    def _pairs(self, people: AnyPeople, rows: Once[Directed], lens: ItemWeights, largest: int) -> Ints:
        n, dropped = self.n_items, self._dropped
        n_triangles = 1 if largest << _COARSE_BITS < _LARGEST_SUM else 2

        def add(
            band: tuple[int, int],
            block: People,
            cross: Ints,
            square: Ints,
            low: Ints,
            high: Ints | None = None,
        ) -> None:
            # z zᵀ = y yᵀ − τ (y vᵀ + v yᵀ) + τ² v vᵀ: the kernel sums w y yᵀ over own items alone. Of the
            # rest, Σ w τ y (cross) and Σ w τ² (square) are enough, and v comes in once, in _corrected.
            part = rows(block)
            pulled = part.weight * part.multiple
            vectors = part.indptr, part.items, part.entries
            cross += weighted_item_sums(*vectors, pulled, dropped, n)
            # Summed in halves of 32 bits: those of many users might not fit one word.
            squares = pulled * part.multiple >> dropped
            square += (squares >> _WORD_BITS).sum(), (squares & (1 << _WORD_BITS) - 1).sum()
            if high is None:
                weighted_gram(*vectors, part.weight, n, rows=band, threads=self.threads, out=low)
                return
            # Users are summed in runs that stay below the kernel's limit; what the grid keeps moves to high.
            # Σ w ‖y‖² bounds every cell of Σ w y yᵀ.
            heights = np.cumsum((part.weight * part.square).astype(np.float64))
            ends = np.flatnonzero(np.diff(heights // (_LARGEST_SUM / 2))) + 1
            for start, stop in pairwise([0, *ends.tolist(), len(part.weight)]):
                in_run = slice(part.indptr[start], part.indptr[stop])
                indptr = part.indptr[start : stop + 1] - part.indptr[start]
                items, entries = part.items[in_run], part.entries[in_run]
                weights = part.weight[start:stop]
                weighted_gram(indptr, items, entries, weights, n, rows=band, threads=self.threads, out=low)
                # What is finer than the published grid stays in low for the next run: cut once, at the end.
                high += low >> dropped
                low &= 2**dropped - 1

        cross, square, low, *high = triangle_sums(people, add, n, n_triangles, n, 2)
        low >>= dropped
        if high:
            low += high.pop()
        return _correct(low, cross, (int(square[0]) << _WORD_BITS) + int(square[1]), lens.along)


def _correct(packed: Ints, cross: Ints, square: int, along: Ints) -> Ints:
    """G − b vᵀ − v bᵀ above the diagonal with b = cross − square v/2, written over the packed triangle G.

    Products are taken in two parts, high and low bits, so that none leaves 64 bits.
    """
    bits, n = DIRECTION_BITS, len(along)
    half = (square >> bits + 1) * along + (((square & (2 << bits) - 1) * along) >> bits + 1)
    b = cross - half
    # b vᵀ + v bᵀ, where b may have 63 bits: b = 2^bits · high + low, and only low is shifted.
    high, low = b >> bits, b & (1 << bits) - 1
    to = start = 0
    for i in range(n):
        rest = slice(i + 1, n)
        whole = high[i] * along[rest] + along[i] * high[rest]
        parts = (low[i] * along[rest] + along[i] * low[rest]) >> bits
        # The row without its diagonal moves to the left, so nothing is overwritten before it is read.
        packed[to : to + n - i - 1] = packed[start + 1 : start + n - i] - whole - parts
        to, start = to + n - i - 1, start + n - i
    return packed[:to]


_VOTE_STEP_BITS = 20  # a step of the votes is 2^-20
MARGIN = 0.01
"""What a list by own items must gain in nDCG, because the model has seen these items in training: chosen by
hand; docs/models/private_ease.md says on which sets."""
LARGEST_VOTE = 0.25
"""Bound on one user's vote: chosen by hand."""
MOST_VOTERS = 3_000
"""About as many users vote, unless noise asks for more: a list for each takes time. Chosen by hand."""


@dataclass(frozen=True)
class Votes:
    """Σ_u clamp(nDCG(own list) − nDCG(list by popularity) − margin, ±1/4), over users with items enough.

    A fifth of a user's items is hidden from both lists, and to be found. Whether a user votes, and which of
    their items are hidden, depends on what they have alone. One user moves the sum by at most 1/4; one
    interaction, which may change all of a user's vote, by 1/2.

    Args:
        unit: unit of the guarantee, under add-remove.

    Privacy: public.
    """

    unit: str

    @property
    def query(self) -> Measurement:
        return Measurement(
            "votes", LARGEST_VOTE if self.unit == "user" else 2 * LARGEST_VOTE, "l2", 2.0**-_VOTE_STEP_BITS, 1
        )

    def measure(self, people: AnyPeople, linear: LinearWeights, popularity: Floats, part: float) -> Ints:
        """The sum in steps of 2^-20, shape (1,).

        Args:
            people: people with private interactions, who all count in full.
            linear: released scores by own items.
            popularity: released scores by popularity, shape (n_items,).
            part: about the part of the users who vote, from 0 to 1.

        Privacy: bounded (``query.sensitivity``).
        """
        places = np.empty(len(popularity), dtype=np.int64)
        places[np.argsort(-popularity, kind="stable")] = np.arange(len(popularity))
        # Users whose hash is below this vote, by what they have alone.
        below = np.uint64(min(int(part * 2.0**64), 2**64 - 1))
        factors, inputs, outputs, intercept = linear

        def add(block: People, total: Ints) -> None:
            rows = block.indptr, block.items
            gains = list_gains(*rows, factors, inputs, outputs, intercept, places, below)
            # The margin is inside the vote, so their sum is compared with 0. Who does not vote adds 0.
            votes = np.clip(np.nan_to_num(gains - MARGIN, nan=0.0), -LARGEST_VOTE, LARGEST_VOTE)
            total += int(np.rint(votes * 2.0**_VOTE_STEP_BITS).astype(np.int64).sum())

        (total,) = people.total(add, 1)
        return total
