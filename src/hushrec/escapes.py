"""Safe display of text from other people's files: it cannot control a terminal or imitate other lines.

Ids themselves do not change, only how they are printed.

Privacy: public in, public out.
"""

import unicodedata

_ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # scripts and emoji need them inside words

__all__ = ["escaped"]


def escaped(text: str) -> str:
    r"""Escape control and format characters, line ends and lone surrogates as Python does: ``\n``, ``\x1b``.

    Args:
        text: any text.

    Returns:
        One line without escape sequences and without characters that change the text direction.
    """
    return text if text.isprintable() else "".join(map(_sign, text))


def _sign(sign: str) -> str:
    acts = unicodedata.category(sign) in _ACTING and sign not in _JOINERS
    return sign.encode("unicode_escape").decode() if acts else sign
