"""Privacy classes that users choose from: public names, each with its ε."""

import math
import unicodedata
from collections.abc import Mapping
from typing import Any

_MAX_NAME_BYTES = 256

__all__ = ["classes"]


def classes(given: Any) -> dict[str, float]:
    """Map names, normalised to Unicode NFC, to ε.

    A name must not be a number, so that a cell that holds a name or an ε has one meaning.

    Raises:
        ValueError: these are not classes. The message says which is wrong.

    Privacy: public.
    """
    if not isinstance(given, Mapping) or not given:
        raise ValueError('give classes as {"strict": 0.5, "default": 2}, or leave them out')
    found = {_name(name): _epsilon(name, epsilon) for name, epsilon in given.items()}
    if len(found) != len(given):
        raise ValueError("two names are the same text; give every class a name of its own")
    return found


def _name(given: Any) -> str:
    if not isinstance(given, str) or given != given.strip():
        raise ValueError("names of classes must be text without blanks at either end")
    name = unicodedata.normalize("NFC", given)
    size = len(name.encode(errors="replace"))
    # Privacy statements list the names, so names that are invisible or break lines are refused.
    if not 1 <= size <= _MAX_NAME_BYTES or not name.isprintable() or _is_number(name):
        raise ValueError(
            f"{name!r} is not a name of a class: give 1 to {_MAX_NAME_BYTES} printable bytes, not a number"
        )
    return name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _epsilon(name: Any, given: Any) -> float:
    fits = isinstance(given, int | float) and not isinstance(given, bool)
    if not fits or not 0 <= given < math.inf:
        raise ValueError(f"the ε of class {name!r} must be a finite number, 0 or more")
    return float(given)
