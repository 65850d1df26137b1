"""Frozen descriptions of what each mechanism does to the data, with its price and its names.

Gaussian and Laplace noise is *rounded*: an integer n of grid steps is released as n + round(X) with X
continuous. For integer n this equals round(n + X), which is post-processing of the continuous mechanism, so
the bounds of the continuous mechanism apply unchanged.

Local randomizers randomize each person's row separately before any sum. Their loss is a pure ε: that of one
*cell* of a row, or one *slot* of a profile, times the number of cells or slots in which two permitted rows
can differ.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self

import numpy as np

from hushrec.documents.words import Clause
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, divergences, laplace_loss, pure_loss
from hushrec.text import is_number, whole

FINEST, COARSEST = 0.1, 2.0**50
"""Range of noise widths, in grid steps, that the sampler draws exactly."""
ODDS = 2**32
"""Sampling rates are multiples of 1/ODDS, so that they can be drawn exactly."""
EVERY_RATING = 0
"""Size of a vector with an entry for every rating: public under ``replace``, but not known to the plan."""


class Event(ABC):
    """One measurement, and all that a plan, a ledger, a statement and a grant ask about its mechanism.

    A new mechanism is a subclass with a price and names. If its noise is added to a sum, it extends
    ``AdditiveNoise``, and it needs a kernel and a line in ``DRAWS`` of ``privacy/grant.py``. Readers of
    releases do not know events, so ``SYMBOLS`` in ``documents/measured.py`` names its symbols.

    Attributes:
        mechanism: the mechanism's name in tables, ledgers and statements.
        norm: in which the sensitivity is a bound.
        sensitivity: Δ, the largest distance between neighbours, in the quantity's units.
        noise: the mechanism's noise parameter.
        step: width of the quantity's grid, in the same units.
        size: number of entries, or ``EVERY_RATING``.
        rate: probability that each person takes part.
        branch: the branch of the plan that it belongs to; empty if it is always made.
        doors: names of the grant's methods that release it.
        condition: the condition under which its price holds; None without any.
        assumes: what a statement says that the price assumes.
    """

    __slots__ = ()

    norm: ClassVar[str]
    condition: ClassVar[Clause | None] = None
    assumes: ClassVar[tuple[Clause, ...]] = ()

    if TYPE_CHECKING:  # at run time, a dataclass would take an inherited property for its field's default

        @property
        def name(self) -> str: ...
        @property
        def mechanism(self) -> str: ...
        @property
        def sensitivity(self) -> float: ...
        @property
        def noise(self) -> float: ...
        @property
        def step(self) -> float: ...
        @property
        def size(self) -> int: ...
        @property
        def doors(self) -> tuple[str, ...]: ...

    @property
    def rate(self) -> float:
        """Probability that each person takes part."""
        return 1.0

    @property
    def branch(self) -> str:
        """The branch of the plan that it belongs to; empty if it is always made."""
        return ""

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise; the noise parameter if nothing is added."""
        return self.noise

    @abstractmethod
    def spent(self) -> Spent:
        """The price, in exact rational arithmetic, rounded up."""

    @abstractmethod
    def scaled(self, weight: Fraction) -> "Event":
        """The event with its sensitivity times a weight, rounded up, and without a name.

        Args:
            weight: in (0, 1], by which a user multiplies all that they add.
        """

    def facts(self) -> dict[str, Any]:
        """The event as JSON values: what a plan's key and a ledger's record contain."""
        facts: dict[str, Any] = {
            "measurement": self.name,
            "mechanism": self.mechanism,
            "sensitivity": float(self.sensitivity),
            "noise": float(self.noise),
            "step": float(self.step),
            "size": int(self.size),
        }
        if self.rate < 1:
            facts["rate"] = float(self.rate)
        if self.branch:
            facts["branch"] = self.branch
        return facts


@dataclass(frozen=True, slots=True)
class Calibrated(Event):
    """An event whose price depends on Δ/noise.

    Args:
        sensitivity: Δ, in the quantity's units.
        noise: the noise parameter, in the same units.
        step: width of the quantity's grid, in the same units.
        size: number of entries, or ``EVERY_RATING``.
    """

    name: str
    sensitivity: float
    noise: float
    step: float
    size: int

    def __post_init__(self) -> None:
        self._check_numbers(self.sensitivity)
        self._check_grid()

    @property
    def ratio(self) -> Fraction:
        """Δ/noise."""
        return Fraction(self.sensitivity) / Fraction(self.noise)

    def scaled(self, weight: Fraction) -> Self:
        """The event with its sensitivity times a weight, rounded up, and without a name."""
        return replace(
            self, name="", sensitivity=fixed_point.float_above(Fraction(self.sensitivity) * weight)
        )

    def _check_numbers(self, sensitivity: float) -> None:
        for what, value in (("sensitivity", sensitivity), ("noise", self.noise), ("step", self.step)):
            if not is_number(value) or value <= 0:
                raise BudgetError(
                    f"{self.name}: the {what} must be a positive number; without noise nothing is private"
                )
        if self.size != EVERY_RATING:
            whole(self.size, f"{self.name}: the number of entries, if not EVERY_RATING,", 1, BudgetError)

    def _check_grid(self) -> None:
        if not FINEST <= self.noise / self.step <= COARSEST:
            raise BudgetError(
                f"{self.name}: noise of {self.noise / self.step:.3g} grid steps cannot be drawn exactly; "
                f"choose a step between {self.noise / COARSEST:.3g} and {self.noise / FINEST:.3g}"
            )


class AdditiveNoise(Calibrated):
    """Independent noise on every entry of a vector of bounded sensitivity."""

    __slots__ = ()

    @property
    def doors(self) -> tuple[str, ...]:
        """Its one method of the grant."""
        return ("measure",)


@dataclass(frozen=True, slots=True)
class Gaussian(AdditiveNoise):
    """Normal noise on a sum of bounded L2 sensitivity, over everybody or over a random sample of people.

    The noise has standard deviation σ = ``noise``. Δ₂ is the largest L2 distance between neighbours; for a
    sample, the largest L2 norm of what one person who takes part adds to the sum. The grant draws the sample
    and keeps it secret. Samples are only for unit ``user`` under adjacency ``add-remove``.

    Args:
        rate: probability that each person takes part, independently; a multiple of 1/ODDS in (0, 1], see
            ``drawn_rate``.
        branch: the branch of the plan that it belongs to; empty if it is always made. A sample is in none.
    """

    norm: ClassVar[str] = "l2"

    rate: float = 1.0
    branch: str = ""

    def __post_init__(self) -> None:
        AdditiveNoise.__post_init__(self)
        if not is_number(self.rate) or not 0 < self.rate <= 1 or self.rate * ODDS % 1:
            raise BudgetError(
                f"{self.name}: the rate must be a multiple of 2^-32 above 0 and at most 1; round it with "
                "drawn_rate(rate)"
            )
        if self.branch and self.rate < 1:
            raise BudgetError(f"{self.name}: a sample belongs to no branch; let everybody take part")

    @property
    def mechanism(self) -> str:
        """Whether everybody takes part, or a sample."""
        return "gaussian" if self.rate == 1 else "subsampled gaussian"

    @property
    def doors(self) -> tuple[str, ...]:
        """A sample is drawn before its sum is released."""
        return ("measure",) if self.rate == 1 else ("sample", "measure")

    def spent(self) -> Spent:
        """ρ = Δ²/(2σ²), or the divergences of a sample."""
        if self.rate < 1:
            return Spent(curve=divergences(self.ratio, self.rate))
        return Spent(rho=fixed_point.cost(self.ratio**2 / 2))


@dataclass(frozen=True, slots=True)
class Laplace(AdditiveNoise):
    """Laplace noise of density exp(−|x|/b)/2b, b = ``noise``, on a sum of bounded L1 sensitivity Δ₁."""

    mechanism: ClassVar[str] = "laplace"
    norm: ClassVar[str] = "l1"
    doors: ClassVar[tuple[str, ...]] = ("measure", "measure_matrix")

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, √2 · b."""
        return math.sqrt(2) * self.noise

    def spent(self) -> Spent:
        """ε = Δ/b and the zCDP loss ε + e^−ε − 1.

        Over a vector the losses of the entries add to at most that of one entry that moves by all of Δ,
        because the loss is convex and 0 at 0.
        """
        return laplace_loss(self.ratio)


@dataclass(frozen=True, slots=True)
class PosteriorSample(Calibrated):
    """One draw from a density ∝ exp(−loss/T) times a public one (Wang, Fienberg & Smola 2015, Theorem 1).

    Its loss is the pure ε = Δ/T if the draw has that density. A Markov chain has it once it has converged. T,
    in the units of the loss, is ``noise``; the spread of the draw depends on the ratings. Neighbours'
    normalised densities differ by a factor of at most e^(Δ/T): if every person adds a loss in [0, B], Δ is B
    under adjacency ``add-remove`` and 2 B under ``replace``. The draw is published on a grid of width
    ``step``, which does not restrict T.
    """

    mechanism: ClassVar[str] = "posterior sample"
    norm: ClassVar[str] = "loss"
    doors: ClassVar[tuple[str, ...]] = ("sample_key",)
    condition: ClassVar[Clause] = Clause("convergence.chain")
    assumes: ClassVar[tuple[Clause, ...]] = (Clause("assumes.converged"), Clause("assumes.floating"))

    def __post_init__(self) -> None:
        self._check_numbers(self.sensitivity)

    def spent(self) -> Spent:
        """ε = Δ/T."""
        return pure_loss(self.ratio)


def drawn_rate(rate: float) -> float:
    """The largest rate that can be drawn exactly and does not exceed ``rate``."""
    return math.floor(rate * ODDS) / ODDS


MOST_SYMBOLS = 257
"""Largest number of symbols of a cell: 256 marks and the empty symbol."""
LEAST, LARGEST = 1e-9, 300.0
"""Range of exponents that can be drawn."""

_DIGITS = 60  # of decimal arithmetic; the error below is far larger
_ERROR = Fraction(1, 10**40)
"""Bound on the rounding error of ``cell_loss``."""
_FINE = 2.0**-11
"""Grid step of ``cell_rho`` in ln α; the result is too large by about this fraction."""
_ROUNDING = 2.0**-38
"""Bound on the relative floating-point error of ``cell_rho``, whose exponents stay below 700."""


class LocalRandomizer(Event):
    """A randomizer of single rows: its loss is that of one cell, or slot, times how many may differ.

    Attributes:
        cells: largest number of cells or slots in which two permitted rows differ.
    """

    __slots__ = ()

    step: ClassVar[float] = 1.0
    doors: ClassVar[tuple[str, ...]] = ("randomize",)

    if TYPE_CHECKING:  # see ``Event``

        @property
        def cells(self) -> int: ...

    @property
    def sensitivity(self) -> float:
        """Largest number of cells or slots in which neighbours differ."""
        return float(self.cells)

    @property
    @abstractmethod
    def loss(self) -> Fraction:
        """ε of one cell or slot, rounded up."""

    @property
    def rho(self) -> Fraction:
        """zCDP loss of one cell or slot, rounded up: min(ε²/2, ε), see ``pure_loss``."""
        return min(self.loss**2 / 2, self.loss)

    def spent(self) -> Spent:
        """The losses of one cell or slot, times how many may differ."""
        return Spent(
            epsilon_sum=fixed_point.cost(self.cells * self.loss),
            pure_rho=fixed_point.cost(self.cells * self.rho),
        )

    def scaled(self, weight: Fraction) -> Never:
        """Not possible: a row has no part."""
        raise BudgetError(
            f"{self.name}: a row is randomized as a whole and cannot be weighted; drop personal ε"
        )


@dataclass(frozen=True, slots=True)
class Responses(LocalRandomizer):
    """K-ary randomized response on every answered cell of a row (Warner 1965; Kairouz, Oh & Viswanath 2014).

    A cell holds one of ``symbols`` symbols, one of which means empty. Each other symbol is reported with
    probability e^−exponent/(symbols − 1), and the true one otherwise.

    Args:
        symbols: number of symbols, from 2 to 257.
        exponent: −ln of the probability of an untrue answer.
        cells: largest number of answered cells in which two permitted rows differ.
        size: number of answered cells of a row.
    """

    mechanism: ClassVar[str] = "randomized response"
    norm: ClassVar[str] = "cells"

    name: str
    symbols: int
    exponent: float
    cells: int
    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= self.size:
            raise BudgetError(f"{self.name}: cells must be from 1 to size, the answered cells of a row")
        cell_loss(self.symbols, self.exponent)

    @property
    def loss(self) -> Fraction:
        """ε of one cell, rounded up: (1 − p)/(p/(symbols − 1)) = e^ε for p = e^−exponent."""
        return cell_loss(self.symbols, self.exponent)

    @property
    def rho(self) -> Fraction:
        """zCDP loss of one cell, rounded up; well below ε²/2 for many symbols."""
        return cell_rho(self.symbols, self.exponent)

    @property
    def expected(self) -> float:
        """Mean privacy loss of one cell: ε · (P(true answer) − P(one given untrue answer))."""
        epsilon = float(self.loss)
        return self.noise / (self.symbols - 1) * math.expm1(epsilon) * epsilon

    @property
    def noise(self) -> float:
        """Probability of an untrue answer."""
        return math.exp(-self.exponent)

    def facts(self) -> dict[str, Any]:
        return Event.facts(self) | {"symbols": self.symbols, "exponent": self.exponent}


@dataclass(frozen=True, slots=True)
class Substitutions(LocalRandomizer):
    """Every item of a profile is kept or replaced, independently of the others (Guerraoui et al. 2015).

    Args:
        per_slot: bound on ln(P(out = j | in = i)/P(out = j | in = i′)) over all items.
        noise: probability that an item is not simply kept.
        cells: largest number of slots of a profile.
    """

    mechanism: ClassVar[str] = "item substitution"
    norm: ClassVar[str] = "slots"

    name: str
    per_slot: float
    noise: float
    cells: int
    size: int

    def __post_init__(self) -> None:
        if not (0 < self.per_slot < math.inf and 0 < self.noise <= 1 and 1 <= self.cells <= self.size):
            raise BudgetError(
                f"{self.name}: a law that never replaces an item, or not every item by every other, has no "
                "finite ε; choose other probabilities"
            )

    @property
    def loss(self) -> Fraction:
        return Fraction(self.per_slot)

    def facts(self) -> dict[str, Any]:
        return Event.facts(self) | {"per_slot": self.per_slot}


@lru_cache(maxsize=1024, typed=True)
def cell_loss(symbols: int, exponent: float) -> Fraction:
    """ε of one response: ln((symbols − 1)(e^exponent − 1)), rounded up."""
    counted = is_number(symbols) and not symbols % 1
    if not counted or not 2 <= symbols <= MOST_SYMBOLS:
        raise BudgetError(
            f"a cell must have 2 to {MOST_SYMBOLS} symbols, not {symbols}; choose a coarser scale"
        )
    if is_number(exponent) and LEAST <= exponent <= LARGEST:
        with localcontext(prec=_DIGITS):
            odds = (symbols - 1) * (Decimal(exponent).exp() - 1)
            if odds > 1:
                return Fraction(odds.ln()) + _ERROR
    raise BudgetError(
        f"untrue answers with chance e^-{exponent} would reveal nothing, or everything; choose another ε"
    )


@lru_cache(maxsize=1024)
def cell_rho(symbols: int, exponent: float) -> Fraction:
    """zCDP loss of one response, sup D_α/α over α > 1, rounded up.

    With β = α − 1, the Rényi divergence of order α of the answers of two symbols (Mironov 2017, Definition 3)
    is

        D_α = ln(1 + (1 − e^−βε)(e^αε − 1)/(e^ε + symbols − 1))/β ≤ ε,

    and does not decrease with α. So D_α/α is at most D_b/a for α in [a, b]. The maximum is taken over a grid
    that starts at 1, with ε/α beyond it. For small ε and few symbols it is about ε²/symbols; the textbook
    bound is ε²/2.
    """
    loss = cell_loss(symbols, exponent)
    epsilon = math.nextafter(float(loss), math.inf)  # a larger ε is never cheaper
    # Up to (e^ε + symbols − 1)/(e^ε − 1): beyond, ε/α is below D_1.
    farthest = max(_FINE, math.log1p(symbols / math.expm1(epsilon)))
    order = np.exp(np.linspace(0.0, farthest, 1 + math.ceil(farthest / _FINE)))
    odds = -np.expm1((1 - order) * epsilon) * np.expm1(order * epsilon) / (math.expm1(epsilon) + symbols)
    divergence = np.log1p(odds[1:]) / (order[1:] - 1)
    largest = max(float((divergence / order[:-1]).max()), epsilon / float(order[-1]))
    return min(Fraction(largest * (1 + _ROUNDING)), loss**2 / 2, loss)
