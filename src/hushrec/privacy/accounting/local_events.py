"""Frozen descriptions of local randomizers, which randomize each person's row separately before any sum.

Their loss is a pure ε: that of one *cell* of a row, or one *slot* of a profile, times the number of cells or
slots in which two permitted rows can differ.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Never

import numpy as np

from hushrec.errors import BudgetError
from hushrec.figures import is_number
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.events import Event

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
