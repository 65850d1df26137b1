"""Calibration: the split of a budget into parts, and the noise with which a measurement costs its part.

Parts are divisions of what the budget counts: of μ² at δ > 0, of ε at δ = 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import NO_DELTA, laplace_epsilon, largest_cost, pure_epsilon
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import LARGEST, Measurement, Responses

_FAINTEST = 1e-12
"""Smallest ε of a response; below it, rounding of the probabilities dominates."""


def calibrated(
    measurements: Sequence[Measurement], split: Mapping[str, float], budget: Budget
) -> tuple[Measurement, ...]:
    """The measurements with their noise, in order; together they cost at most the budget.

    Args:
        measurements: as a model lists them; what is exact stays as it is.
        split: name → part of the budget; along each branch they add to one.
    """
    noisy = [one for one in measurements if not one.is_exact]
    if any(one.branch for one in noisy) and any(one.norm != "l2" for one in noisy):
        raise BudgetError("a plan with branches adds Gaussian noise alone; measure the others always")
    costs: dict[str, int] = {}
    for path in paths(noisy):  # what is always made is on every path, and its cost fits each of them
        for name, cost in divided(budget, {one.name: split[one.name] for one in path}).items():
            costs[name] = min(cost, costs.get(name, cost))
    return tuple(
        one if one.is_exact else with_noise(one, costs[one.name], budget.delta) for one in measurements
    )


def divided(budget: Budget, split: Mapping[str, float]) -> dict[str, int]:
    """Divide the largest cost within a budget: name → integer cost, rounded down.

    Args:
        split: name → part of the budget; they add to at most 1.

    Returns:
        The cost of each in units of 1e-12; together at most the whole.
    """
    total = largest_cost(budget)
    return {name: math.floor(part * total) for name, part in whole("the split", split).items()}


def with_noise(measurement: Measurement, cost: int, delta: float) -> Measurement:
    """The measurement with noise such that it costs at most ``cost``, rounded up.

    σ = Δ/μ, b = Δ/ε and T = Δ/ε, with the ε of Laplace noise, or of a posterior sample, that costs μ².

    Args:
        delta: δ of the budget, which says what a cost is.
    """
    name, norm = measurement.name, measurement.norm
    if cost < 1:
        raise BudgetError(f"{name}: its part of the budget is less than one unit; give it more")
    if norm == "l2":
        if delta == 0:
            raise BudgetError(NO_DELTA)
        loss = math.sqrt(cost / fixed_point.PER_ONE)
    elif delta:
        loss = laplace_epsilon(cost) if norm == "l1" else pure_epsilon(cost)
    else:
        loss = cost / fixed_point.PER_ONE
    noise = measurement.sensitivity / loss
    more = math.ulp(noise)  # the inverses are rounded; noise grows until the price itself, rounded up, fits
    while replace(measurement, noise=noise).spent().units(delta) > cost:
        noise, more = noise + more, 2 * more
    return replace(measurement, noise=noise)


def responses(name: str, budget: Budget, *, symbols: int, cells: int, size: int) -> Responses:
    """Randomized response with the largest ε per cell that fits the budget, found by bisection.

    Args:
        budget: any.
        symbols, cells, size: of ``Responses``.
    """

    def answers(exponent: float) -> Responses:
        return Responses.of(name, symbols, exponent, cells, size)

    def fits(exponent: float) -> bool:
        return answers(exponent).spent().units(budget.delta) <= largest_cost(budget)

    # Almost uniform over the symbols: a smaller ε is lost in floating-point rounding.
    low, high = _exponent(_FAINTEST, symbols), LARGEST
    if not fits(low):
        raise BudgetError(f"{name}: ε is too small for {cells} cells; raise it, or let people answer fewer")
    if fits(high):
        return answers(high)
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if fits(middle) else (low, middle)
    return answers(low)


def _exponent(epsilon: float, symbols: int) -> float:
    """−ln of the probability of an untrue answer, with the true one e^ε times as likely as each other."""
    return math.log1p(math.exp(min(epsilon, 2 * LARGEST)) / (symbols - 1))


def whole(owner: str, split: Mapping[str, float]) -> dict[str, Fraction]:
    """Return the parts of a split as exact fractions, scaled down if rounding lifts their sum above 1."""
    exact = {name: Fraction(part) for name, part in split.items()}
    total = sum(exact.values())
    if not exact or min(exact.values()) <= 0 or total > 1 + Fraction(1, 10**9):
        raise BudgetError(f"{owner}: parts must be positive and add to at most 1, not {float(total):.6g}")
    return {name: part / max(total, 1) for name, part in exact.items()}


def names_of(measurements: Sequence[Measurement]) -> list[str]:
    """Return the names of the branches, in order; none if all measurements are made."""
    return [*dict.fromkeys(one.branch for one in measurements if one.branch)]


def paths(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Return, for each branch, its measurements and those that are always made, in order."""
    return [
        [one for one in measurements if one.branch in ("", name)] for name in names_of(measurements) or [""]
    ]
