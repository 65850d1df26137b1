"""Stochastic gradient descent over ratings that need not fit in memory, block by block.

Two tasks run concurrently: a thread reads blocks ahead, and the caller's thread learns from the current one.
"""

import itertools
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

import numpy as np

from hushrec.arrays import Floats32, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.people import Once, People
from hushrec.estimation.factor_steps import fill_normal
from hushrec.kernels.csr import CSR
from hushrec.models.factorization.kernels.visits import descend, padded
from hushrec.progress import stage

Schedule = Literal["geometric", "inverse"]
_AHEAD = 2  # blocks that the reader may be ahead: bounds the memory; chosen by hand


Batch = tuple[slice | Ints, CSR]
"""The rows of some people among all people, and their ratings, minus what is not learned."""

_Step = tuple[int, Batch | None]
"""An epoch, and what is visited next in it; None where it ends."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DescentData:
    """Ratings that can be traversed repeatedly.

    Attributes:
        batches: starts a pass over them.
        person_counts: ratings of each person, shape (n_people,).
        item_counts: ratings of each item, shape (n_items,).

    Privacy: private; not shown in repr.
    """

    batches: Callable[[], Iterator[Batch]]
    person_counts: Ints
    item_counts: Ints

    def penalties(self, reg: float, power: float) -> tuple[Floats32, Floats32]:
        """Return λ n^power/mean of n^power over the ratings, for each person and each item."""
        return _penalty(self.person_counts, reg, power), _penalty(self.item_counts, reg, power)


@dataclass(slots=True, eq=False, repr=False)
class Factored:
    """Learned factors: a rating is person effect + item effect + person's factors · item's factors.

    Attributes:
        people, items: factors, shapes (n_people, rank) and (n_items, rank).
        person_effects, item_effects: shapes (n_people,) and (n_items,), or (0,) for none.

    Privacy: private, or post-processing if the ratings are already noisy; not shown in repr.
    """

    people: Floats32
    items: Floats32
    person_effects: Floats32
    item_effects: Floats32

    @classmethod
    def start(cls, n_people: int, n_items: int, rank: int, *, effects: bool) -> Self:
        """Start with random factors, the same in every run, and effects of 0. Privacy: public."""
        biases = (np.zeros(n if effects else 0, dtype=np.float32) for n in (n_people, n_items))
        people, items = np.empty((n_people, rank), dtype=np.float32), padded(n_items, rank)
        for side in (people, items):
            fill_normal(side, 0.3)
        return cls(people, items, *biases)

    def learn(
        self, batch: Batch, person_reg: Floats32, item_reg: Floats32, rate: float, threads: int
    ) -> None:
        """Visit each person of this turn once."""
        at, rows = batch
        people, effects = self.people[at], self.person_effects[at] if len(self.item_effects) else None
        visits = *rows, np.arange(len(people), dtype=np.int32)
        biases = effects, None if effects is None else self.item_effects
        descend(*visits, people, self.items, *biases, person_reg[at], item_reg, rate, threads=threads)
        if not isinstance(at, slice):  # then these were copies
            self.people[at] = people
            if effects is not None:
                self.person_effects[at] = effects


def survey(people: AnyPeople, star: float) -> tuple[float, DescentData]:
    """Return the mean of all ratings, and the rest in units of ``star``; people are the roster, if any.

    Args:
        star: unit of the learned values, in rating units.

    Privacy: private.
    """
    domain = people.domain
    item_counts, total, n_ratings = np.zeros(domain.n_items, dtype=np.int64), 0.0, 0
    person_counts = np.zeros(domain.n_users or people.n_users, dtype=np.int64)
    first = 0
    for block in people.blocks():
        person_counts[_at(first, block.n_users, _places(block))] = block.counts
        item_counts += np.bincount(block.items, minlength=domain.n_items)
        total += float(block.numbers().sum())
        n_ratings += block.n_entries
        first += block.n_users
    lo, _, step = domain.scale
    global_mean = total / n_ratings if n_ratings else domain.scale.mid
    # A rating is a byte, so a table of the scale's few values replaces arithmetic on every rating.
    table = ((lo + step * np.arange(domain.scale.n_values) - global_mean) / star).astype(np.float32)

    def learned(block: People) -> tuple[slice | Ints | None, CSR]:
        return _places(block), CSR(block.indptr, block.items, table[block.values])

    residuals = Once(learned)

    def batches() -> Iterator[Batch]:
        first = 0
        for places, rows in map(residuals, people.blocks()):
            n = len(rows.indptr) - 1
            yield _at(first, n, places), rows
            first += n

    return global_mean, DescentData(batches, person_counts, item_counts)


def epoch_values(
    first: float, decay: float, epochs: int, schedule: Schedule = "geometric"
) -> Sequence[float]:
    """Return a learning rate or penalty for each epoch; schedules start with first, first · decay.

    ``geometric``: first · decay^t. ``inverse``: first/(1 + (1/decay − 1) t), which falls ever more slowly
    and sums to infinity, as Robbins & Monro 1951 require.

    Privacy: public.
    """
    if schedule == "inverse":
        # At epoch 1 this is first · decay, as for the other schedule.
        return [first / (1 + (1 / decay - 1) * epoch) for epoch in range(epochs)]
    return list(itertools.accumulate(itertools.repeat(decay, epochs - 1), lambda a, b: a * b, initial=first))


def gradient_descent(
    source: DescentData,
    rank: int,
    *,
    rates: Sequence[float],
    regs: Sequence[float],
    power: float = 0.0,
    effects: bool = False,
    threads: int = 1,
) -> Factored:
    """Run stochastic gradient descent (Koren, Bell & Volinsky 2009, eq. 4), person by person.

    Args:
        rates: γ, the learning rate of each pass.
        regs: λ, the penalty weight in every update, for each pass.
        power: scales the penalty to λ n^power/mean of n^power over the ratings.
        effects: whether people and items have effects.
        threads: number of threads that learn; with more than one, results vary from run to run.

    Privacy: private in, private out; post-processing if the ratings are already noisy.
    """
    sizes = len(source.person_counts), len(source.item_counts)
    # λ is the same for all batches of a pass.
    penalties = lru_cache(maxsize=1)(lambda reg: source.penalties(reg, power))
    factored = Factored.start(*sizes, rank, effects=effects)
    with stage("epochs", len(rates)) as ended, closing(_ahead(_steps(source, len(rates)))) as steps:
        for epoch, batch in steps:
            if batch is None:
                ended()
            else:
                factored.learn(batch, *penalties(regs[epoch]), rates[epoch], threads)
    return factored


def _steps(source: DescentData, epochs: int) -> Iterator[_Step]:
    for epoch in range(epochs):
        for batch in source.batches():
            yield epoch, batch
        yield epoch, None


def _ahead(steps: Iterator[_Step]) -> Generator[_Step, None, None]:
    """Yield the same steps, read by a thread that stays up to two ahead."""
    with ThreadPoolExecutor(1) as reader:
        coming = deque(reader.submit(next, steps, None) for _ in range(_AHEAD))
        while (step := coming.popleft().result()) is not None:
            coming.append(reader.submit(next, steps, None))
            yield step


def _at(first: int, n_users: int, places: slice | Ints | None) -> slice | Ints:
    """Return the rows of a block's people: those of the roster, or the next ones without a roster."""
    return slice(first, first + n_users) if places is None else places


def _places(block: People) -> slice | Ints | None:
    """Return the rows of the block's people on the roster, None if there is no roster."""
    if block.domain.users is None:
        return None
    rows = np.flatnonzero(np.diff(block.roster_indptr()))
    whole = len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows)
    return slice(int(rows[0]), int(rows[-1]) + 1) if whole else rows


def _penalty(counts: Ints, reg: float, power: float) -> Floats32:
    powers = np.maximum(counts, 1.0) ** power
    mean = float((powers * counts).sum() / max(counts.sum(), 1))
    return np.asarray(reg * powers / max(mean, 1e-12), dtype=np.float32)
