"""Text that is printed: ids and titles of other people's files, figures of privacy, addresses of databases.

Text of other people's files cannot control a terminal or imitate other lines. Ids themselves do not change,
only how they are printed. Titles are stored in their printed form.

Printed figures are rounded to the safe side, never to the nearest.

A float stands for the decimal that Python prints for it, so 0.1 prints as 0.1 and not as the double above it.
Budgets are read and losses are counted in the same way (see ``privacy.accounting.fixed_point``).

Addresses of databases may hold passwords, so no message repeats them.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache
from importlib import metadata
from numbers import Integral, Real
from typing import TypeGuard

_ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # scripts and emoji need them inside words

LARGEST_LINE = 512
"""Bytes in a title or in another public text about an item; chosen by hand."""


def escaped(text: str) -> str:
    r"""Escape control and format characters, line ends and lone surrogates as Python does: ``\n``, ``\x1b``.

    Args:
        text: any text.

    Returns:
        One line without escape sequences and without characters that change the text direction.
    """
    return text if text.isprintable() else "".join(map(_sign, text))


def one_line(text: str) -> str:
    """Return a text in Unicode NFC as one escaped line, with single blanks, cut to ``LARGEST_LINE`` bytes.

    Args:
        text: any text, such as a title from a public list.
    """
    line = escaped(" ".join(unicodedata.normalize("NFC", text).split()))
    if len(line.encode()) <= LARGEST_LINE:
        return line
    return line.encode()[: LARGEST_LINE - 3].decode(errors="ignore").rstrip() + "…"


def shown(name: object) -> str:
    """Escape a name from a folder or file, and cut it to 80 characters."""
    text = escaped(str(name))
    return text if len(text) <= 80 else f"{text[:77]}…"


def _sign(sign: str) -> str:
    acts = unicodedata.category(sign) in _ACTING and sign not in _JOINERS
    return sign.encode("unicode_escape").decode() if acts else sign


_EXPONENTIAL = Context(prec=40, Emin=-999_999, Emax=999_999)
"""Context of e^ε before rounding: 40 digits, far more than the 15 at most that are printed."""

WEAK = 8.0
"""ε above which statements call the bound weak, and a charge must be accepted; chosen by hand."""


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a finite number of any type; neither text nor a truth value is one."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return isinstance(value, Integral) or math.isfinite(value)


def whole(value: object, name: str, least: int, error: Callable[[str], Exception]) -> int:
    """Return a whole number of at least ``least``; raise the error, which names it, for anything else."""
    if not is_number(value) or value != int(value) or value < least:
        raise error(f"{name} must be a whole number, {least} or more")
    return int(value)


def above(figure: float | None, digits: int = 6) -> str:
    """Format a cost or loss (ε, δ, μ, a sensitivity), never below the figure; ∞ for None.

    Args:
        figure: the number to print.
        digits: number of significant digits, at most 15.
    """
    return _round(figure, digits, ROUND_CEILING)


def below(figure: float | None, digits: int = 6) -> str:
    """Format what protects or remains (noise, an unspent ε), never above the figure; ∞ for None.

    Args:
        figure: the number to print.
        digits: number of significant digits, at most 15.
    """
    return _round(figure, digits, ROUND_FLOOR)


def ranges(numbers: Iterable[int]) -> str:
    """Whole numbers, ascending, with runs written as such: 0–2, 5."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("–".join(map(str, run)) for run in runs)


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
        # exp rounds to the nearest of 40 digits: the next one is surely above e^ε.
        factor = _EXPONENTIAL.next_plus(factor)
    rounded = Context(prec=digits, rounding=ROUND_CEILING).plus(factor)
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{float(rounded):.{digits}g}"


def percent(fraction: float, digits: int = 3) -> str:
    """Format a fraction as percent, never below it.

    Args:
        digits: number of significant digits, at most 15.
    """
    return above(100 * fraction, digits)


def one_in(chance: float) -> str:
    """Format a small probability without an exponent, never below it, as the N of "1 in N".

    Args:
        chance: above 0 and at most 1.
    """
    largest = 10**15
    whole = Decimal(1) / Decimal(repr(float(chance)))
    if whole >= largest:
        return f"{largest:,}"
    return f"{Context(prec=3, rounding=ROUND_FLOOR).plus(Decimal(int(whole))):,.0f}"


def _round(figure: float | None, digits: int, rounding: str) -> str:
    if figure is None or math.isinf(figure):
        return "∞"
    rounded = Context(prec=digits, rounding=rounding).create_decimal(repr(float(figure)))
    return f"{float(rounded):.{digits}g}"  # a double keeps up to 15 digits


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # of two letters or more: C:/ is a drive
_SETTING = re.compile(r"\b(?:password|host)\s*=", re.IGNORECASE)


def scheme_of(text: str) -> str:
    """Return the text before ``://`` in lower case; empty without one."""
    match = _SCHEME.match(text)
    return match[1].lower() if match and text.startswith("/", match.end()) else ""


def is_address(text: str) -> bool:
    """Check whether a text looks like a URL, also a mistyped one, or like settings of libpq (``host=…``)."""
    return bool(_SCHEME.match(text) or _SETTING.search(text))


@cache
def version() -> str:
    """Version of hushrec; the noise of a plan depends on it, and an executor of Spark must have the same."""
    try:
        return metadata.version("hushrec")
    except metadata.PackageNotFoundError:  # a source tree that is not installed
        return "source"
