"""Addresses of databases in place of file names: they may hold passwords, so no message repeats them."""

import re

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # of two letters or more: C:/ is a drive
_SETTING = re.compile(r"\b(?:password|host)\s*=", re.IGNORECASE)

__all__ = ["is_address", "scheme_of"]


def scheme_of(text: str) -> str:
    """Return the text before ``://`` in lower case; empty without one."""
    match = _SCHEME.match(text)
    return match[1].lower() if match and text.startswith("/", match.end()) else ""


def is_address(text: str) -> bool:
    """Check whether a text looks like a URL, also a mistyped one, or like settings of libpq (``host=…``)."""
    return bool(_SCHEME.match(text) or _SETTING.search(text))
