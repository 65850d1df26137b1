"""Classes of privacy that people choose from: public names, each with its ε."""

import math
import unicodedata
from collections.abc import Mapping
from typing import Any

_MAX_NAME_BYTES = 256

__all__ = ["classes"]


def classes(given: Any) -> dict[str, float]:
    """Names in Unicode's form NFC to ε.

    A name is no number, so that a cell which holds one or the other has one meaning.

    Raises:
        ValueError: these are no classes. Says which is wrong.

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
        raise ValueError("names of classes are text without blanks around it")
    name = unicodedata.normalize("NFC", given)
    size = len(name.encode(errors="replace"))
    # Statements of privacy list the names, and refuse what would not show, or break their lines.
    if not 1 <= size <= _MAX_NAME_BYTES or not name.isprintable() or _is_number(name):
        raise ValueError(
            f"{name!r} is no name of a class: give 1 to {_MAX_NAME_BYTES} printable bytes, and no number"
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
        raise ValueError(f"the ε of class {name!r} must be a number from 0 up, and finite")
    return float(given)
