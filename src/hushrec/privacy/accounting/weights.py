"""Everybody his own ε: how much of a person counts, so that he loses no more than he asks for.

A person's weight w multiplies all that he adds, in every measurement of the plan alike, so that for him each
has the sensitivity w Δ. Under adjacency ``add-remove`` he then loses ε(w) at δ, what the same plan costs with
sensitivities w Δ, whatever the others asked for (Jorgensen, Yu & Cormode 2015, §3). Weights lie on a grid of
1/GRID and are rounded down; who asks for 0 has weight 0.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushrec.arrays import Floats
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, price
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.accounting.local_events import Responses, Substitutions

GRID = 2**16
"""Weights are multiples of 1/GRID."""


@dataclass(frozen=True, slots=True)
class Level:
    """What a class of people is promised.

    Attributes:
        name: of the class.
        asked: the ε that its members ask for.
        weight: how much of each of them counts.
        promised: the ε that each of them loses at most; not above ``asked``.

    Privacy: public.
    """

    name: str
    asked: float
    weight: float
    promised: float


@lru_cache(maxsize=2**18)
def weight(events: tuple[Event, ...], delta: float, asked: float) -> float:
    """The largest weight with which a plan costs a person no more ε at δ than he asks for.

    A search is made once for all blocks and passes. So the time of a fit grows with the number of distinct ε
    that people ask for: a channel in the curator's house only, for no release shows it.

    Args:
        events: all measurements of the plan.
        delta: the plan's δ.
        asked: ε ≥ 0, as it is written in decimal digits.

    Returns:
        A multiple of 1/GRID in [0, 1]; 1 where he asks for the plan's own ε or more, 0 where he asks for 0.

    Privacy: public in, public out; what one person asks for, and so his weight, is private.
    """
    allowed = fixed_point.allowance(asked)
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


def weights(events: tuple[Event, ...], delta: float, asked: Floats) -> Floats:
    """``weight`` of everybody, found once for all who ask for the same.

    Args:
        events: all measurements of the plan.
        delta: the plan's δ.
        asked: ε ≥ 0 of each person, any shape.

    Returns:
        Of the same shape.

    Privacy: private in, private out; each person's depends on what he asks for alone.
    """
    values, places = np.unique(asked, return_inverse=True)
    found = np.array([weight(events, delta, value) for value in values.tolist()], np.float64)
    return found[places].reshape(asked.shape)


def promised(events: tuple[Event, ...], delta: float, weight: float) -> float:
    """ε at δ that a plan costs a person of a given weight, rounded up.

    Privacy: public.
    """
    return _spent(events, round(weight * GRID)).epsilon(delta) if weight else 0.0


def levels(events: tuple[Event, ...], delta: float, asked: Mapping[str, float] | None) -> tuple[Level, ...]:
    """What a plan promises each class of people.

    Args:
        events: all measurements of the plan.
        delta: the plan's δ.
        asked: name of each class to the ε that its members ask for.

    Privacy: public.
    """
    found = []
    for name, epsilon in (asked or {}).items():
        part = weight(events, delta, epsilon)
        # What is promised is at most what is asked for; only its decimals, rounded up, could lie above.
        found.append(Level(name, float(epsilon), part, min(float(epsilon), promised(events, delta, part))))
    return tuple(found)


def _fits(events: tuple[Event, ...], delta: float, part: int, allowed: int) -> bool:
    spent = _spent(events, part)
    return not spent.endless and spent.epsilon_units(delta) <= allowed


@lru_cache(maxsize=2**16)
def _spent(events: tuple[Event, ...], part: int) -> Spent:
    """What the measurements cost with sensitivities times part/GRID; those that are alike are priced once."""
    alike = Counter(replace(event, name="", size=1) for event in events)
    return sum((price(_scaled(event, part)) * count for event, count in alike.items()), Spent())


def _scaled(event: Event, part: int) -> Event:
    if isinstance(event, Responses | Substitutions):
        raise BudgetError(f"{event.name}: a row is randomized whole; nobody's part of it can be weighed")
    if event.sensitivity == float("inf"):
        return event
    return replace(event, sensitivity=fixed_point.float_above(Fraction(event.sensitivity) * part / GRID))
