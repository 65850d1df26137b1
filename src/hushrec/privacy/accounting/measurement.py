"""One description of a measurement: listed by a model, priced by the accountant, booked, made, printed.

Gaussian and Laplace noise is *rounded*: an integer n of grid steps is released as n + round(X) with X
continuous. For integer n this equals round(n + X), which is post-processing of the continuous mechanism, so
the bounds of the continuous mechanism apply unchanged.

Local randomizers randomize each person's row separately before any sum. Their loss is that of one *cell* of a
row, or one *slot* of a profile, times the number of cells or slots in which two permitted rows can differ.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Never, Self

from hushrec.documents.fact import Fact
from hushrec.documents.sentences import Assumes, Convergence
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import (
    Spent,
    gaussian_cost,
    laplace_cost,
    pure_cost,
    response_cost,
)
from hushrec.text import is_number, whole

FINEST, COARSEST = 0.1, 2.0**50
"""Range of noise widths, in grid steps, that the sampler draws exactly."""
EVERY_RATING = 0
"""Size of a vector with an entry for every rating: public under ``replace``, but not known to the plan."""
Norm = Literal["l1", "l2"]
"""The norms of sums."""
MECHANISMS = {"l2": "gaussian", "l1": "laplace", "loss": "posterior sample"}
"""The norm in which Δ is a bound → the noise that is calibrated to it."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement: what one privacy unit changes at most, and the noise that hides it.

    A model lists it without noise, ``calibrated`` adds the noise, and a grant makes exactly what was booked.

    - ``l2``: normal noise of standard deviation σ on a sum of bounded L2 sensitivity.
    - ``l1``: Laplace noise of density exp(−|x|/b)/2b on a sum of bounded L1 sensitivity.
    - ``loss``: one draw from a density ∝ exp(−loss/T) times a public one (Wang, Fienberg & Smola 2015,
      Theorem 1). If the draw has that density, which a Markov chain has once it has converged, neighbours'
      densities differ by a factor of at most e^(Δ/T): if every person adds a loss in [0, B], Δ is B under
      adjacency ``add-remove`` and 2 B under ``replace``. The step does not restrict T.

    Args:
        name: unique in its plan.
        sensitivity: Δ, the largest distance between neighbours, in the quantity's units; 0 if neighbouring
            data always have the same values, which are then public and released without noise.
        norm: of the sensitivity.
        step: width of the quantity's grid, in the same units.
        size: number of entries, or ``EVERY_RATING``.
        branch: the branch of the plan that it belongs to; empty if it is always made.
        noise: σ, b or T, in the same units; 0 before it is calibrated.
    """

    name: str
    sensitivity: float
    norm: str
    step: float
    size: int
    branch: str = ""
    noise: float = 0.0

    def __post_init__(self) -> None:
        for what, value, least in (
            ("sensitivity", self.sensitivity, 0.0),
            ("noise", self.noise, 0.0),
            ("step", self.step, math.ulp(0.0)),
        ):
            if not is_number(value) or value < least:
                raise BudgetError(f"{self.name}: the {what} must be a positive number; correct it")
        if self.size != EVERY_RATING:
            whole(self.size, f"{self.name}: the number of entries, if not EVERY_RATING,", 1, BudgetError)
        if self.noise and not self.sensitivity:
            raise BudgetError(f"{self.name}: what neighbours have in common needs no noise; leave it out")
        if self.noise and self.norm in ("l1", "l2") and not FINEST <= self.noise / self.step <= COARSEST:
            raise BudgetError(
                f"{self.name}: noise of {self.noise / self.step:.3g} grid steps cannot be drawn exactly; "
                f"choose a step between {self.noise / COARSEST:.3g} and {self.noise / FINEST:.3g}"
            )

    @property
    def mechanism(self) -> str:
        """Its name in tables, ledgers and statements."""
        return MECHANISMS[self.norm] if self.sensitivity else "exact"

    @property
    def is_exact(self) -> bool:
        """Whether all neighbouring data have the same values, so that they are public."""
        return self.sensitivity == 0

    @property
    def listed(self) -> Self:
        """The measurement as a model lists it, without its noise."""
        return replace(self, noise=0.0)

    @property
    def ratio(self) -> Fraction:
        """Δ/noise."""
        if not self.noise:
            raise BudgetError(f"{self.name}: without noise nothing is private; calibrate it")
        return Fraction(self.sensitivity) / Fraction(self.noise)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise; the noise parameter if nothing is added."""
        return math.sqrt(2) * self.noise if self.norm == "l1" else self.noise

    @property
    def condition(self) -> Fact | None:
        """The condition under which its price holds; None without any."""
        return Convergence.chain() if self.norm == "loss" else None

    @property
    def assumes(self) -> tuple[Fact, ...]:
        """What a statement says that the price assumes."""
        return (Assumes.converged(), Assumes.floating()) if self.norm == "loss" else ()

    def spent(self) -> Spent:
        """The price, rounded up; nothing for what is public."""
        if self.is_exact:
            return Spent()
        if self.norm == "l2":
            return gaussian_cost(self.ratio)
        return laplace_cost(self.ratio) if self.norm == "l1" else pure_cost(self.ratio)

    def scaled(self, weight: Fraction) -> Self:
        """The measurement with its sensitivity times a weight, rounded up, and without a name.

        Args:
            weight: in (0, 1], by which a user multiplies all that they add.
        """
        return replace(
            self, name="", sensitivity=fixed_point.float_above(Fraction(self.sensitivity) * weight)
        )

    def facts(self) -> dict[str, Any]:
        """The measurement as JSON values: what a plan's key and a ledger's record contain."""
        facts: dict[str, Any] = {
            "measurement": self.name,
            "mechanism": self.mechanism,
            "sensitivity": float(self.sensitivity),
            "noise": float(self.noise),
            "step": float(self.step),
            "size": int(self.size),
        }
        if self.branch:
            facts["branch"] = self.branch
        return facts


MOST_SYMBOLS = 257
"""Largest number of symbols of a cell: 256 marks and the empty symbol."""
LEAST, LARGEST = 1e-9, 300.0
"""Range of exponents that can be drawn."""

_DIGITS = 60  # of decimal arithmetic; the error below is far larger
_ERROR = Fraction(1, 10**40)
"""Bound on the rounding error of ``cell_loss``."""


@dataclass(frozen=True, slots=True)
class RowMeasurement(Measurement):
    """A randomizer of single rows; ``sensitivity`` counts the cells or slots in which two may differ."""

    @property
    def listed(self) -> Self:
        """The measurement itself: its law is no noise that could be left out."""
        return self

    @property
    @abstractmethod
    def loss(self) -> Fraction:
        """ε of one cell or slot, rounded up."""

    def spent(self) -> Spent:
        """The loss of one cell or slot, times how many may differ."""
        return pure_cost(self.loss, int(self.sensitivity))

    def scaled(self, weight: Fraction) -> Never:
        """Not possible: a row has no part."""
        raise BudgetError(
            f"{self.name}: a row is randomized as a whole and cannot be weighted; drop personal ε"
        )


@dataclass(frozen=True, slots=True)
class Responses(RowMeasurement):
    """K-ary randomized response on every answered cell of a row (Warner 1965; Kairouz, Oh & Viswanath 2014).

    A cell holds one of ``symbols`` symbols, one of which means empty. Each other symbol is reported with
    probability e^−exponent/(symbols − 1), and the true one otherwise. ``noise`` is the probability of an
    untrue answer, and ``size`` the number of answered cells of a row.

    Args:
        symbols: number of symbols, from 2 to 257.
        exponent: −ln of the probability of an untrue answer.
    """

    symbols: int = 0
    exponent: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.sensitivity <= self.size:
            raise BudgetError(f"{self.name}: cells must be from 1 to size, the answered cells of a row")
        cell_loss(self.symbols, self.exponent)

    @classmethod
    def of(cls, name: str, symbols: int, exponent: float, cells: int, size: int) -> Self:
        """Responses of rows that differ in at most ``cells`` answered cells."""
        cell_loss(symbols, exponent)
        return cls(name, float(cells), "cells", 1.0, size, "", math.exp(-exponent), symbols, exponent)

    @property
    def mechanism(self) -> str:
        return "randomized response"

    @property
    def loss(self) -> Fraction:
        """ε of one cell, rounded up: (1 − p)/(p/(symbols − 1)) = e^ε for p = e^−exponent."""
        return cell_loss(self.symbols, self.exponent)

    def spent(self) -> Spent:
        return response_cost(self.symbols, self.exponent, self.loss, int(self.sensitivity))

    @property
    def expected(self) -> float:
        """Mean privacy loss of one cell: ε · (P(true answer) − P(one given untrue answer))."""
        epsilon = float(self.loss)
        return self.noise / (self.symbols - 1) * math.expm1(epsilon) * epsilon

    def facts(self) -> dict[str, Any]:
        return Measurement.facts(self) | {"symbols": self.symbols, "exponent": self.exponent}


@dataclass(frozen=True, slots=True)
class Substitutions(RowMeasurement):
    """Every item of a profile is kept or replaced, independently of the others (Guerraoui et al. 2015).

    ``noise`` is the probability that an item is not simply kept.

    Args:
        per_slot: bound on ln(P(out = j | in = i)/P(out = j | in = i′)) over all items.
    """

    per_slot: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.per_slot < math.inf and 0 < self.noise <= 1 and 1 <= self.sensitivity <= self.size):
            raise BudgetError(
                f"{self.name}: a law that never replaces an item, or not every item by every other, has no "
                "finite ε; choose other probabilities"
            )

    @classmethod
    def of(cls, name: str, per_slot: float, noise: float, cells: int, size: int) -> Self:
        """Substitutions in profiles of at most ``cells`` slots."""
        return cls(name, float(cells), "slots", 1.0, size, "", noise, per_slot)

    @property
    def mechanism(self) -> str:
        return "item substitution"

    @property
    def loss(self) -> Fraction:
        return Fraction(self.per_slot)

    def facts(self) -> dict[str, Any]:
        return Measurement.facts(self) | {"per_slot": self.per_slot}


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
