"""Search for neighbouring ratings whose sums lie further apart than their booked sensitivities.

Each pair of neighbours is fitted twice, the second time on the noisy values of the first fit, so that sums
that depend on earlier releases are comparable. The search starts from extreme pairs and random ones. Then it
climbs, in turns, from the pair that the noise hides least and from the best pair for the measurement whose
sensitivity was least nearly reached.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hushrec.arrays import Ints
from hushrec.audit.recorder import Leak, Measured, ratio
from hushrec.audit.replay import failing, record
from hushrec.audit.worlds import Pair, World, choices
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget

RANDOM, ROUNDS = 20, 60
"""Random pairs, and steps of the climb; chosen by hand."""

__all__ = ["RANDOM", "ROUNDS", "Found", "Gap", "distances", "search", "widen"]


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """The distance of two neighbours in one measurement.

    Attributes:
        measured: the measurement of the first.
        change: the second's sum minus the first's, in grid steps, the entries that differ.
        ratio: distance over the booked sensitivity.

    Privacy: private.
    """

    measured: Measured
    change: Ints
    ratio: float

    @property
    def loss(self) -> float:
        """Loss: (distance/σ)² of Gaussian noise, which adds up to μ²; distance/b of Laplace noise."""
        event = self.measured.event
        loss = self.ratio * event.sensitivity / event.noise
        return float(loss if event.norm == "l1" else loss * loss)


@dataclass(slots=True)
class Found:
    """The result of a search.

    Attributes:
        pairs: number of pairs of neighbours that were compared.
        ratios: by measurement, the largest distance over its booked sensitivity.
        nearest: by measurement, the pair that reached it.
        worst: the pair that the noise hides least.

    Privacy: private.
    """

    pairs: int = 0
    ratios: dict[str, float] = field(default_factory=dict)
    nearest: dict[str, Pair] = field(default_factory=dict)
    worst: Pair = ({}, {})
    gaps: list[Gap] = field(default_factory=list)

    @property
    def loss(self) -> float:
        """Loss of the worst pair."""
        return sum(gap.loss for gap in self.gaps)


def distances(model: Model, budget: Budget, world: World, pair: Pair) -> list[Gap]:
    """Measure the distances of two neighbours in every measurement.

    Privacy: private.
    """
    one, other = pair
    with failing("a fit"):
        first = record(world.ratings(one), model, budget).measured
    with failing("only the neighbour"):
        second = record(world.ratings(other), model, budget, first).measured
    if len(first) != len(second):
        raise Leak("the neighbour makes fewer measurements")
    return [
        Gap(here, _change(here, there), ratio(here, there)) for here, there in zip(first, second, strict=True)
    ]


def search(
    model: Model,
    budget: Budget,
    world: World,
    *,
    random: int = RANDOM,
    rounds: int = ROUNDS,
    seed: int = 0,
    progress: Callable[[], object] = lambda: None,
) -> Found:
    """Search for the largest distances of neighbours in this world.

    Args:
        budget: what may be spent; its unit and adjacency say who is a neighbour.
        world: the world of the neighbours.
        random: number of random pairs.
        rounds: number of steps of the climb.
        seed: of the random pairs and steps.
        progress: called after every pair.

    Privacy: private.
    """
    rng, result, kind = choices(seed), Found(), (budget.unit, budget.adjacency)

    def attempt(pair: Pair) -> None:
        gaps = distances(model, budget, world, pair)
        result.pairs += 1
        for gap in gaps:
            name = gap.measured.name
            if gap.ratio >= result.ratios.get(name, 0.0):
                result.ratios[name], result.nearest[name] = gap.ratio, pair
        if not result.gaps or _audible(gaps) > _audible(result.gaps):
            result.worst, result.gaps = pair, gaps
        progress()

    for pair in world.pairs(*kind).values():
        attempt(pair)
    for _ in range(random):
        attempt(world.at_random(*kind, rng))
    for turn in range(rounds):
        weakest = min(result.ratios, key=lambda name: result.ratios[name])
        one, other = result.worst if turn % 2 == 0 else result.nearest[weakest]
        user = next(user for user in {**one, **other} if one.get(user) != other.get(user))
        people = world.changed(one if user in one else other, user, rng)
        attempt((people, world.neighbour(people, user, *kind, rng)))
    return result


def widen(
    result: Found,
    model: Model,
    budget: Budget,
    world: World,
    progress: Callable[[], object] = lambda: None,
) -> None:
    """Compare the extreme pairs of a wide world too, whose users reach a cap that a small world hides.

    At half of its size, a Δ of √(2K) for a cap of K ratings looks right where no one gives more than K/4.

    Args:
        result: of ``search``; its ratios and its number of pairs grow, its worst pair stays.
        model, budget: as for ``search``.
        world: a wide world.
        progress: called after every pair.

    Privacy: private.
    """
    for pair in world.pairs(budget.unit, budget.adjacency).values():
        for gap in distances(model, budget, world, pair):
            name = gap.measured.name
            result.ratios[name] = max(gap.ratio, result.ratios.get(name, 0.0))
        result.pairs += 1
        progress()


def _audible(gaps: list[Gap]) -> tuple[float, int]:
    """Return a pair's rank: its loss; at equal loss, fewer entries are easier to distinguish."""
    return round(sum(gap.loss for gap in gaps), 6), -sum(gap.change.size for gap in gaps)


def _change(one: Measured, other: Measured) -> Ints:
    change = (other.sums - one.sums).ravel()
    return np.asarray(change[change != 0])
