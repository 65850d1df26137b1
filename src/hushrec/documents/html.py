"""Documents as HTML without scripts, every text escaped: a whole page, or a piece for a notebook."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from hushrec.documents.document import (
    Block,
    Commands,
    Document,
    Facts,
    Paragraph,
    Points,
    Section,
    Table,
)
from hushrec.text import escaped

CSS = Path(__file__).with_name("document.css")
"""The style of a page, in light and dark, on screen and paper."""
_NOTEBOOK = Path(__file__).with_name("notebook.css")


def page(document: Document, *, stylesheet: str = "", home: str = "", icon: str = "", back: str = "") -> str:
    """Write a whole page, which loads nothing but what is named here.

    Args:
        stylesheet: name of a copy of ``CSS`` next to the page; by default the rules stand in the page itself.
        home: name of a page to go back to, if there is one.
        icon: name of a picture in SVG, if there is one.
        back: the words of the way back.
    """
    style = f"<style>\n{CSS.read_text('utf-8')}</style>"
    if stylesheet:
        style = f'<link rel="stylesheet" href="{_text(stylesheet)}">'
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{_text(': '.join(filter(None, [document.title, document.label])))}</title>",
        *([f'<link rel="icon" href="{_text(icon)}" type="image/svg+xml">'] if icon else []),
        style,
    ]
    top = [
        *([f'<p><a href="{_text(home)}">{_text(back)}</a></p>'] if home else []),
        *([f'<p class="kind">{_text(document.label)}</p>'] if document.label else []),
        f"<h1>{_text(document.title)}</h1>",
        *([f'<p class="about">{_text(document.about)}</p>'] if document.about else []),
    ]
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        *("<head>", *head, "</head>", "<body>", "<main>"),
        *("<header>", *top, "</header>"),
        *_Writer().blocks(document.blocks),
        *("</main>", "</body>", "</html>"),
    ]
    return "\n".join(lines) + "\n"


def notebook(document: Document) -> str:
    """Write a piece of HTML in the colours of the page around it; long parts are folded."""
    inner = "".join(_Writer(folds=True).blocks(document.blocks))
    about = f"<p>{_text(document.about)}</p>" if document.about else ""
    style = f"<style>{_NOTEBOOK.read_text('utf-8')}</style>"
    return f'{style}<section class="hushrec"><strong>{_text(document.title)}</strong>{about}{inner}</section>'


def note(title: str, text: str) -> str:
    """Write a title and one paragraph for a notebook."""
    return notebook(Document("", title, [Paragraph(text)]))


class _Writer:
    """Writes blocks, and numbers the sections."""

    def __init__(self, *, folds: bool = False) -> None:
        self._folds, self._count = folds, 0

    def blocks(self, blocks: Sequence[Block], level: int = 2) -> Iterator[str]:
        for is_caution, group in groupby(blocks, key=_is_caution):
            written = (line for block in group for line in self._block(block, level))
            if is_caution:
                yield '<div class="caution" role="note">'
                yield from written
                yield "</div>"
            else:
                yield from written

    def _block(self, block: Block, level: int) -> Iterator[str]:
        match block:
            case Paragraph(text, tone):
                mark = ' class="strong"' if tone == "strong" else ""
                yield f"<p{mark}>{_text(text)}</p>"
            case Points(items, open):
                box = '<span class="box" role="img" aria-label="open:">☐</span>' if open else ""
                listed = [f"<li>{box}{_text(item)}</li>" for item in items]
                yield from ('<ul class="open">' if open else "<ul>", *listed, "</ul>")
            case Facts(rows):
                pairs = [self._cell("dt", name) + self._cell("dd", value) for name, value in rows]
                yield from ("<dl>", *(f"<div>{pair}</div>" for pair in pairs), "</dl>")
            case Table():
                yield from self._table(block)
            case Commands(title, lines):
                shown = "\n".join(map(_text, lines))
                label = f'role="group" tabindex="0" aria-label="{_text(title)}"'
                yield f'<pre class="wide" {label}>{shown}</pre>'
            case Section():
                yield from self._section(block, level)

    def _section(self, section: Section, level: int) -> Iterator[str]:
        inner, title = self.blocks(section.blocks, level + 1), _text(section.title)
        if self._folds and section.folded:
            yield from (f"<details><summary>{title}</summary>", *inner, "</details>")
            return
        if self._folds:
            yield from (f"<p><strong>{title}</strong></p>", *inner)
            return
        self._count += 1
        name = f"s{self._count}"
        yield f'<section aria-labelledby="{name}">'
        yield from (f'<h{level} id="{name}">{title}</h{level}>', *inner, "</section>")

    def _table(self, table: Table) -> Iterator[str]:
        heads = [
            self._cell("th" if head else "td", head, scope="col" if head else "", number=place >= table.left)
            for place, head in enumerate(table.heads)
        ]
        yield f'<div class="wide" role="group" tabindex="0" aria-label="{_text(table.title)}"><table>'
        yield from (f"<thead><tr>{''.join(heads)}</tr></thead>", "<tbody>")
        for row in table.rows:
            first, *others = row
            cells = [
                self._cell("td", cell, number=place >= table.left) for place, cell in enumerate(others, 1)
            ]
            yield f"<tr>{self._cell('th', first, scope='row')}{''.join(cells)}</tr>"
        yield "</tbody></table></div>"

    def _cell(self, tag: str, text: str, *, scope: str = "", number: bool = False) -> str:
        marks = f' scope="{scope}"' if scope else ""
        marks += ' class="number"' if number else ""
        return f"<{tag}{marks}>{_text(text)}</{tag}>"


def _is_caution(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.tone == "caution"


def _text(text: str) -> str:
    return escape(escaped(text))
