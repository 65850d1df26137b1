"""Privacy loss as integers: one unit is 1e-12 of μ² or ε.

Integers add without rounding, so a ledger's total does not depend on order or machine. Rounding happens once,
where a real number becomes a count, and always in favour of the protected people: costs up, allowances down.
"""

import math
from fractions import Fraction

from hushrec.errors import BudgetError
from hushrec.text import is_number

PER_ONE = 10**12
"""Units in a privacy loss of 1."""

LARGEST = 2**62
"""More units than any ledger holds; twice as many still fit a 64-bit database column."""


def cost(loss: Fraction) -> int:
    """Units charged for a loss: the exact value, rounded up."""
    return math.ceil(loss * PER_ONE)


def allowance(amount: float) -> int:
    """Units that a given figure allows, rounded down."""
    return math.floor(as_written(amount) * PER_ONE)


def as_written(figure: float) -> Fraction:
    """A figure as the decimal that was written: 0.3 is 3/10, not the nearest double."""
    if not is_number(figure):
        raise BudgetError("a privacy figure is a finite number, not text or a truth value; choose another")
    return Fraction(repr(float(figure)))


def shown(units: int) -> float:
    """The smallest float that, as an allowance, allows ``units``: its printed decimal is not below them. So
    3 · 10¹¹ units are 0.3."""
    return written_above(Fraction(units, PER_ONE))


def root_above(units: int) -> float:
    """The square root of an amount in ``units``, as ``shown``: its printed decimal is not below it."""
    root = Fraction(math.isqrt(units * PER_ONE - 1) + 1, PER_ONE) if units else Fraction(0)
    return written_above(root)


def written_above(value: Fraction) -> float:
    """The smallest float whose printed decimal is not below ``value``."""
    nearest = float(value)
    return nearest if as_written(nearest) >= value else math.nextafter(nearest, math.inf)


def written_below(value: Fraction) -> float:
    """The largest float whose printed decimal is not above ``value``."""
    nearest = float(value)
    return nearest if as_written(nearest) <= value else math.nextafter(nearest, -math.inf)


def float_above(value: Fraction) -> float:
    """The smallest float not below ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
