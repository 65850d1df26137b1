"""Personal ε: weights that scale each user's contribution, so that users lose at most the ε they ask for.

A user's weight w multiplies everything that they add, in every measurement of the plan. For this user each
measurement then has sensitivity w Δ. Under adjacency ``add-remove`` they lose ε(w) at δ, the cost of the same
plan with sensitivities w Δ, whatever others ask for (Jorgensen, Yu & Cormode 2015, §3). Weights are multiples
of 1/GRID, rounded down. A user who asks for 0 has weight 0.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushrec.arrays import Floats
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, dearest, price
from hushrec.privacy.accounting.events import Event
from hushrec.text import is_number

GRID = 2**16
"""Weights are multiples of 1/GRID."""


@dataclass(frozen=True, slots=True)
class Promise:
    """The promise to one privacy class of users.

    Attributes:
        personal_epsilon: the ε that its members ask for.
        weight: the weight of each member.
        promised: bound on the ε that each member loses; at most ``personal_epsilon``.
    """

    name: str
    personal_epsilon: float
    weight: float
    promised: float


@lru_cache(maxsize=2**18, typed=True)
def weight(events: tuple[Event, ...], delta: float, personal_epsilon: float) -> float:
    """The largest weight at which a plan costs a user at most the ε at δ that they ask for.

    The search runs once for all blocks and passes, so the time of a fit grows with the number of distinct ε
    that users ask for. Only the curator can observe this; no release shows it.

    Args:
        personal_epsilon: ε ≥ 0, as it is written in decimal digits.

    Returns:
        A multiple of 1/GRID in [0, 1]: 1 if they ask for the plan's ε or more, 0 if they ask for 0.

    Privacy: public in, public out; the ε that one user asks for, and so their weight, is private.
    """
    allowed = fixed_point.allowance(personal_epsilon)
    if allowed < 0:
        raise BudgetError("the ε that a user asks for is 0 or more")
    if not allowed:
        return 0.0
    if _fits(events, delta, GRID, allowed):
        return 1.0
    low, high = 0, GRID
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(events, delta, middle, allowed):
            low = middle
        else:
            high = middle
    return low / GRID


def weights(events: tuple[Event, ...], delta: float, personal_epsilon: Floats) -> Floats:
    """``weight`` of every user, computed once per distinct ε.

    Args:
        personal_epsilon: ε ≥ 0 of each user, any shape.

    Returns:
        Weights of the same shape.

    Privacy: private in, private out; each weight depends only on the ε that this user asks for.
    """
    values, places = np.unique(personal_epsilon, return_inverse=True)
    user_weights = np.array([weight(events, delta, value) for value in values.tolist()], np.float64)
    return user_weights[places].reshape(personal_epsilon.shape)


def promised(events: tuple[Event, ...], delta: float, weight: float) -> float:
    """ε at δ that a plan costs a user of the given weight, rounded up."""
    if not is_number(weight) or not 0 <= weight <= 1:
        raise BudgetError("a weight is a number from 0 to 1")
    return _spent(events, round(weight * GRID)).epsilon(delta) if weight else 0.0


def classes(
    events: tuple[Event, ...], delta: float, personal_epsilon: Mapping[str, float] | None
) -> tuple[Promise, ...]:
    """A plan's promise to each privacy class of users.

    Args:
        personal_epsilon: name of each class → the ε that its members ask for.
    """
    promises = []
    for name, epsilon in (personal_epsilon or {}).items():
        part = weight(events, delta, epsilon)
        # The loss is at most the ε asked for; only rounding up its decimals could exceed it.
        promises.append(
            Promise(name, float(epsilon), part, min(float(epsilon), promised(events, delta, part)))
        )
    return tuple(promises)


def _fits(events: tuple[Event, ...], delta: float, part: int, allowed: int) -> bool:
    return _spent(events, part).epsilon_units(delta) <= allowed


@lru_cache(maxsize=2**16)
def _spent(events: tuple[Event, ...], part: int) -> Spent:
    """Cost of the measurements with sensitivities times part/GRID; equal measurements are priced once."""
    weight = Fraction(part, GRID)
    losses = ((event.branch, price(event.scaled(weight)) * count) for event, count in _alike(events))
    return dearest(losses)[1]


@lru_cache(maxsize=64)
def _alike(events: tuple[Event, ...]) -> tuple[tuple[Event, int], ...]:
    """The measurements without their names, and how many are equal to each."""
    return tuple(Counter(event.scaled(Fraction(1)) for event in events).items())
