"""Privacy loss counted in integers: one unit is 1e-12 of ρ, or of ε.

Integers add without rounding, so a ledger's total is the same in every order and on every machine. What is
rounded is rounded once, where a real number becomes a count, and always to the side of the protected people:
costs up, allowances down.

Privacy: public.
"""

import math
from fractions import Fraction

PER_ONE = 10**12
"""Units in a privacy loss of 1."""

LARGEST = 2**62
"""More units than any ledger holds; twice as many still fit the 64 bits of a database column."""


def cost(loss: Fraction) -> int:
    """Units that a loss is charged: the exact value, rounded up."""
    return math.ceil(loss * PER_ONE)


def allowance(amount: float) -> int:
    """Units that an owner's figure allows, rounded down."""
    return math.floor(as_written(amount) * PER_ONE)


def as_written(figure: float) -> Fraction:
    """An owner's figure as the decimal that he wrote: 0.3 is 3/10, and not the double nearest to it."""
    return Fraction(repr(float(figure)))


def shown(units: int) -> float:
    """A float that is not below ``units`` and, taken as an allowance, allows them: for people to read."""
    figure = float_above(Fraction(units, PER_ONE))
    return figure if allowance(figure) >= units else math.nextafter(figure, math.inf)


def float_above(value: Fraction) -> float:
    """The smallest float that is not below ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """The largest float that is not above ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
