"""Figures: as SVG text without prolog, to be put into a page or a file, or as a file of PDF or PNG.

SVG has its own background, and follows the reader's choice of light or dark.
"""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hushrec import files
from hushrec.errors import ConfigError
from hushrec.text import above, escaped
from lab.experiments.reading import Curve, metrics, summary
from lab.experiments.tables import conditions, marked

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#444444"
REFERENCE: Any = {"color": GREY, "linestyle": "--", "linewidth": 1}
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")  # Okabe & Ito 2008
MARKS = ("o", "s", "^", "D", "v", "P")
FORMS = (".svg", ".pdf", ".png")
_FIX = "choose another --figure"
_DARK = {"#ffffff": "#16181c", "#000000": "#e4e4e4", GREY: "#b4b4b4"}
"""Colour of the picture → its colour for readers who prefer dark pages; others are seen on either."""


def figure(
    rows: "pl.DataFrame",
    named: Mapping[str, Curve],
    levels: Sequence[str] = (),
    *,
    data: str = "",
) -> str:
    """The rows' first metric against ε, on a logarithmic axis with bands of 95 %; references as dashed lines.

    Below it stands what it is about: data, unit, adjacency, δ, models and what the bands are. A curve for
    whose noise no ε is known has a mark, which is explained there.

    Args:
        rows: of one grid.
        named: curves by the label of the legend; at most six look different.
        levels: names of references, or of curves of which the baseline without noise is meant.
        data: how the data set is called.

    Returns:
        SVG.

    Raises:
        ConfigError: A curve or a reference is not there.
    """
    metric = metrics(rows)[0]
    with _drawn(rows, named, levels, data) as drawing:
        return svg(drawing, f"{'Prediction error' if metric == 'rmse' else metric} against epsilon")


def write(
    path: Path, rows: "pl.DataFrame", named: Mapping[str, Curve], levels: Sequence[str] = (), *, data: str
) -> None:
    """Write ``figure`` to a file of SVG, PDF or PNG, as its name says.

    Args:
        path: ends in one of ``FORMS``.
        rows, named, levels, data: as of ``figure``.

    Raises:
        ConfigError: As ``figure``, or the file cannot be written.
    """
    if path.suffix == ".svg":
        files.write(path, figure(rows, named, levels, data=data), ConfigError, fix=_FIX)
        return
    undated: dict[str, None] = {"CreationDate": None} if path.suffix == ".pdf" else {}
    with (
        _drawn(rows, named, levels, data) as drawing,
        files.refusing(path, "written", ConfigError, _FIX),
        files.whole(path) as file,
    ):
        drawing.savefig(file, format=path.suffix[1:], dpi=200, metadata=undated)


@contextmanager
def _drawn(
    rows: "pl.DataFrame",
    named: Mapping[str, Curve],
    levels: Sequence[str],
    data: str,
) -> Iterator["Figure"]:
    metric = metrics(rows)[0]
    lines = list(summary(rows).iter_rows(named=True))
    with canvas(4.4, width=7.2) as (drawing, (axes,)):
        axes.set_xscale("log")
        own: dict[str, str] = {}  # name of a curve → its first colour
        for place, (label, curve) in enumerate(marked(rows, named).items()):
            colour, mark = COLOURS[place % len(COLOURS)], MARKS[place % len(MARKS)]
            mine = [p for p in lines if Curve(*(p[f] for f in Curve._fields)) == curve]
            mine = sorted((p for p in mine if math.isfinite(p["epsilon"])), key=lambda p: p["epsilon"])
            if not mine:
                raise ConfigError(f"there is no curve {curve!s} among these rows")
            at, errors, low, high = ([p[f] for p in mine] for f in ("epsilon", metric, "low", "high"))
            look: dict[str, Any] = {"color": colour, "marker": mark, "markersize": 4.5, "linewidth": 1.5}
            axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(at, errors, label=escaped(label), **look)
            own.setdefault(curve.name, colour)
        ticks = _apart(sorted({p["epsilon"] for p in lines if math.isfinite(p["epsilon"])}))
        axes.set_xticks(ticks, [above(e) for e in ticks])
        axes.minorticks_off()
        models = {p["name"] for p in lines if p["analysis"]}
        for name in levels:
            found = [p[metric] for p in lines if p["name"] == name and math.isinf(p["epsilon"])]
            if len(found) != 1:
                raise ConfigError(f"{name!r} is {len(found)} references or curves without noise, not one")
            shown = f"{name} without noise" if name in models else name
            look = REFERENCE | (
                {"color": own[name], "linestyle": ":", "linewidth": 1.5} if name in own else {}
            )
            axes.axhline(found[0], zorder=0, label=escaped(f"{shown} {found[0]:.4f}"), **look)
        legend = axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=9)
        for text in legend.get_texts():
            text.set_parse_math(False)
        axes.set_xlabel("ε (logarithmic)")
        axes.set_ylabel("RMSE, stars" if metric == "rmse" else metric)
        caption(drawing, *filter(None, [data]), *conditions(rows, list(named.values()), levels))
        yield drawing


def caption(drawing: "Figure", *facts: str) -> None:
    """What a figure is about, below it: as many lines as its width needs, broken between facts."""
    letters, whole = int(drawing.get_figwidth() * 16), (escaped(fact).replace(" ", "\xa0") for fact in facts)
    text = fill(" · ".join(whole), letters, break_on_hyphens=False).replace("\xa0", " ")
    drawing.supxlabel(text, x=0.01, ha="left", fontsize=8, color=GREY, parse_math=False)


def _apart(ticks: Sequence[float]) -> list[float]:
    """So many of the ticks that their numbers do not touch on a logarithmic axis."""
    kept: list[float] = []
    room = math.log(ticks[-1] / ticks[0]) / 14 if ticks else 0.0
    for tick in ticks:
        if not kept or math.log(tick / kept[-1]) >= room:
            kept.append(tick)
    return kept


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
