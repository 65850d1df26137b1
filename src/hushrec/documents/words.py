"""The words of every sentence about a guarantee: code names a sentence, and gives its figures.

The sentences stand in ``texts.toml``, in the order in which a statement says them.
"""

import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Self


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
        """Whether there is such a sentence, with exactly these values, which are text and finite numbers."""
        text = texts().get(self.name)
        plain = all(map(_is_plain, self.values.values()))
        return plain and text is not None and _names(text) == self.values.keys()

    def to_json(self) -> dict[str, Any]:
        """As JSON values; a figure of ``figures`` becomes text."""
        return {"name": self.name, **self.values}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The sentence that ``to_json`` described."""
        return cls(values["name"], {key: value for key, value in values.items() if key != "name"})


def say(name: str, **values: Any) -> str:
    """Say a sentence.

    Args:
        name: of the sentence; of one with ``one`` and ``other``, the number ``n`` chooses.
        values: what stands in its braces: text and numbers.
    """
    sentences = texts()
    if f"{name}.other" in sentences:
        name = f"{name}.one" if values["n"] in (1, "1") else f"{name}.other"
    if (plural := f"given.{values.get('given')}.many") in sentences:
        values["given"] = sentences[plural]
    return sentences[name].format_map({key: _shown(value) for key, value in values.items()})


def clause(one: Clause) -> str:
    """Say a sentence that a file holds as a field, with the names of its unit and adjacency."""
    values: dict[str, Any] = dict(one.values)
    for name in {"unit", "adjacency"} & values.keys():
        values[name] = texts().get(f"{name}.{values[name]}", values[name])
    return say(one.name, **values)


def join(parts: Iterable[str], between: str = " ") -> str:
    """Join sentences, without empty ones."""
    return between.join(filter(None, parts))


@cache
def texts() -> Mapping[str, str]:
    """Every sentence, by its dotted name."""
    return dict(_flat(tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))))


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


def _shown(value: Any) -> str:
    """A number as sentences have it, such as 1,000; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
