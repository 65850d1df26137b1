"""Calibration: the split of a budget into parts, and the measurement that costs a given part."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, largest_pure, largest_rho, price
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import (
    LARGEST,
    Gaussian,
    Laplace,
    PosteriorSample,
    Responses,
    drawn_rate,
)

_Event = TypeVar("_Event", Gaussian, Laplace, PosteriorSample)
_WIDEST = 2.0**60  # scale at which the search gives up; chosen by hand
_HALVINGS = 40
"""Bisection steps for the noise; less than 1e-12 of the budget stays unused."""
_FAINTEST = 1e-12
"""Smallest ε of a response; below it, rounding of the probabilities dominates."""


def split_gaussian(budget: Budget, split: Mapping[str, float]) -> dict[str, int]:
    """Divide the largest ρ that fits a budget: name → integer ρ, rounded down.

    Args:
        budget: with δ > 0.
        split: name → part of ρ; they add to at most 1.

    Returns:
        ρ of each in units of 1e-12, for ``gaussian``; together at most the whole.
    """
    total = largest_rho(budget)
    return {name: math.floor(part * total) for name, part in whole("the split", split).items()}


def split_laplace(budget: Budget, split: Mapping[str, float]) -> dict[str, int]:
    """Divide the largest Σε that fits a budget: name → integer ε, rounded down.

    At δ = 0 the sum is the budget's ε. At δ > 0 many small measurements may sum to more, by their zCDP bound.

    Args:
        budget: any.
        split: name → part of Σε; they add to at most 1.

    Returns:
        ε of each in units of 1e-12, for ``laplace``.
    """
    parts = whole("the split", split)
    kept_back = Fraction(1 - sum(parts.values()))
    total = largest_pure(budget, [*parts.values(), kept_back])
    return {name: math.floor(part * total) for name, part in parts.items()}


def gaussian(name: str, *, rho: int, sensitivity: float, step: float, size: int) -> Gaussian:
    """The Gaussian measurement that costs at most ``rho`` units: σ = Δ/√(2ρ), rounded up."""
    _require_unit(name, rho)
    sigma = sensitivity / math.sqrt(2 * rho / fixed_point.PER_ONE)
    return _widened(
        lambda noise: Gaussian(name, sensitivity, noise, step, size), sigma, lambda s: s.rho <= rho
    )


def laplace(name: str, *, epsilon: int, sensitivity: float, step: float, size: int) -> Laplace:
    """The Laplace measurement that costs at most ``epsilon`` units: b = Δ/ε, rounded up."""
    _require_unit(name, epsilon)
    scale = sensitivity / (epsilon / fixed_point.PER_ONE)
    return _widened(
        lambda noise: Laplace(name, sensitivity, noise, step, size), scale, lambda s: s.epsilon_sum <= epsilon
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A Gaussian measurement whose noise is not yet calibrated.

    Args:
        sensitivity: Δ₂ in the quantity's units; for a sample, the largest L2 norm that one person adds.
        step: width of the grid, in the same units.
        part: its part of the budget.
        rate: probability that each person takes part; rounded down to one that can be drawn exactly.
    """

    name: str
    sensitivity: float
    step: float
    size: int
    part: float
    rate: float = 1.0

    def event(self, noise: float) -> Gaussian:
        """The measurement with noise of at least ``noise`` sensitivities."""
        sigma = fixed_point.float_above(Fraction(noise) * Fraction(self.sensitivity))
        rate = drawn_rate(min(self.rate, 1.0))
        return Gaussian(self.name, self.sensitivity, sigma, self.step, self.size, rate)


def gaussians(budget: Budget, targets: Iterable[Part]) -> list[Gaussian]:
    """Gaussian measurements, also of samples, that together cost at most the budget.

    σᵢ = s · Δᵢ · rateᵢ/√partᵢ with the smallest s that fits, found by bisection and rounded up. For small
    rates and large noise the loss is proportional to (rate · Δ/σ)².

    Args:
        budget: with δ > 0.
    """
    measurements = list(targets)
    parts = whole("the split", {target.name: target.part for target in measurements})
    widths = [target.rate / math.sqrt(parts[target.name]) for target in measurements]
    # Measurements that differ only in units cost the same, so each kind is priced once.
    kinds = Counter(zip(widths, (target.rate for target in measurements), strict=True))

    def fits(scale: float) -> bool:
        losses = (
            price(Part("", 1.0, scale * width, 1, 1.0, rate).event(scale * width)) * count
            for (width, rate), count in kinds.items()
        )
        return sum(losses, Spent()).epsilon_units(budget.delta) <= budget.epsilon_units

    scale = smallest_that(fits)
    return [target.event(scale * width) for target, width in zip(measurements, widths, strict=True)]


def smallest_that(fits: Callable[[float], bool]) -> float:
    """Find the least noise that fits, by bisection; the result fits."""
    low, high = 0.5, 1.0
    while not fits(high):
        low, high = high, 2 * high
        if high > _WIDEST:
            raise BudgetError(
                "ε is below what can be proved with any amount of noise; raise it, measure less often, or "
                "let everybody take part"
            )
    while fits(low):
        low, high = low / 2, low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def posterior_sample(
    name: str, *, epsilon: int, sensitivity: float, step: float, size: int
) -> PosteriorSample:
    """The posterior sample that costs at most ``epsilon`` units: T = Δ/ε, rounded up."""
    _require_unit(name, epsilon)
    temperature = sensitivity / (epsilon / fixed_point.PER_ONE)
    return _widened(
        lambda noise: PosteriorSample(name, sensitivity, noise, step, size),
        temperature,
        lambda s: s.epsilon_sum <= epsilon,
    )


def responses(name: str, budget: Budget, *, symbols: int, cells: int, size: int) -> Responses:
    """Randomized response with the largest ε per cell that fits the budget, found by bisection.

    At δ = 0 that is ε/cells. At δ > 0 it may be more for many cells, by their zCDP bound.

    Args:
        budget: any.
        symbols, cells, size: of ``Responses``.
    """

    def event(exponent: float) -> Responses:
        return Responses(name, symbols, exponent, cells, size)

    def fits(exponent: float) -> bool:
        return price(event(exponent)).epsilon_units(budget.delta) <= budget.epsilon_units

    # Almost uniform over the symbols: a smaller ε is lost in floating-point rounding.
    low, high = _exponent(_FAINTEST, symbols), LARGEST
    if not fits(low):
        raise BudgetError(f"{name}: ε is too small for {cells} cells; raise it, or let people answer fewer")
    if fits(high):
        return event(high)
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if fits(middle) else (low, middle)
    return event(low)


def _exponent(epsilon: float, symbols: int) -> float:
    """−ln of the probability of an untrue answer, with the true one e^ε times as likely as each other."""
    return math.log1p(math.exp(min(epsilon, 2 * LARGEST)) / (symbols - 1))


def _require_unit(name: str, units: int) -> None:
    if units < 1:
        raise BudgetError(f"{name}: its part of the budget is less than one unit; give it more")


def _widened(event: Callable[[float], _Event], noise: float, fits: Callable[[Spent], bool]) -> _Event:
    while not fits(price(event(noise))):
        noise = math.nextafter(noise, math.inf)
    return event(noise)


def whole(owner: str, split: Mapping[str, float]) -> dict[str, Fraction]:
    """Return the parts of a split as exact fractions, scaled down if rounding lifts their sum above 1."""
    exact = {name: Fraction(part) for name, part in split.items()}
    total = sum(exact.values())
    if not exact or min(exact.values()) <= 0 or total > 1 + Fraction(1, 10**9):
        raise BudgetError(f"{owner}: parts must be positive and add to at most 1, not {float(total):.6g}")
    return {name: part / max(total, 1) for name, part in exact.items()}
