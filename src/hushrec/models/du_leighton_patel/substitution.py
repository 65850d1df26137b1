"""Item substitution: each slot of a profile keeps or replaces its item (Guerraoui et al. 2015, AlterEgo).

A slot that holds item i reports item j with probability

    P(j | i) = p* [j = i] + (1 − p*)(p [j ∈ G_i]/|G_i| + (1 − p)/m),

and if i's group G_i is empty, p* [j = i] + (1 − p*)/m. The slot keeps its mark. Only the set of a user's
slots after substitution is reported. So a change to other items, under the same marks and in as many slots,
loses at most the loss of one slot times the number of slots.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.errors import GrantError
from hushrec.kernels.csr import ascends, check_rows, frozen
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.privacy.accounting.measurement import Measurement, Substitutions

ODDS = 2**32
"""Probabilities are multiples of 1/ODDS, so that they can be drawn exactly."""
_SLACK = 1e-12
"""Bound on the floating-point rounding error of a loss."""
_CHUNK = 2**16  # approximate number of slots that a thread draws at a time
_THREADS = 2  # chosen by hand


@dataclass(frozen=True, slots=True, eq=False)
class SubstitutionRandomizer:
    """Selector and profiler of an AlterEgo profile.

    Args:
        keep_probability: p*, probability that an item stays unchanged.
        group_probability: p, probability that a replacement comes from the item's group, not from all items.
        indptr, members: the group of every item, without the item, ascending; a group may be empty.

    Privacy: as the groups: public if they are made from public data, private if from ratings.
    """

    keep_probability: float
    group_probability: float
    indptr: Ints = field(repr=False)
    members: Ints32 = field(repr=False)

    def __post_init__(self) -> None:
        if not (0 <= self.keep_probability <= 1 and 0 <= self.group_probability <= 1):
            raise ValueError("keep_probability and group_probability must be chances, from 0 to 1")
        object.__setattr__(self, "indptr", frozen(self.indptr, np.int64))
        object.__setattr__(self, "members", frozen(self.members, np.int32))
        check_rows(self.indptr, self.members, self.n_items)
        owners = np.repeat(np.arange(self.n_items, dtype=np.int32), np.diff(self.indptr))
        if not ascends(self.indptr, self.members) or (owners == self.members).any():
            raise ValueError("a group must list items other than its own, each once and ascending")

    @property
    def n_items(self) -> int:
        """m, size of the catalogue. Privacy: public."""
        return self.indptr.size - 1

    @property
    def keep(self) -> float:
        """p* as drawn: a multiple of 2⁻³², rounded down. Privacy: public."""
        return drawn(self.keep_probability)

    @property
    def group(self) -> float:
        """p as drawn: a multiple of 2⁻³², rounded down. Privacy: public."""
        return drawn(self.group_probability)

    @property
    def per_slot(self) -> float:
        """ε of a slot, max_j ln(max_i P(j | i)/min_i P(j | i)), rounded up; infinite if a probability is 0.

        Computed column by column. Column j holds P(j | j), the entries of items whose group contains j, and
        those of the others, which differ only by whether their groups are empty. Time is proportional to the
        total size of the groups.

        Privacy: as the groups.
        """
        from hushrec.models.du_leighton_patel.kernels import extremes  # compiled code, like the sampler

        m, filled = self.n_items, np.diff(self.indptr) > 0
        fractions, fewest = np.zeros(m), np.ones(m)
        holders = np.zeros(m, np.int64)
        extremes(self.indptr, self.members, fractions, fewest, holders)
        same, near, far = self._chances()
        columns = np.stack(
            [
                same[filled.astype(np.int64)],
                np.where(holders > 0, near(fractions), np.nan),
                np.where(holders > 0, near(fewest), np.nan),
                np.where(filled.sum() - filled > holders, far[1], np.nan),
                np.where((~filled).sum() - ~filled > 0, far[0], np.nan),
            ]
        )
        most, least = np.nanmax(columns, axis=0), np.nanmin(columns, axis=0)
        return _loss(most, least)

    @property
    def expected(self) -> float:
        """Mean privacy loss of a slot: the largest KL(P(· | i) ‖ P(· | i′)) for disjoint groups.

        An overlap of G_i ∪ {i} and G_i′ ∪ {i′} lowers the divergence: each common item subtracts
        (b − c) ln(b′/c′) ≥ 0, where b and c are the probabilities inside and outside the group. So this is an
        upper bound, and exact if a worst pair of groups is disjoint. Rounded up; infinite if a probability
        is 0.

        Privacy: as the groups.
        """
        sizes, counts = np.unique(np.diff(self.indptr), return_counts=True)
        same, near, far = self._chances()
        filled = np.minimum(sizes, 1)
        a, c = same[filled], far[filled]
        b = np.where(sizes > 0, near(1 / np.maximum(sizes, 1)), c)
        if c.min() == 0:
            return self.per_slot  # infinite, unless every group holds all other items
        largest = 0.0
        for n, count, *mine in zip(sizes, counts, a, b, c, strict=True):
            loss = (
                mine[0] * np.log(mine[0] / c)
                + n * mine[1] * np.log(mine[1] / c)
                + mine[2] * np.log(mine[2] / a)
                + sizes * mine[2] * np.log(mine[2] / b)
                + (self.n_items - 2 - n - sizes) * mine[2] * np.log(mine[2] / c)
            )
            others = (sizes != n) | (count > 1)
            largest = max(largest, float(loss[others].max(initial=0.0)))
        return min(math.nextafter(largest * (1 + _SLACK) + _SLACK, math.inf), self.per_slot)

    @property
    def distance_epsilon(self) -> float:
        """The ε of D2P: the loss of learning that "the item is j or near j", for the worst j.

        max_j ln(max_i P(out ∈ GRP_j | i)/min_i P(out ∈ GRP_j | i)) with GRP_j = G_j ∪ {j}, rounded up: the
        (ε, λ) of Guerraoui et al. 2015 for sets of one item. At most ``per_slot``, because the item shows
        whether it is near j. Holds one row of probabilities at a time; time is proportional to Σ_j |G_j|².

        Privacy: as the groups.
        """
        from hushrec.models.du_leighton_patel.kernels import landing  # compiled code, like the sampler

        m = self.n_items
        order = np.argsort(self.members, kind="stable")
        owners = np.repeat(np.arange(m, dtype=np.int32), np.diff(self.indptr))
        holding = np.concatenate([[0], np.cumsum(np.bincount(self.members, minlength=m))])
        holding, holders = frozen(holding, np.int64), frozen(owners[order], np.int32)
        most, least = np.empty(m), np.empty(m)

        def part(bounds: tuple[int, int]) -> None:
            groups = self.indptr, self.members, holding, holders
            landing(*bounds, *groups, self.keep, self.group, most, least)

        cuts = np.linspace(0, m, min(m, 64) + 1).astype(np.int64)
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(part, pairwise(cuts.tolist())))
        return min(_loss(most, least), self.per_slot)

    def require_booked(self, rows: Rows, booked: Measurement) -> None:
        """Refuse a substitution that was not booked.

        Privacy: public; no message contains a number.
        """
        if not isinstance(booked, Substitutions):
            raise GrantError(f"{rows.name}: booked was {booked.mechanism}, not item substitution")
        if not booked.size == rows.width == self.n_items:
            raise GrantError(f"{rows.name}: plan, rows and groups must have the same catalogue")
        if rows.longest > booked.sensitivity:
            raise GrantError(f"{rows.name}: a profile has more slots than were booked; cap the ratings")
        if self.per_slot > booked.per_slot:
            raise GrantError(f"{rows.name}: a slot loses more than was booked; plan with the same groups")

    def entries(self, rows: Rows) -> int:
        """Bound the number of offsets and items that ``draw`` returns. Privacy: private."""
        return rows.indptr.size + rows.columns.size

    def draw(self, rows: Rows, key: bytes) -> tuple[Ints, Ints32, Bytes]:
        """Rows after substitution. If several slots report the same item, one of them is listed at random.

        Args:
            rows: profiles; their columns are items.
            key: 32 bytes that were never used before.

        Returns:
            indptr, items and marks, ascending in each row: exact, and the same for any number of threads.

        Privacy: charged by the caller.
        """
        from hushrec.models.du_leighton_patel.kernels import substitute  # compiled code, like the sampler

        indptr, columns = frozen(rows.indptr, np.int64), frozen(rows.columns, np.int32)
        marks, words = frozen(rows.marks, np.uint8), np.frombuffer(key, "<u4").astype(np.uint32)
        chances = int(self.keep * ODDS), int(self.group * ODDS)
        counts = np.empty(indptr.size - 1, np.int64)

        def part(bounds: tuple[int, int]) -> tuple[Ints32, Bytes]:
            slots = int(indptr[bounds[1]] - indptr[bounds[0]])
            listed, kept = np.empty(slots, np.int32), np.empty(slots, np.uint8)
            size = substitute(
                *bounds,
                indptr,
                columns,
                marks,
                words,
                *chances,
                self.indptr,
                self.members,
                listed,
                kept,
                counts,
            )
            return listed[:size].copy(), kept[:size].copy()

        cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], _CHUNK))
        cuts = np.unique(np.concatenate([[0], cuts, [counts.size]]))
        with ThreadPoolExecutor(_THREADS) as pool:
            parts = list(pool.map(part, pairwise(cuts.tolist())))
        listed = np.concatenate([np.empty(0, np.int32), *(items for items, _ in parts)])
        kept = np.concatenate([np.empty(0, np.uint8), *(block_marks for _, block_marks in parts)])
        return np.concatenate([[0], np.cumsum(counts)]), listed, kept

    def _chances(self) -> tuple[Floats, Callable[[Floats], Floats], Floats]:
        """P(i | i); P(j | i) for j ∈ G_i, by 1/|G_i|; P(j | i) for other j. Pairs: G_i is empty, or not."""
        keep, group = self.keep, self.group
        far = (1 - keep) * np.array([1.0, 1 - group]) / self.n_items
        return keep + far, lambda fraction: (1 - keep) * group * fraction + far[1], far


def worst_per_slot(keep: float, group: float, n_items: int) -> float:
    """The largest ε of a slot over all possible groups, rounded up.

    An item is reported with probability at most p* + (1 − p*)/m, from itself with an empty group, or
    (1 − p*)(p + (1 − p)/m), from an item whose only group member it is; and at least (1 − p*)(1 − p)/m. Book
    this value if the groups are private, because the exact ε would reveal something about them.

    Args:
        keep: p*.
        group: p.
        n_items: m.

    Privacy: public.
    """
    keep, group = drawn(keep), drawn(group)
    most = max(keep + (1 - keep) / n_items, (1 - keep) * (group + (1 - group) / n_items))
    least = (1 - keep) * (1 - group) / n_items
    # The slack keeps it above the exact value, which is rounded too.
    return _loss(np.array([most]), np.array([least])) + _SLACK


def drawn(chance: float) -> float:
    """The largest probability that can be drawn exactly and does not exceed ``chance``. Privacy: public."""
    return math.floor(chance * ODDS) / ODDS


def _loss(most: Floats, least: Floats) -> float:
    """max ln(most/least), rounded up."""
    if least.min() == 0:
        return math.inf
    return math.nextafter(float(np.log(most / least).max()) * (1 + _SLACK) + _SLACK, math.inf)
