"""The words of every sentence about a guarantee: code names a sentence, and gives its figures.

The sentences stand in ``texts/LANGUAGE.toml``, one file for each language, in the order in which a statement
says them. Missing sentences fall back to English, and the document says so.
"""

import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Self

from hushrec.errors import ConfigError
from hushrec.figures import Number

ENGLISH = "en"
_TEXTS = Path(__file__).with_name("texts")
LANGUAGES = tuple(sorted(path.stem for path in _TEXTS.glob("*.toml")))
"""The languages in which a statement can be read, as BCP 47 names them."""

__all__ = ["ENGLISH", "LANGUAGES", "Clause", "Said", "Words", "english", "texts"]


class Said(str):
    """A sentence, with the language that it is in."""

    __slots__ = ("lang",)
    lang: str

    def __new__(cls, text: str, lang: str = ENGLISH) -> Self:
        sentence = super().__new__(cls, text)
        sentence.lang = lang
        return sentence


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence as a field: its name among the texts, and the values in it.

    Attributes:
        name: such as ``assumes.cap``; the part before the dot is its kind.
        values: text and numbers by name.
    """

    name: str
    values: Mapping[str, str | int | float] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self.values.items())))

    @property
    def kind(self) -> str:
        return self.name.partition(".")[0]

    @property
    def is_known(self) -> bool:
        """Whether English has the sentence, with exactly these values, which are text and finite numbers."""
        text = texts(ENGLISH).get(self.name)
        plain = all(map(_is_plain, self.values.values()))
        return plain and text is not None and _names(text) == self.values.keys()

    def to_json(self) -> dict[str, Any]:
        """As JSON values; a figure of ``figures`` becomes text."""
        return {"name": self.name, **self.values}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The sentence that ``to_json`` described."""
        return cls(values["name"], {key: value for key, value in values.items() if key != "name"})


class Words:
    """The sentences of one language.

    Attributes:
        lang: the language.
        fell_back: whether any sentence was said in English, because this language has none.
    """

    def __init__(self, lang: str = ENGLISH) -> None:
        if lang not in LANGUAGES:
            raise ConfigError(f"there are no statements in {lang!r}; choose one of {', '.join(LANGUAGES)}")
        self.lang = lang
        self.fell_back = False
        self._texts = texts(lang)

    def __call__(self, name: str, **values: Any) -> Said:
        """Say a sentence.

        Args:
            name: of the sentence; of one with ``one`` and ``other``, the number ``n`` chooses.
            values: what stands in its braces: text, and numbers, which are written as the language does.
        """
        if f"{name}.other" in texts(ENGLISH):
            name = f"{name}.one" if values["n"] in (1, "1") else f"{name}.other"
        lang = self.lang if name in self._texts else ENGLISH
        self.fell_back |= lang != self.lang
        sentences = texts(lang)
        if (plural := f"given.{values.get('given')}.many") in sentences:
            values["given"] = sentences[plural]
        return Said(
            sentences[name].format_map({key: _shown(value, lang) for key, value in values.items()}), lang
        )

    def clause(self, clause: Clause) -> Said:
        """Say a sentence that a file holds as a field; a unit or adjacency has its name in this language."""
        values: dict[str, Any] = dict(clause.values)
        for name in {"unit", "adjacency"} & values.keys():
            values[name] = self._texts.get(f"{name}.{values[name]}", values[name])
        return self(clause.name, **values)

    def number(self, n: int | float | Number) -> str:
        """A number or a figure, as the language writes it."""
        return _shown(n, self.lang)

    def translated(self, sentences: Mapping[str, Said]) -> dict[str, str]:
        """The sentences that this language has, by name, without those that fell back to English."""
        return {name: str(text) for name, text in sentences.items() if text.lang == self.lang}

    def join(self, parts: Iterable[str], between: str = " ") -> Said:
        """Join sentences; the result is in English if one of them fell back to it."""
        kept = [part for part in parts if part]
        foreign = any(isinstance(part, Said) and part.lang != self.lang for part in kept)
        return Said(between.join(kept), ENGLISH if foreign else self.lang)


@cache
def texts(lang: str) -> Mapping[str, str]:
    """Every sentence of a language, by its dotted name."""
    return dict(_flat(tomllib.loads((_TEXTS / f"{lang}.toml").read_text("utf-8"))))


def _flat(table: Mapping[str, Any], outer: str = "") -> Iterable[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, str):
            yield outer + name, value
        else:
            yield from _flat(value, f"{outer}{name}.")


@cache
def _names(text: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name)


def _is_plain(value: object) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) <= sys.float_info.max
    return isinstance(value, str)


def _shown(value: Any, lang: str) -> str:
    """A value as the language writes it."""
    if isinstance(value, bool) or not isinstance(value, int | float | Number):
        return str(value)
    if not isinstance(value, Number):
        value = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return str(value).translate(_POINTS.get(lang, {}))


_POINTS = {"de": str.maketrans(".,", ",.")}
"""How a language exchanges the signs of English numbers."""

english = Words()
"""The words where no language can be chosen: in a terminal, in an error."""
