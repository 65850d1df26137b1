"""Local randomizers as frozen descriptions: every person's row is randomized by itself, before anybody sums.

Their loss is pure. It is that of one *cell* of a row, or one *slot* of a profile, times the number of them in
which two permitted rows can differ.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from hushrec.errors import BudgetError

MOST_SYMBOLS = 257
"""Of a cell: 256 marks, and nothing."""
LEAST, LARGEST = 1e-9, 300.0
"""Exponents that are drawn."""

_DIGITS = 60
_ERROR = Fraction(1, 10**40)
"""Above the rounding of ``cell_loss``."""
_FINE = 2.0**-11
"""Step of ``cell_rho`` in ln α, and about what part of it is too much."""
_ROUNDING = 2.0**-38
"""Above the relative error of its formulas in floating point, whose exponents stay below 700."""


@dataclass(frozen=True, slots=True)
class Responses:
    """Every answered cell of a row by k-ary randomized response (Warner 1965; Kairouz, Oh & Viswanath 2014).

    A cell holds one of ``symbols`` symbols, one of which stands for nothing. It is answered by each of the
    others with chance e^−exponent/(symbols − 1), and truly otherwise.

    Args:
        name: the measurement's name, unique in its plan.
        symbols: how many there are, from 2 to 257.
        exponent: −ln of the chance that a cell is not answered truly.
        cells: in how many answered cells two permitted rows differ at most.
        size: how many cells of a row are answered.

    Raises:
        BudgetError: There are no such cells, or as ``cell_loss``.

    Privacy: public.
    """

    mechanism: ClassVar = "randomized response"
    norm: ClassVar = "cells"
    step: ClassVar = 1.0

    name: str
    symbols: int
    exponent: float
    cells: int
    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= self.size:
            raise BudgetError(f"{self.name}: a row has cells, and two rows differ in some of them")
        cell_loss(self.symbols, self.exponent)

    @property
    def loss(self) -> Fraction:
        """ε of one cell, rounded up: (1 − p)/(p/(symbols − 1)) = e^ε for p = e^−exponent."""
        return cell_loss(self.symbols, self.exponent)

    @property
    def expected(self) -> float:
        """Mean privacy loss of one cell: ε times how much likelier a true answer is than any one other."""
        epsilon = float(self.loss)
        return self.noise / (self.symbols - 1) * math.expm1(epsilon) * epsilon

    @property
    def sensitivity(self) -> float:
        """Number of cells in which neighbours differ at most."""
        return float(self.cells)

    @property
    def noise(self) -> float:
        """Chance that a cell is not answered truly."""
        return math.exp(-self.exponent)

    @property
    def deviation(self) -> float:
        """The same."""
        return self.noise


@dataclass(frozen=True, slots=True)
class Substitutions:
    """Every item of a profile kept, or replaced by another, by a law of its own (Guerraoui et al. 2015).

    Args:
        name: the measurement's name, unique in its plan.
        per_slot: bound on ln(P(out = j | in = i)/P(out = j | in = i′)) over all items.
        replaced: chance that an item is not simply kept.
        cells: how many slots a profile has at most.
        size: number of items.

    Raises:
        BudgetError: A number is not positive.

    Privacy: public.
    """

    mechanism: ClassVar = "item substitution"
    norm: ClassVar = "slots"
    step: ClassVar = 1.0

    name: str
    per_slot: float
    replaced: float
    cells: int
    size: int

    def __post_init__(self) -> None:
        if not (0 < self.per_slot < math.inf and 0 < self.replaced <= 1 and 1 <= self.cells <= self.size):
            raise BudgetError(
                f"{self.name}: a law that replaces nothing, or not every item by every other, has no finite ε"
            )

    @property
    def loss(self) -> Fraction:
        """ε of one slot."""
        return Fraction(self.per_slot)

    @property
    def sensitivity(self) -> float:
        """Number of slots in which neighbours differ at most."""
        return float(self.cells)

    @property
    def noise(self) -> float:
        """Chance that an item is not simply kept."""
        return self.replaced

    @property
    def deviation(self) -> float:
        """The same."""
        return self.replaced


@lru_cache(maxsize=1024)
def cell_loss(symbols: int, exponent: float) -> Fraction:
    """ε of one response: ln((symbols − 1)(e^exponent − 1)), rounded up.

    Raises:
        BudgetError: A true answer is not the likeliest one, or not so rarely or so often given as can be
            drawn; or a cell has not 2 to 257 symbols.

    Privacy: public.
    """
    if not 2 <= symbols <= MOST_SYMBOLS:
        raise BudgetError(f"a cell has 2 to {MOST_SYMBOLS} symbols, here {symbols}; choose a coarser scale")
    if LEAST <= exponent <= LARGEST:
        with localcontext(prec=_DIGITS):
            odds = (symbols - 1) * (Decimal(exponent).exp() - 1)
            if odds > 1:
                return Fraction(odds.ln()) + _ERROR
    raise BudgetError(
        f"untrue answers with chance e^-{exponent:.6g} would tell nothing, or everything; choose another ε"
    )


@lru_cache(maxsize=1024)
def cell_rho(symbols: int, exponent: float) -> Fraction:
    """zCDP loss of one response, sup D_α/α over α > 1, rounded up.

    With β = α − 1, the Rényi divergence of order α of the answers of two symbols (Mironov 2017, Definition 3)
    is

        D_α = ln(1 + (1 − e^−βε)(e^αε − 1)/(e^ε + symbols − 1))/β ≤ ε,

    and does not fall with α. So D_α/α is at most D_b/a for α in [a, b], which is taken over a grid from 1 on,
    and ε/α beyond. It is about ε²/symbols for small ε and few symbols, where the textbook has ε²/2.

    Raises:
        BudgetError: As ``cell_loss``.

    Privacy: public.
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
