"""JSON facts of files that others made, looked over before they are parsed.

Parsed JSON takes up to thirty times the memory of its text, where it is nothing but brackets. What hushrec
writes is nearly all ids: their number goes with the size of the text, and little stands outside of quotes.

Privacy: public.
"""

import json
import math
import re
from typing import Any

LARGEST = 100_000_000
"""Bytes of the facts of a release or data set: safetensors' limit for a header, some five million ids."""
_STRINGS = 1 << 18  # in addition to one for every eight signs: shorter ids are not that many
_OTHERS = 1 << 20  # signs outside of quotes, in addition to two for every string
# One that never ends goes to the end of the text: tried anew at every quote in it, it would take forever.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)

__all__ = ["LARGEST", "parse"]


def parse(text: str, *, strings: int = _STRINGS, others: int = _OTHERS) -> Any:
    """The value of a JSON text, with memory bounded by a small multiple of the text's.

    Args:
        text: as it stands in the file.
        strings: how many strings it may have, in addition to one for every eight signs.
        others: how many signs may stand outside of quotes, in addition to two for every string.

    Raises:
        ValueError: It is no JSON, holds more than facts do, a field twice, or a number that is not finite.
    """
    count = outside = end = 0
    most = strings + len(text) // 8
    for found in _STRING.finditer(text):
        count, outside, end = count + 1, outside + found.start() - end, found.end()
        if count > most or outside > others + 2 * count:
            raise ValueError("more than facts hold")
    if outside + len(text) - end > others + 2 * count:
        raise ValueError("more than facts hold")
    return json.loads(text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field is there twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number
