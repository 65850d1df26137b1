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
    """An owner's figure as the decimal that they wrote: 0.3 is 3/10, and not the double nearest to it."""
    return Fraction(repr(float(figure)))


def shown(units: int) -> float:
    """The smallest float that, taken as an allowance, allows ``units``: the decimal that it is written as is
    not below them, so that 3 · 10¹¹ units are 0.3."""
    return written_above(Fraction(units, PER_ONE))


def written_above(value: Fraction) -> float:
    """The smallest float whose decimal, as it is written, is not below ``value``."""
    nearest = float(value)
    return nearest if as_written(nearest) >= value else math.nextafter(nearest, math.inf)


def float_above(value: Fraction) -> float:
    """The smallest float that is not below ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """The largest float that is not above ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
