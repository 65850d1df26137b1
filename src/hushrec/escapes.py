"""Text from files that others made, shown so that it cannot act on a terminal or pass for other lines.

Ids stay what they are; only what is printed changes.

Privacy: public in, public out.
"""

import unicodedata

_ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # scripts and emoji need them inside words

__all__ = ["escaped"]


def escaped(text: str) -> str:
    r"""Control and format characters, line ends and lone surrogates as Python writes them: ``\n``, ``\x1b``.

    Args:
        text: any text.

    Returns:
        One line without escape sequences, and without signs that change the direction of what follows.
    """
    return text if text.isprintable() else "".join(map(_sign, text))


def _sign(sign: str) -> str:
    acts = unicodedata.category(sign) in _ACTING and sign not in _JOINERS
    return sign.encode("unicode_escape").decode() if acts else sign
