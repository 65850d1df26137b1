"""What notebooks show: small pieces of HTML without scripts, in which every text is escaped.

Colours are those of the page around them, so that light and dark pages both work.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from hushrec.escapes import escaped

__all__ = ["Html", "block", "facts", "folded", "prose", "table", "written"]


class Html(str):
    """Text that is HTML already; any other text is escaped."""


_BOX = "border-left:3px solid currentColor;padding:0 0 0 .8em;margin:.4em 0;color:inherit;text-align:left"
_CELL = "text-align:{side};padding:.15em .8em .15em 0;color:inherit;background:none;white-space:{wrap}"


def block(title: str, *parts: Html) -> Html:
    """A titled block.

    Args:
        title: text.
        parts: HTML of the functions here.
    """
    return Html(f'<section style="{_BOX}"><strong>{_text(title)}</strong>{"".join(parts)}</section>')


def prose(text: str, *, strong: bool = False) -> Html:
    """A paragraph; its lines stay lines."""
    lines = "<br>".join(map(_text, text.splitlines()))
    inner = f"<strong>{lines}</strong>" if strong else lines
    return Html(f'<p style="margin:.4em 0">{inner}</p>')


def facts(rows: Iterable[tuple[str, str]]) -> Html:
    """Names and values, one pair a line."""
    lines = (
        f'<tr style="background:none"><th scope="row" style="{_cell("left")}">{_text(name)}</th>'
        f'<td style="{_cell("left", "normal")}">{_text(value)}</td></tr>'
        for name, value in rows
    )
    return _table("".join(lines))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Html:
    """A table; the first ``left`` columns are text, the others numbers. A wide one scrolls in its box."""
    sides = ["left" if place < left else "right" for place in range(len(heads))]
    top = "".join(
        f'<th scope="col" style="{_cell(side)}">{_text(head)}</th>'
        for head, side in zip(heads, sides, strict=True)
    )
    body = "".join(
        '<tr style="background:none">'
        + "".join(
            f'<td style="{_cell(side)}">{_text(cell)}</td>' for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return _table(f'<thead><tr style="background:none">{top}</tr></thead><tbody>{body}</tbody>')


def folded(summary: str, *parts: Html) -> Html:
    """Parts that a reader unfolds."""
    inner = f"<summary>{_text(summary)}</summary>{''.join(parts)}"
    return Html(f'<details style="margin:.4em 0">{inner}</details>')


def written(parts: Iterable[str]) -> Html:
    """Paragraphs of text, of which the first is the headline, with HTML of the functions here among them.

    A heading with a list (lines that begin with ``·``) is folded; aligned columns keep their places.
    """
    return Html(
        "".join(
            part if isinstance(part, Html) else _part(part, first=not place)
            for place, part in enumerate(parts)
            if part
        )
    )


def _part(part: str, *, first: bool) -> Html:
    head, *lines = part.splitlines()
    if lines and all(line.startswith("  ·") for line in lines):
        items = "".join(f"<li>{_text(line.strip(' ·'))}</li>" for line in lines)
        return folded(head.rstrip(":"), Html(f'<ul style="margin:.2em 0">{items}</ul>'))
    columns = ((is_row, [*of]) for is_row, of in groupby(part.splitlines(), key=_is_row))
    return Html(
        "".join(_aligned(of) if is_row else prose("\n".join(of), strong=first) for is_row, of in columns)
    )


def _is_row(line: str) -> bool:
    """Whether a line has columns, two spaces apart."""
    return "  " in line.strip()


def _aligned(lines: Iterable[str]) -> Html:
    inner = "\n".join(map(_text, lines))
    return Html(f'<pre style="overflow-x:auto;color:inherit;background:none">{inner}</pre>')


def _table(inner: str) -> Html:
    # A page's own rules for tables may stripe and colour rows: every row and cell here says that it does not.
    return Html(
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:.4em 0;color:inherit">'
        f"{inner}</table></div>"
    )


def _cell(side: str, wrap: str = "nowrap") -> str:
    return _CELL.format(side=side, wrap=wrap)


def _text(text: str) -> str:
    return escape(escaped(text))
