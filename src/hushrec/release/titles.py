"""Items by what people call them: an id, or a title as it is remembered.

Privacy: post-processing of public titles; what is searched for stays on the device.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property

_YEAR = re.compile(r"\s*\((\d{4})(?:[-–/]\d{0,4})?\)\s*$")
_PARTS = re.compile(r"[()]")
_ARTICLES = (
    *(
        "the",
        "a",
        "an",
        "le",
        "la",
        "les",
        "l'",
        "un",
        "une",
        "der",
        "die",
        "das",
        "ein",
        "eine",
        "el",
        "los",
    ),
    *("las", "il", "lo", "gli", "i", "o", "os", "as", "de", "het", "den", "det", "en", "ett"),
)
"""Articles that a list may put after a title: "Matrix, The"."""
_LEADING = re.compile(r"^(?:the|a|an) (?=.)")
_DROPPED = str.maketrans("", "", "'’`´.*")
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
"""Letters that no accent marks, as keyboards without them write them."""


class Titles:
    """Finds items by title, whatever its case, accents, punctuation, place of the article or year.

    Args:
        items: the ids of a catalogue.
        titles: their titles, or "" where an item has none and is called by its id; or nothing.
    """

    def __init__(self, items: Sequence[str], titles: Sequence[str] = ()) -> None:
        self._names = [title or item for item, title in zip(items, titles or items, strict=True)]

    def find(self, text: str) -> list[int]:
        """Positions of the items that a text may mean, in the catalogue's order.

        Those whose title is the text, and its year if it has one; or else those whose title is the text apart
        from a leading article; or else those whose title begins with it; or else those with all its words.
        """
        keys = _keys(text)
        if not keys or (named := self.named(text)):
            return named if keys else []
        key, forms = _bare(keys[0]), [(at, form) for at, keys in enumerate(self._keys) for form in keys]
        words = set(key.split())
        began = {at for at, form in forms if _bare(form).startswith(key)}
        return sorted(began or {at for at, form in forms if words <= set(form.split())})

    def named(self, text: str) -> list[int]:
        """Positions of the items whose title is the text, as in ``find``, and no others."""
        year, keys = _year(text), _keys(text)
        for exact in (True, False):
            positions = {at for key in keys for at in self._by_key.get(key if exact else _bare(key), ())}
            if year and any(self._years[at] == year for at in positions):
                positions = {at for at in positions if self._years[at] == year}
            if positions:
                return sorted(positions)
        return []

    @cached_property
    def _keys(self) -> list[list[str]]:
        return [_keys(name) for name in self._names]

    @cached_property
    def _years(self) -> list[str]:
        return [_year(name) for name in self._names]

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for at, keys in enumerate(self._keys):
            for key in {form for whole in keys for form in (whole, _bare(whole))}:
                positions.setdefault(key, []).append(at)
        return positions


def _year(title: str) -> str:
    match = _YEAR.search(title)
    return match[1] if match else ""


def _keys(title: str) -> list[str]:
    """The forms of a title without its year, the whole one first; parts in brackets are titles as well."""
    whole = _YEAR.sub("", title) or title
    forms = dict.fromkeys(filter(None, map(_key, (whole, *_PARTS.split(whole)))))
    return list(forms)


def _key(title: str) -> str:
    """Letters folded, words separated by single blanks, an article at the end put first."""
    plain = "".join(_fold(title.strip().removeprefix("a.k.a. ")))
    name, comma, last = plain.rpartition(",")
    if comma and last.strip() in _ARTICLES:
        plain = f"{last.strip()} {name}"
    plain = plain.translate(_DROPPED).replace("&", " and ")
    words = "".join(sign if sign.isalnum() else " " for sign in plain).split()
    return " ".join(words) or title.strip()


def _fold(title: str) -> Iterator[str]:
    """Case, accents and letters of few alphabets folded."""
    for sign in unicodedata.normalize("NFKD", title.casefold()):
        if not unicodedata.combining(sign):
            yield sign.translate(_LETTERS)


def _bare(key: str) -> str:
    return _LEADING.sub("", key)
