"""Search for neighbouring ratings whose sums lie further apart than their booked sensitivities.

Each pair of neighbours is fitted twice, the second time on the noisy values of the first fit, so that sums
that depend on earlier releases are comparable. The search starts from extreme pairs and random ones. Then it
climbs, in turns, from the pair that the noise hides least and from the best pair for the measurement whose
sensitivity was least nearly reached.

A fit that takes one of several branches is led into each of them by other noisy values (``leads``).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import prod

import numpy as np

from hushrec.arrays import Ints
from hushrec.audit.recorder import UNCHANGED, Factors, Leak, Measured, branch_of, ratio
from hushrec.audit.replay import leak_on_failure, record
from hushrec.audit.worlds import Pair, World, choices
from hushrec.curator.fit import plan
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import names_of

RANDOM, ROUNDS = 20, 60
"""Random pairs, and steps of the climb; chosen by hand."""
_LEADS = 200
"""Attempts to lead a fit into all branches; chosen by hand."""
_POWERS = -10, *range(11), 20
"""Powers of two that noisy values are multiplied by; chosen by hand."""


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


def leads(
    model: Model, budget: Budget, world: World, wide: World, broad: World
) -> list[tuple[World, str, Factors]]:
    """Find what leads fits into each branch of the plan: factors of the first noisy values.

    Args:
        model, budget: as for ``search``; one without branches has one, which has no name.
        world, wide: whose usual users are fitted; in both worlds the same branch is taken.
        broad: is fitted for branches that fewer items do not have, or into which nothing leads both worlds.

    Returns:
        For each branch the world to search, its name and the factors.

    Raises:
        Leak: There are no such values for one of the branches.

    Privacy: public, made up.
    """
    names, of_broad = (names_of(plan(one.domain, model, budget).noisy) for one in (world, broad))
    shared = _leads(model, budget, names, world, wide) if names else {"": UNCHANGED}
    further = _leads(model, budget, [name for name in of_broad if name not in shared], broad)
    if missing := {*names, *of_broad} - {*shared, *further}:
        raise Leak(f"no noisy values lead to branch {min(missing)}")
    return [(world, *lead) for lead in shared.items()] + [(broad, *lead) for lead in further.items()]


def _leads(model: Model, budget: Budget, names: Iterable[str], *worlds: World) -> dict[str, Factors]:
    """Find what leads the fits in all worlds into some branches; not every branch may have it."""
    missing, factors_of = {*names}, dict[str, Factors]()
    if not missing:
        return factors_of
    events, rng = plan(worlds[0].domain, model, budget).noisy, choices(0)
    first = [event.name for event in events if not event.branch]
    # The first attempt is as the noise falls; others multiply each value by a power of two, none twice: a
    # branch may open at one combination of powers alone.
    grid = (len(_POWERS),) * len(first)
    places = rng.choice(prod(grid), min(_LEADS, prod(grid)), replace=False)
    scales = np.exp2(np.take(_POWERS, np.unravel_index(places, grid))).T.tolist()
    for factors in (UNCHANGED, *(dict(zip(first, each, strict=True)) for each in scales)):
        if not missing:
            break
        fits = (record(world.ratings(world.everybody), model, budget, factors=factors) for world in worlds)
        # Of use only if all worlds take the same branch, because neighbours are compared in each.
        (branch, *others) = {branch_of(one.measured) for one in fits}
        if not others and branch in missing:
            factors_of[branch] = factors
            missing.remove(branch)
    return factors_of


def distances(
    model: Model, budget: Budget, world: World, pair: Pair, factors: Factors = UNCHANGED
) -> list[Gap]:
    """Measure the distances of two neighbours in every measurement.

    Privacy: private.
    """
    one, other = pair
    with leak_on_failure("a fit"):
        first = record(world.ratings(one), model, budget, factors=factors).measured
    with leak_on_failure("only the neighbour"):
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
    lead: tuple[str, Factors] = ("", UNCHANGED),
    progress: Callable[[], object] = lambda: None,
) -> Found:
    """Search for the largest distances of neighbours in this world.

    Args:
        budget: what may be spent; its unit and adjacency say who is a neighbour.
        world: the world of the neighbours.
        random: number of random pairs.
        rounds: number of steps of the climb.
        seed: of the random pairs and steps.
        lead: a branch, and what leads to it; the worst pair is one of which it is measured.
        progress: called after every pair.

    Privacy: private.
    """
    rng, result, kind = choices(seed), Found(), (budget.unit, budget.adjacency)

    def attempt(pair: Pair) -> None:
        gaps = distances(model, budget, world, pair, lead[1])
        result.pairs += 1
        for gap in gaps:
            name = gap.measured.name
            # An equal ratio takes the place too, so that the climb moves along a plateau.
            if gap.ratio >= result.ratios.get(name, 0.0):
                result.ratios[name], result.nearest[name] = gap.ratio, pair
        taken = branch_of([gap.measured for gap in gaps])
        if taken == lead[0] and (not result.gaps or _audible(gaps) > _audible(result.gaps)):
            result.worst, result.gaps = pair, gaps
        progress()

    for pair in world.pairs(*kind).values():
        attempt(pair)
    for _ in range(random):
        attempt(world.at_random(*kind, rng))
    for turn in range(rounds):
        weakest = min(result.ratios, key=lambda name: result.ratios[name])
        # In turns: raise the loss of all, then the measurement that is farthest from its Δ.
        one, other = result.worst if turn % 2 == 0 else result.nearest[weakest]
        # Neighbours differ in one user: theirs is the row to change and to take apart again.
        user = next(user for user in {**one, **other} if one.get(user) != other.get(user))
        people = world.change(one if user in one else other, user, rng)
        attempt((people, world.neighbour(people, user, *kind, rng)))
    return result


def most(results: Iterable[Found]) -> dict[str, float]:
    """Return the largest distance over the booked sensitivity, by measurement.

    Privacy: private.
    """
    ratios: dict[str, float] = {}
    for result in results:
        ratios |= {name: max(one, ratios.get(name, 0.0)) for name, one in result.ratios.items()}
    return ratios


def widen(
    result: Found,
    model: Model,
    budget: Budget,
    world: World,
    progress: Callable[[], object] = lambda: None,
    factors: Factors = UNCHANGED,
) -> None:
    """Compare the extreme pairs of a wide world too, whose users reach a cap that a small world hides.

    At half of its size, a Δ of √(2K) for a cap of K ratings looks right where no one gives more than K/4.

    Args:
        result: of ``search``; its ratios and its number of pairs grow, its worst pair stays.
        model, budget: as for ``search``.
        world: a wide world.
        progress: called after every pair.
        factors: of the noisy values, which lead to a branch.

    Privacy: private.
    """
    for pair in world.pairs(budget.unit, budget.adjacency).values():
        for gap in distances(model, budget, world, pair, factors):
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
