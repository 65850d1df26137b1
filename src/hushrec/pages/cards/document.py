"""The blocks that a document is made of: it is built once, and written as HTML or as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

__all__ = [
    "Block",
    "Caution",
    "Check",
    "Document",
    "Facts",
    "Grid",
    "Lines",
    "Picture",
    "Points",
    "Section",
    "Text",
]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; ``strong`` for the one that matters most."""

    kind: ClassVar[str] = "text"
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Caution:
    """What nobody may miss, a paragraph a line."""

    kind: ClassVar[str] = "caution"
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One row of a checklist: what is answered, and open boxes for what a person has yet to answer."""

    kind: ClassVar[str] = "check"
    name: str
    answered: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, of which the first ``left`` columns are text and the others numbers."""

    kind: ClassVar[str] = "grid"
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines whose columns keep their places, such as commands."""

    kind: ClassVar[str] = "lines"
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, with the text that stands for it where it is not seen.

    Attributes:
        svg: a whole ``svg`` element with classes and no style, which no text of a release is part of.
        text: what it shows.
    """

    kind: ClassVar[str] = "picture"
    svg: str
    text: str


Block = Text | Caution | Points | Check | Facts | Grid | Lines | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A page.

    Attributes:
        kind: what sort of page it is, above its title.
        title: of the page.
        about: one line below the title.
        top: blocks before the first section.
        sections: the rest.
    """

    kind: str
    title: str
    about: str
    top: tuple[Block, ...]
    sections: tuple[Section, ...]
