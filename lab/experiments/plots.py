"""Figures as SVG text without prolog, to be put into a page or a file.

They have their own background, and follow the reader's choice of light or dark.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#444444"
REFERENCE: Any = {"color": GREY, "linestyle": "--", "linewidth": 1}
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")  # Okabe & Ito 2008
MARKS = ("o", "s", "^", "D", "v", "P")
_DARK = {"#ffffff": "#16181c", "#000000": "#e4e4e4", GREY: "#b4b4b4"}
"""Colour of the picture → its colour for readers who prefer dark pages; others are seen on either."""


def errorbars(axes: "Axes", points: Sequence[tuple[float, float, float]], colour: str, label: str) -> None:
    """A line through points, each with half the width of its interval."""
    places, values, halves = zip(*points, strict=True)
    mark = MARKS[COLOURS.index(colour)]
    look: dict[str, Any] = {"fmt": f"{mark}-", "markersize": 4, "capsize": 2}
    axes.errorbar(places, values, yerr=halves, color=colour, label=label, **look)


@contextmanager
def canvas(
    height: float, width: float = 5.4, panels: tuple[int, int] = (1, 1), letters: int = 10
) -> Iterator[tuple["Figure", "list[Axes]"]]:
    """An empty drawing and its axes, row by row.

    Args:
        height: in inches.
        width: in inches; by default letters are still readable at the width of a telephone.
        panels: rows and columns of axes.
        letters: their size in points.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": letters,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "pdf.fonttype": 42,  # as journals ask
        "svg.fonttype": "none",  # letters stay letters: small, searchable, read aloud
        "svg.hashsalt": "hushrec",  # the same figure gives the same bytes
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, list(figure.subplots(*panels, squeeze=False).flat)


def svg(figure: "Figure", title: str) -> str:
    """The drawing as text, its title read aloud in place of the picture. Call it inside ``canvas``."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = text.replace("<svg ", f'<svg class="hushrec" role="img" aria-label="{escape(title)}" ', 1)
    return text.replace(">", f">\n <style>{_in_the_dark()}</style>", 1)


def _in_the_dark() -> str:
    """Rules of style for readers who prefer dark; programs that do not know them show the light picture."""
    rules = [f"svg.hushrec text {{fill: {_DARK['#000000']}}}"]
    for light, dark in _DARK.items():  # marks are copies, which selectors that name an ancestor do not reach
        rules += (f'[style*="{what}: {light}"] {{{what}: {dark} !important}}' for what in ("fill", "stroke"))
    return f"@media (prefers-color-scheme: dark) {{{' '.join(rules)}}}"
