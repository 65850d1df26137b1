"""Documents as lines of text: for a terminal, in which lines are filled, or as ``str`` gives them."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from hushrec.documents.document import Block, Commands, Facts, Paragraph, Points, Section, Table
from hushrec.text import escaped

_NARROWEST = 12
"""Characters below which no column is made narrower."""


def text(blocks: Sequence[Block], width: int | None = None) -> str:
    """Write blocks as lines.

    Args:
        width: characters in a line of the terminal; None for lines of any length.
    """
    return "\n".join(_lines(blocks, width))


def _lines(blocks: Sequence[Block], width: int | None) -> Iterator[str]:
    """Lines of all blocks: tables, lists and sections stand between empty lines."""
    before: Block | None = None
    for block in blocks:
        close = isinstance(before, Paragraph | Facts | Commands) and isinstance(
            block, Paragraph | Facts | Commands
        )
        if before is not None and not close:
            yield ""
        yield from _block(block, width)
        before = block


def _block(block: Block, width: int | None) -> Iterator[str]:
    match block:
        case Paragraph(text):
            yield from _filled(escaped(text), width)
        case Points(items, open):
            mark = "[ ]" if open else "·"
            for item in items:
                yield from _filled(f"  {mark} {escaped(item)}", width, " " * (3 + len(mark)))
        case Facts(rows):
            longest = max((len(name) for name, _ in rows), default=0)
            for name, value in rows:
                yield from _filled(
                    f"{escaped(name):<{longest}}  {escaped(value)}", width, " " * (longest + 2)
                )
        case Table():
            yield from _table(block, width)
        case Commands(title, [line]):  # whole, so that it can be copied
            yield f"{escaped(title)}: {escaped(line)}"
        case Commands(title, lines):
            yield from (f"{escaped(title)}:", *(f"  {escaped(line)}" for line in lines))
        case Section(title, blocks):
            yield f"{escaped(title)}:"
            yield from _lines(blocks, width)


def _filled(line: str, width: int | None, hanging: str = "") -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    return wrap(line, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def _table(table: Table, width: int | None) -> Iterator[str]:
    """Aligned columns below their headings; in a narrow terminal, the widest texts take several lines."""
    rows = [[escaped(cell) for cell in row] for row in (table.heads, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    for place, row in enumerate(rows):
        yield from _row(row, widths, table.left)
        if not place:
            yield "─" * (sum(widths) + 2 * (len(widths) - 1))


def _row(row: Sequence[str], widths: Sequence[int], left: int) -> Iterator[str]:
    pads = [str.ljust if place < left else str.rjust for place in range(len(row))]
    cells = [wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
    for parts in zip_longest(*cells, fillvalue=""):
        line = (pad(part, width) for pad, part, width in zip(pads, parts, widths, strict=True))
        yield "  ".join(line).rstrip()
