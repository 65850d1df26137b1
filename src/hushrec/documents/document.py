"""The blocks that a document is made of: built once, written as text, HTML or JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

VERSION = 3
"""Version of every form."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph.

    Attributes:
        tone: ``strong`` for the one that matters most, ``caution`` for what must not be missed.
    """

    text: str
    tone: Literal["plain", "strong", "caution"] = "plain"


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences.

    Attributes:
        open: whether each is a box that a person has yet to tick.
    """

    items: Sequence[str]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, whose first ``left`` columns are text and the others numbers."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines for a shell, which keep their places."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks; sections inside have headings one level lower.

    Attributes:
        folded: whether a notebook shows the heading alone until a reader unfolds it.
    """

    title: str
    blocks: "Sequence[Block]"
    folded: bool = False


Block = Paragraph | Points | Facts | Table | Commands | Section


@dataclass(frozen=True, slots=True)
class Document:
    """A document about one subject.

    Attributes:
        kind: what its facts are of, such as ``plan``.
        title, about: its heading, and one line below that.
        label: what sort of document it is, for the reader.
        facts: the same as JSON values, from which every sentence follows.
    """

    kind: str
    title: str
    blocks: Sequence[Block]
    about: str = ""
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def form(kind: str) -> dict[str, Any]:
    """Make the first fields of every object that is printed, wherever it stands."""
    return {"kind": kind, "version": VERSION}


def to_json(document: Document) -> str:
    """Write what a document says as one JSON object, with the kind and version of its form."""
    # ASCII alone: what is not printable in an id or a name is escaped.
    return json.dumps({**form(document.kind), **document.facts}, indent=2, allow_nan=False)
