"""Personal ε: weights that scale each user's contribution, so that users lose at most the ε they ask for.

A user's weight w multiplies everything that they add, in every measurement of the plan. For this user each
measurement then has sensitivity w Δ. Under adjacency ``add-remove`` they lose ε(w) at δ, the cost of the same
plan with sensitivities w Δ, whatever others ask for (Jorgensen, Yu & Cormode 2015, §3). Weights are multiples
of 1/GRID, rounded down. A user who asks for 0 has weight 0.

μ of Gaussian noise, and Σε at δ = 0, are multiples of the weight, so the weight is a division. At δ > 0 μ of
Laplace noise or of a posterior sample is not, so there personal ε are refused.
"""

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushrec.arrays import Floats
from hushrec.documents.measured import Promised
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, dearest, gaussian_mu
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.text import is_number

GRID = 2**16
"""Weights are multiples of 1/GRID."""


@lru_cache(maxsize=2**18, typed=True)
def weight(measurements: tuple[Measurement, ...], delta: float, personal_epsilon: float) -> float:
    """The largest weight at which a plan costs a user at most the ε at δ that they ask for.

    gaussian_mu(ε, δ)/μ of the plan, or at δ = 0 ε/Σε; less by a step where rounding makes it cost more.

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
    whole = _spent(measurements, GRID)
    enough = whole.epsilon_units(delta) <= allowed
    require_divisible(measurements, delta)
    if enough:
        return 1.0
    if delta:
        part = gaussian_mu(float(personal_epsilon), delta) / math.sqrt(
            whole.units(delta) / fixed_point.PER_ONE
        )
    else:
        part = allowed / whole.units(delta)
    step = min(math.floor(part * GRID), GRID - 1)
    # Sensitivities of a part are rounded up, so the division may be a step too far: the price decides.
    while step and _spent(measurements, step).epsilon_units(delta) > allowed:
        step -= 1
    return step / GRID


def require_divisible(measurements: tuple[Measurement, ...], delta: float) -> None:
    """Refuse personal ε of noise whose loss is not a multiple of the weight.

    Raises:
        BudgetError: δ > 0, and a measurement has other noise than Gaussian.
    """
    others = [one for one in measurements if one.norm != "l2"]
    if delta > 0 and others:
        raise BudgetError(
            f"{others[0].name}: personal ε of {others[0].mechanism} noise need delta = 0, where losses are "
            "multiples of a person's weight; set delta = 0, or use Gaussian noise alone"
        )


def weights(measurements: tuple[Measurement, ...], delta: float, personal_epsilon: Floats) -> Floats:
    """``weight`` of every user, computed once per distinct ε.

    Args:
        personal_epsilon: ε ≥ 0 of each user, any shape.

    Returns:
        Weights of the same shape.

    Privacy: private in, private out; each weight depends only on the ε that this user asks for.
    """
    values, places = np.unique(personal_epsilon, return_inverse=True)
    user_weights = np.array([weight(measurements, delta, value) for value in values.tolist()], np.float64)
    return user_weights[places].reshape(personal_epsilon.shape)


def promised(measurements: tuple[Measurement, ...], delta: float, weight: float) -> float:
    """ε at δ that a plan costs a user of the given weight, rounded up."""
    if not is_number(weight) or not 0 <= weight <= 1:
        raise BudgetError("a weight is a number from 0 to 1")
    return _spent(measurements, round(weight * GRID)).epsilon_at(delta) if weight else 0.0


def classes(
    measurements: tuple[Measurement, ...], delta: float, personal_epsilon: Mapping[str, float]
) -> tuple[Promised, ...]:
    """A plan's promise to each privacy class of users.

    Args:
        personal_epsilon: name of each class → the ε that its members ask for.
    """
    promises = []
    for name, epsilon in personal_epsilon.items():
        part = weight(measurements, delta, epsilon)
        # The loss is at most the ε asked for; only rounding up its decimals could exceed it.
        most = min(float(epsilon), promised(measurements, delta, part))
        promises.append(Promised(name, float(epsilon), part, most))
    return tuple(promises)


@lru_cache(maxsize=2**16)
def _spent(measurements: tuple[Measurement, ...], part: int) -> Spent:
    """Cost of the measurements with sensitivities times part/GRID; equal measurements are priced once."""
    weight = Fraction(part, GRID)
    losses = ((one.branch, one.scaled(weight).spent() * count) for one, count in _alike(measurements))
    return dearest(losses)[1]


@lru_cache(maxsize=64)
def _alike(measurements: tuple[Measurement, ...]) -> tuple[tuple[Measurement, int], ...]:
    """The measurements without their names, and how many are equal to each."""
    return tuple(Counter(one.scaled(Fraction(1)) for one in measurements).items())
