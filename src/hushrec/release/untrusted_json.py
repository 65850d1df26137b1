"""JSON from files that others made, checked before it is parsed.

Parsed JSON can take up to thirty times the memory of its text, if it is nothing but brackets. hushrec writes
mostly ids: their number is proportional to the size of the text, and little stands outside quotes.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hushrec.errors import ReleaseError

LARGEST = 100_000_000
"""Largest metadata of a release or data set in bytes: safetensors' header limit, about 5 million ids."""
_STRINGS = 1 << 18  # in addition to one for every eight characters: there are few shorter ids
_OTHERS = 1 << 20  # characters outside quotes, in addition to two for every string
# An unclosed string matches to the end of the text; else the pattern would be retried at every quote in it.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


@contextmanager
def parsing(malformed: str) -> Iterator[None]:
    """Raise one ``ReleaseError`` for all that parsers raise of a crafted file; one that says more passes."""
    try:
        yield
    except ReleaseError:
        raise
    except Exception:
        raise ReleaseError(malformed) from None


def parse(text: str, *, strings: int = _STRINGS, others: int = _OTHERS) -> Any:
    """The value of a JSON text, in memory bounded by a small multiple of the text's size.

    Args:
        strings: how many strings it may hold, in addition to one for every eight characters.
        others: how many characters may stand outside quotes, in addition to two for every string.
    """
    count = outside = end = 0
    most = strings + len(text) // 8
    for match in _STRING.finditer(text):
        count, outside, end = count + 1, outside + match.start() - end, match.end()
        if count > most or outside > others + 2 * count:
            raise ValueError("more than facts hold")
    if outside + len(text) - end > others + 2 * count:
        raise ValueError("more than facts hold")
    return json.loads(text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite)


def typed(value: Any, *types: type) -> Any:
    """The value, if it is of one of these types; JSON does not take true for 1."""
    if type(value) not in types:
        raise TypeError("a value of another type was expected")
    return value


def entries(value: Any) -> tuple[Any, ...]:
    """The type of a list's elements."""
    return tuple(typed(value, list, tuple))


def number(value: Any) -> float:
    """The value as a float, if it is a number."""
    return float(typed(value, int, float))


def sayings(value: Any, *names: str) -> None:
    """Refuse what readers see, by name, if it is not lines of text, or lacks a name."""
    sentences = typed(value, dict)
    printable = all(typed(text, str).isprintable() for text in sentences.values())
    if not printable or not sentences.keys() >= {*names}:
        raise ValueError("what readers see is malformed")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is repeated")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number
