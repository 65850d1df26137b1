"""A database's address in place of a file's name: it may hold a password, so no message repeats it."""

import re

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # of two letters or more: C:/ is a drive
_SETTING = re.compile(r"\b(?:password|host)\s*=", re.IGNORECASE)

__all__ = ["is_address", "scheme_of"]


def scheme_of(text: str) -> str:
    """What stands before ``://``, in small letters; empty if nothing does."""
    match = _SCHEME.match(text)
    return match[1].lower() if match and text.startswith("/", match.end()) else ""


def is_address(text: str) -> bool:
    """Whether a text looks like a URL, also a mistyped one, or like settings of libpq (``host=…``)."""
    return bool(_SCHEME.match(text) or _SETTING.search(text))
