"""Facts that a file states by name, and the English sentence of each."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from string import Formatter
from typing import Any


class Sentence(Enum):
    """A sentence that a file states by its name and the values in it; a call with these makes the fact.

    Each name in braces stands for a value: ``{n:,}`` for a whole number, ``{x:g}`` for any finite number, and
    ``{text}`` for text. The kinds of sentences are subclasses, such as ``Assumes``.
    """

    def __call__(self, **values: str | float) -> "Fact":
        """Make the fact; TypeError if the values are not those in its braces."""
        types = {name: spec for _, name, spec, _ in Formatter().parse(self.value) if name}
        if values.keys() != types.keys() or not all(_is_of(types[name], values[name]) for name in types):
            raise TypeError(f"{self}: its values are {', '.join(types) or 'none'}")
        return Fact(self, values)


@dataclass(frozen=True, slots=True)
class Fact:
    """What a file states by a name and values; ``str`` says it in English.

    Only a call of its sentence makes one, so its name is known and its values are those in the braces.
    """

    sentence: Sentence
    values: Mapping[str, str | float]

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self.values.items())))

    def __str__(self) -> str:
        return str(self.sentence.value).format_map(self.values)

    @property
    def kind(self) -> str:
        return type(self.sentence).__name__.lower()

    @property
    def name(self) -> str:
        """Such as ``assumes.cap``: its kind, a dot, and which of these."""
        return f"{self.kind}.{self.sentence.name}"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"name": self.name, **self.values}

    @staticmethod
    def from_json(facts: Any, *kinds: type[Sentence]) -> "Fact":
        """The fact that ``to_json`` described; KeyError or TypeError if none of these kinds says it."""
        values = dict(facts)
        kind, _, name = values.pop("name").partition(".")
        return {one.__name__.lower(): one for one in kinds}[kind][name](**values)


def _is_of(spec: str | None, value: object) -> bool:
    """Whether a value is what its place in a sentence takes."""
    if not spec or isinstance(value, bool):
        return isinstance(value, str) and not spec
    return isinstance(value, int if spec == "," else int | float) and abs(value) <= sys.float_info.max
