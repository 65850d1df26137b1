"""Safe display of text from other people's files: it cannot control a terminal or imitate other lines.

Ids themselves do not change, only how they are printed. Titles are stored in their printed form.
"""

import unicodedata

_ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # scripts and emoji need them inside words

LARGEST_LINE = 512
"""Bytes in a title or in another public text about an item; chosen by hand."""

__all__ = ["LARGEST_LINE", "escaped", "one_line", "shown"]


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
