"""Frozen descriptions of what each mechanism does to the data. The accountant prices them.

Gaussian and Laplace noise is *rounded*: an integer n of grid steps is released as n + round(X) with X
continuous. For integer n this equals round(n + X), which is post-processing of the continuous mechanism, so
the bounds of the continuous mechanism apply unchanged.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.local_events import Responses, Substitutions

FINEST, COARSEST = 0.1, 2.0**50
"""Range of noise widths, in grid steps, that the sampler draws exactly."""
ODDS = 2**32
"""Sampling rates are multiples of 1/ODDS, so that they can be drawn exactly."""
EVERY_RATING = 0
"""Size of a vector with an entry for every rating: public under ``replace``, but not known to the plan."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Normal noise on every entry of a vector of bounded L2 sensitivity.

    Args:
        name: the measurement's name, unique in its plan.
        sensitivity: Δ₂, the largest L2 distance between neighbours, in the quantity's units.
        sigma: standard deviation of the noise, in the same units.
        step: width of the quantity's grid, in the same units.
        size: number of entries, or ``EVERY_RATING``.

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
class SubsampledGaussian:
    """Normal noise on a sum over a random sample of people. The grant draws the sample and keeps it secret.

    Each person takes part with probability ``rate``, independently. Only for unit ``user`` under adjacency
    ``add-remove``.

    Args:
        name: the measurement's name, unique in its plan.
        sensitivity: Δ₂, the largest L2 norm of what one person who takes part adds to the sum.
        sigma: standard deviation of the noise, in the same units.
        step: width of the quantity's grid, in the same units.
        size: number of entries.
        rate: probability of taking part, a multiple of 1/ODDS in (0, 1); see ``drawn_rate``.

    Raises:
        BudgetError: A number is not positive, the noise is too narrow or too wide for the grid, or the rate
            cannot be drawn exactly.

    Privacy: public.
    """

    mechanism: ClassVar = "subsampled gaussian"
    norm: ClassVar = "l2"

    name: str
    sensitivity: float
    sigma: float
    step: float
    size: int
    rate: float

    def __post_init__(self) -> None:
        _check(self.name, self.sensitivity, self.sigma, self.step, self.size)
        if not 0 < self.rate < 1 or not (self.rate * ODDS).is_integer():
            raise BudgetError(
                f"{self.name}: the rate must be a multiple of 2^-32 above 0 and below 1; round it with "
                "drawn_rate(rate), or use a Gaussian measurement of everybody"
            )

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
        sensitivity: Δ₁, the largest L1 distance between neighbours, in the quantity's units.
        scale: scale b of the noise, in the same units; its density is exp(−|x|/b)/2b.
        step: width of the quantity's grid, in the same units.
        size: number of entries, or ``EVERY_RATING``.

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


@dataclass(frozen=True, slots=True)
class Spherical:
    """Noise of density ∝ exp(−‖b‖₂/s) on every row of a matrix (Chaudhuri, Monteleoni & Sarwate 2011, §3).

    For rows of d entries its norm follows Gamma(d, s) and its direction is uniform. It is drawn in floating
    point, so it is never private and only serves to reproduce published algorithms.

    Args:
        name: the measurement's name, unique in its plan.
        sensitivity: Δ₂, the largest L2 distance between neighbours; infinite if no bound is known.
        scale: scale s of the noise, in the same units.
        step: width of the quantity's grid, in the same units.
        size: number of entries, or ``EVERY_RATING``.

    Raises:
        BudgetError: A number is not positive, or the noise is too narrow or too wide for the grid.

    Privacy: public.
    """

    mechanism: ClassVar = "spherical"
    norm: ClassVar = "l2"

    name: str
    sensitivity: float
    scale: float
    step: float
    size: int

    def __post_init__(self) -> None:
        unbounded = self.sensitivity == math.inf
        _check(self.name, 1.0 if unbounded else self.sensitivity, self.scale, self.step, self.size)

    @property
    def noise(self) -> float:
        """The mechanism's noise parameter, s."""
        return self.scale

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise: √2 · s for rows of one entry; √(d + 1) · s for rows of d."""
        return math.sqrt(2) * self.scale


@dataclass(frozen=True, slots=True)
class PosteriorSample:
    """One draw from a density ∝ exp(−loss/T) times a public one (Wang, Fienberg & Smola 2015, Theorem 1).

    Its loss is the pure ε = Δ/T if the draw has that density. A Markov chain has it once it has converged.

    Args:
        name: the measurement's name, unique in its plan.
        sensitivity: Δ, so that neighbours' normalised densities differ by a factor of at most e^(Δ/T). If
            every person adds a loss in [0, B], it is B under adjacency ``add-remove`` and 2 B under
            ``replace``.
        temperature: T, in the units of the loss.
        step: width of the grid that the draw is published on.
        size: number of entries.

    Raises:
        BudgetError: A number is not positive.

    Privacy: public.
    """

    mechanism: ClassVar = "posterior sample"
    norm: ClassVar = "loss"

    name: str
    sensitivity: float
    temperature: float
    step: float
    size: int

    def __post_init__(self) -> None:
        _check_numbers(self.name, self.sensitivity, self.temperature, self.step, self.size)

    @property
    def noise(self) -> float:
        """The mechanism's noise parameter, T."""
        return self.temperature

    @property
    def deviation(self) -> float:
        """The temperature. The spread of the draw depends on the ratings."""
        return self.temperature


Event = Gaussian | SubsampledGaussian | Laplace | Spherical | PosteriorSample | Responses | Substitutions


def drawn_rate(rate: float) -> float:
    """The largest rate that can be drawn exactly and does not exceed ``rate``.

    Privacy: public.
    """
    return math.floor(rate * ODDS) / ODDS


def _check(name: str, sensitivity: float, noise: float, step: float, size: int) -> None:
    _check_numbers(name, sensitivity, noise, step, size)
    if not FINEST <= noise / step <= COARSEST:
        raise BudgetError(
            f"{name}: noise of {noise / step:.3g} grid steps cannot be drawn exactly; choose a step between "
            f"{noise / COARSEST:.3g} and {noise / FINEST:.3g}"
        )


def _check_numbers(name: str, sensitivity: float, noise: float, step: float, size: int) -> None:
    for what, value in (("sensitivity", sensitivity), ("noise", noise), ("step", step)):
        if not 0 < value < math.inf:
            raise BudgetError(
                f"{name}: the {what} must be a positive number; without noise nothing is private"
            )
    if size < 1 and size != EVERY_RATING:
        raise BudgetError(f"{name}: a measurement needs at least one entry; set its size, or EVERY_RATING")
