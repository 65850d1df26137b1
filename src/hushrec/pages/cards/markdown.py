"""Documents as Markdown (CommonMark with tables), in which no text can become a heading, a link or HTML."""

import re
from collections.abc import Iterable, Sequence

from hushrec.escapes import escaped
from hushrec.pages.cards.document import (
    Block,
    Caution,
    Check,
    Document,
    Facts,
    Grid,
    Lines,
    Picture,
    Points,
    Text,
)

_ACTIVE = re.compile(r"[\\`*_{}\[\]<>|~$&!#@]|[:/](?=/)|\.(?=[^\W\d_])|(?i:(?<=www)\.)")
"""Signs that mean something wherever they stand, or make a link of a bare address."""
_AT_START = re.compile(r"^(\d*)([.)](?=\s|$)|[-+=:])")
"""What means something where a line begins."""


def to_markdown(document: Document) -> str:
    """The document as Markdown.

    Args:
        document: what it says.
    """
    parts = [f"# {_text(document.title)}", f"**{_text(document.kind)}.** {_text(document.about)}"]
    parts += map(_block, document.top)
    for section in document.sections:
        parts += [f"## {_text(section.title)}", *map(_block, section.blocks)]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Text():
            return f"**{_text(block.text)}**" if block.strong else _text(block.text)
        case Caution():
            return "\n>\n".join(f"> **{_text(line)}**" for line in block.lines)
        case Points():
            return _list(map(_text, block.items))
        case Check():
            tasks = _list(f"[ ] {_text(task)}" for task in block.tasks)
            return f"### {_text(block.name)}\n\n{_text(block.answered)}\n\n{tasks}"
        case Facts():
            return _list(f"{_text(name)}: {_text(value)}" for name, value in block.rows)
        case Grid():
            return _table(block)
        case Lines():
            return _fenced(block.lines)
        case Picture():
            return _text(block.text)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(grid: Grid) -> str:
    sides = [":---" if place < grid.left else "---:" for place in range(len(grid.heads))]
    rows: list[Sequence[str]] = [[*map(_text, grid.heads)], sides, *([*map(_text, row)] for row in grid.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _fenced(lines: Sequence[str]) -> str:
    """Lines as they are, between fences that are longer than any among them."""
    shown = [*map(escaped, lines)]
    runs = re.findall(r"`+", "\n".join(shown))
    fence = "`" * max([3, *(len(run) + 1 for run in runs)])
    return "\n".join([fence, *shown, fence])


def _text(text: str) -> str:
    """A text that means itself."""
    inside = _ACTIVE.sub(r"\\\g<0>", escaped(text).strip())
    return _AT_START.sub(r"\1\\\2", inside)
