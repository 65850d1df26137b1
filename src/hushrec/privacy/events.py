"""What a mechanism does to the data, as frozen descriptions. Their arithmetic is the accountant's.

Both kinds of noise are *rounded*: integers n of grid steps are released as n + round(X) with X continuous.
For integer n this is round(n + X), post-processing of the continuous mechanism, so the bounds of that one
hold as they stand.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from hushrec.errors import BudgetError

FINEST, COARSEST = 0.1, 2.0**50
"""Width of noise, in grid steps, that the sampler draws exactly."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Normal noise on every entry of a vector of bounded L2 sensitivity.

    Args:
        name: the measurement's name, unique in its plan.
        sensitivity: Δ₂, the largest L2 distance between neighbours, in the quantity's own units.
        sigma: standard deviation of the noise, in the same units.
        step: width of the grid that the quantity lives on, in the same units.
        size: number of entries.

    Raises:
        BudgetError: A number is not positive, or the noise is too narrow or too wide for the grid.

    Privacy: public.
    """

    mechanism: ClassVar = "gaussian"
    norm: ClassVar = "l2"

    name: str
    sensitivity: float
    sigma: float
    step: float
    size: int

    def __post_init__(self) -> None:
        _check(self.name, self.sensitivity, self.sigma, self.step, self.size)

    @property
    def noise(self) -> float:
        """The mechanism's noise parameter, σ."""
        return self.sigma

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise."""
        return self.sigma


@dataclass(frozen=True, slots=True)
class Laplace:
    """Laplace noise on every entry of a vector of bounded L1 sensitivity.

    Args:
        name: the measurement's name, unique in its plan.
        sensitivity: Δ₁, the largest L1 distance between neighbours, in the quantity's own units.
        scale: scale b of the noise, in the same units; its density is exp(−|x|/b)/2b.
        step: width of the grid that the quantity lives on, in the same units.
        size: number of entries.

    Raises:
        BudgetError: A number is not positive, or the noise is too narrow or too wide for the grid.

    Privacy: public.
    """

    mechanism: ClassVar = "laplace"
    norm: ClassVar = "l1"

    name: str
    sensitivity: float
    scale: float
    step: float
    size: int

    def __post_init__(self) -> None:
        _check(self.name, self.sensitivity, self.scale, self.step, self.size)

    @property
    def noise(self) -> float:
        """The mechanism's noise parameter, b."""
        return self.scale

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, √2 · b."""
        return math.sqrt(2) * self.scale


Event = Gaussian | Laplace


def _check(name: str, sensitivity: float, noise: float, step: float, size: int) -> None:
    for what, value in (("sensitivity", sensitivity), ("noise", noise), ("step", step)):
        if not 0 < value < math.inf:
            raise BudgetError(
                f"{name}: the {what} must be a positive number; without noise nothing is private"
            )
    if size < 1:
        raise BudgetError(f"{name}: a measurement has at least one entry")
    if not FINEST <= noise / step <= COARSEST:
        raise BudgetError(
            f"{name}: noise of {noise / step:.3g} grid steps cannot be drawn exactly; choose a step between "
            f"{noise / COARSEST:.3g} and {noise / FINEST:.3g}"
        )
