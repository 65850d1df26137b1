"""Documents as Markdown (CommonMark with tables), in which no text can become a heading, a link or HTML."""

import re
from collections.abc import Iterable, Iterator, Sequence

from hushrec.documents.document import (
    Block,
    Commands,
    Document,
    Facts,
    Figure,
    Paragraph,
    Points,
    Section,
    Table,
)
from hushrec.escapes import escaped

_ACTIVE = re.compile(r"[\\`*_{}\[\]<>|~$&!#@]|[:/](?=/)|\.(?=[^\W\d_])|(?i:(?<=www)\.)")
"""Signs that mean something wherever they stand, or make a link of a bare address."""
_AT_START = re.compile(r"^(\d*)([.)](?=\s|$)|[-+=:])")
"""Characters with a meaning at the start of a line."""

__all__ = ["markdown"]


def markdown(document: Document) -> str:
    """Write the document as Markdown."""
    label = f"**{_text(document.label)}.** " if document.label else ""
    about = (label + _text(document.about)).strip()
    parts = [f"# {_text(document.title)}", *filter(None, [about]), *_blocks(document.blocks, 2)]
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Sequence[Block], level: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Section):
            yield f"{'#' * level} {_text(block.title)}"
            yield from _blocks(block.blocks, level + 1)
        else:
            yield _block(block)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text, "plain"):
            return _text(text)
        case Paragraph(text, tone):
            return f"**{_text(text)}**" if tone == "strong" else f"> **{_text(text)}**"
        case Points(items, open):
            return _list(("[ ] " if open else "") + _text(item) for item in items)
        case Facts(rows):
            return _list(f"{_text(name)}: {_text(value)}" for name, value in rows)
        case Table():
            return _table(block)
        case Commands(_, lines):
            return _fenced(lines)
        case Figure(_, text):
            return _text(text)
    raise TypeError(block)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(table: Table) -> str:
    sides = [":---" if place < table.left else "---:" for place in range(len(table.heads))]
    rows = [[*map(_text, table.heads)], sides, *([*map(_text, row)] for row in table.rows)]
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
