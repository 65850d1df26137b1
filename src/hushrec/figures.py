"""How privacy figures are printed: rounded to the safe side, never to the nearest.

A float stands for the decimal that it is written as, so 0.1 prints as 0.1 and not as the double above it.
Budgets are read and losses are counted in the same way (see ``privacy.accounting.fixed_point``).
"""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_EXPONENTIAL = Context(prec=40, Emin=-999_999, Emax=999_999)
"""Digits of e^ε before rounding; the error of this precision is far below the last printed digit."""

WEAK = 8.0
"""The ε above which a bound promises so little that no sentence rests on it, and no charge is unasked."""


def above(figure: float | None, digits: int = 6) -> str:
    """Format a cost or loss (ε, δ, ρ, a sensitivity), never below the figure; ∞ for None.

    Args:
        figure: the number to print.
        digits: number of significant digits, at most 15.
    """
    return _rounded(figure, digits, ROUND_CEILING)


def below(figure: float | None, digits: int = 6) -> str:
    """Format what protects or remains (noise, an unspent ε), never above the figure; ∞ for None.

    Args:
        figure: the number to print.
        digits: number of significant digits, at most 15.
    """
    return _rounded(figure, digits, ROUND_FLOOR)


def left(figure: float) -> str:
    """Format an unspent ε to four decimals, never above the figure."""
    return f"{Decimal(repr(float(figure))).quantize(Decimal('0.0001'), ROUND_FLOOR).normalize():f}"


def odds(epsilon: float, digits: int = 3) -> str:
    """Format the factor e^ε, rounded up.

    Args:
        epsilon: at least 0.
        digits: number of significant digits, at most 15.
    """
    if math.isinf(epsilon):
        return "∞"
    factor = _EXPONENTIAL.exp(Decimal(repr(float(epsilon))))
    if epsilon:
        factor = _EXPONENTIAL.next_plus(factor)
    kept = Context(prec=digits, rounding=ROUND_CEILING).plus(factor)
    return f"{kept:,.0f}" if kept >= 1000 else f"{float(kept):.{digits}g}"


def times(epsilon: float) -> str:
    """Say the factor e^ε in words, rounded up: ``2.72 times``, ``2,990 times``, ``a billion times``.

    Args:
        epsilon: at least 0.
    """
    if epsilon <= math.log(1e6):
        return f"{odds(epsilon)} times"
    return "a billion times" if epsilon <= math.log(1e9) else "billions of times or more"


def reading(epsilon: float) -> str:
    """Say how an ε reads: the factor by which odds change at most.

    Args:
        epsilon: of one release, or of all of them together; at least 0.
    """
    return f"How to read ε: but for δ, odds change at most {times(epsilon)}"


def one_in(chance: float) -> str:
    """Say a small probability without an exponent, never below it: ``1 in 1,000,000``.

    Args:
        chance: above 0 and at most 1.
    """
    most = 10**15
    whole = Decimal(1) / Decimal(repr(float(chance)))
    if whole >= most:
        return f"1 in {most:,}"
    return f"1 in {Context(prec=3, rounding=ROUND_FLOOR).plus(Decimal(int(whole))):,.0f}"


def noise_and_cost(
    symbols: tuple[str, str], noise: float, cost: float, rate: float = 1.0, digits: int = 6
) -> tuple[str, str]:
    """A measurement's noise, with the chance of each person to take part, and its cost, in their symbols."""
    width, kind = symbols
    part = f", q = {above(rate, 4)}" if rate < 1 else ""
    return f"{width} = {below(noise, digits)}{part}", f"{kind} = {above(cost, digits)}"


def promise(name: str, asked: float, promised: float, weight: float) -> tuple[str, str, str, str]:
    """What a class of people asks for and is promised, as a line of a table."""
    return name, f"ε = {above(asked)}", f"ε = {above(promised)}", f"{weight:.4f}"


def aligned(rows: Sequence[Sequence[str]], left: int | None = None) -> list[str]:
    """Rows of a table as lines of text; all columns, or the first ``left``, are text, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pads = [str.ljust if left is None or i < left else str.rjust for i in range(len(widths))]
    lines = ([pad(c, width) for pad, c, width in zip(pads, row, widths, strict=True)] for row in rows)
    return ["  ".join(line).rstrip() for line in lines]


def _rounded(figure: float | None, digits: int, rounding: str) -> str:
    if figure is None or math.isinf(figure):
        return "∞"
    kept = Context(prec=digits, rounding=rounding).create_decimal(repr(float(figure)))
    return f"{float(kept):.{digits}g}"  # a double keeps up to 15 digits
