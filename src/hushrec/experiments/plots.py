"""The figures of a report, as SVG text without prolog: to be put into a page, or into a file as it is."""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from hushrec.errors import ConfigError
from hushrec.escapes import escaped
from hushrec.experiments.reading import Curve, summary
from hushrec.experiments.sweep import REFERENCES, Row
from hushrec.figures import above
from hushrec.release.statement import Statement

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 5.4  # inches: at the width of a telephone the letters are still readable
_MODEL, _GREY = "#0072B2", "#444444"
_SHADES = ("#9ECAE1", "#6BAED6", "#3182BD", "#08519C", "#08306B")  # light to dark: by lightness, not by hue
_PARTS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")  # Okabe & Ito 2008
_MARKS = ("o", "s", "^", "D", "v", "P")


def curve(rows: Sequence[Row]) -> str:
    """RMSE against ε on a logarithmic axis with ∞ at its right end; references as dashed lines.

    Args:
        rows: of one model and its references.

    Returns:
        SVG.
    """
    model = [row for row in rows if row.name not in REFERENCES]
    finite = [row for row in model if math.isfinite(row.epsilon)]
    without_noise = next(row for row in model if math.isinf(row.epsilon))
    places = [math.log2(row.epsilon) for row in finite]
    end = places[-1] + max(1.0, (places[-1] - places[0]) / 4)
    with _figure(3.4) as (figure, axes):
        axes.errorbar(
            [*places, end],
            [row.rmse for row in (*finite, without_noise)],
            yerr=[0 if math.isnan(row.deviation) else row.deviation for row in (*finite, without_noise)],
            fmt="none",
            ecolor=_MODEL,
            capsize=3,
        )
        axes.plot(places, [row.rmse for row in finite], "o-", color=_MODEL)
        axes.plot([places[-1], end], [finite[-1].rmse, without_noise.rmse], "o:", color=_MODEL, markevery=[1])
        for place, row in zip([*places, end], [*finite, without_noise], strict=True):
            axes.annotate(
                f"{row.rmse:.3f}", (place, row.rmse), (0, 8), textcoords="offset points", ha="center"
            )
        lines = [(row.name, row.rmse, 4) for row in rows if row.name in REFERENCES]
        for name, level, lift in [*lines, (f"{without_noise.name} without noise", without_noise.rmse, -13)]:
            axes.axhline(level, color=_GREY, linestyle="--", linewidth=1, zorder=0)
            axes.annotate(
                f"{name}  {level:.3f}",
                (places[0], level),
                (-14, lift),
                textcoords="offset points",
                color=_GREY,
            )
        axes.set_xticks([*places, end], [*(above(row.epsilon) for row in finite), "∞"])
        axes.set_xlim(places[0] - 0.5, end + 0.4)
        axes.margins(y=0.12)
        axes.set_xlabel("ε per user (logarithmic; ∞ = no noise)")
        axes.set_ylabel("RMSE, stars")
        return _svg(figure, "Prediction error against epsilon")


def popularity(rows: Sequence[Row]) -> str:
    """RMSE by popularity of the item, one line for each ε.

    Args:
        rows: of one model and its references; at most five of the model are drawn.

    Returns:
        SVG.
    """
    model = [row for row in rows if row.name not in REFERENCES][-len(_SHADES) :]
    with _figure(3.4) as (figure, axes):
        for shade, mark, row in zip(_SHADES, _MARKS, model, strict=False):
            label = "ε = ∞" if math.isinf(row.epsilon) else f"ε = {above(row.epsilon)}"
            axes.plot(range(5), row.fifths, marker=mark, color=shade, label=label)
        for row in rows:
            if row.name == "item average":
                axes.plot(range(5), row.fifths, "--", color=_GREY, linewidth=1, label=row.name)
        axes.set_xticks(range(5), ["least\nrated", "2nd", "3rd", "4th", "most\nrated"])
        axes.set_xlabel("fifth of the catalogue, by number of training ratings")
        axes.set_ylabel("RMSE, stars")
        axes.legend(frameon=False, fontsize=9)
        return _svg(figure, "Prediction error by popularity of the item")


def budget_split(statement: Statement) -> str:
    """How the budget went to the measurements, as one stacked bar.

    Args:
        statement: of a release.

    Returns:
        SVG.
    """
    parts = [m for m in statement.measurements if m.share]
    start = 0.0
    with _figure(1.7) as (figure, axes):
        for colour, part in zip(_PARTS, parts, strict=False):
            label = f"{part.name} {part.share:.1%}"
            axes.barh(0, part.share, left=start, color=colour, edgecolor="white", label=label)
            start += part.share
        axes.set_xlim(0, 1)
        axes.set_ylim(-0.4, 0.4)
        axes.set_yticks([])
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        axes.spines["left"].set_visible(False)
        figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9)
        return _svg(figure, "Shares of the privacy budget")


def figure(
    rows: "pl.DataFrame",
    named: Mapping[str, Curve],
    levels: Sequence[str] = (),
    *,
    title: str = "Prediction error against epsilon",
    limits: tuple[float, float] | None = None,
) -> str:
    """RMSE against ε on a logarithmic axis with bands of 95 %, references as dashed lines.

    Args:
        rows: of one grid.
        named: curves by the label that stands beside their ends; at most six look different.
        levels: names of references, or of curves of which the baseline without noise is meant.
        title: read aloud in place of the picture.
        limits: lowest and highest RMSE that is drawn; what lies outside is cut off.

    Returns:
        SVG.

    Raises:
        ConfigError: A curve or a reference is not there.

    Privacy: private, as the rows.
    """
    lines = list(summary(rows).iter_rows(named=True))
    with _figure(4.0, width=7.2) as (drawing, axes):
        axes.set_xscale("log")
        ends: list[tuple[str, float, float, dict[str, Any]]] = []  # label, where its line ends, how it looks
        for place, (label, curve) in enumerate(named.items()):
            colour, mark = _PARTS[place % len(_PARTS)], _MARKS[place % len(_MARKS)]
            mine = [p for p in lines if Curve(*(p[f] for f in Curve._fields)) == curve]
            mine = sorted((p for p in mine if math.isfinite(p["epsilon"])), key=lambda p: p["epsilon"])
            if not mine:
                raise ConfigError(f"there is no curve {curve!s} among these rows")
            at, errors, low, high = ([p[f] for p in mine] for f in ("epsilon", "rmse", "low", "high"))
            look: dict[str, Any] = {"color": colour, "marker": mark, "markersize": 4.5, "linewidth": 1.5}
            axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(at, errors, **look)
            ends.append((label, at[-1], errors[-1], look))
        ticks = _apart(sorted({p["epsilon"] for p in lines if math.isfinite(p["epsilon"])}))
        axes.set_xticks(ticks, [above(e) for e in ticks])
        axes.minorticks_off()
        right = axes.get_xlim()[1]
        for name in levels:
            found = [p["rmse"] for p in lines if p["name"] == name and math.isinf(p["epsilon"])]
            if len(found) != 1:
                raise ConfigError(f"{name!r} is {len(found)} references or curves without noise, not one")
            level = found[0]
            look = {"color": _GREY, "linestyle": "--", "linewidth": 1}
            axes.axhline(level, zorder=0, **look)
            ends.append((f"{name} {level:.4f}", right, level, look))
        axes.set_xlim(right=right)
        axes.set_ylim(limits)
        _name(axes, ends)
        axes.set_xlabel("ε (logarithmic)")
        axes.set_ylabel("RMSE, stars")
        return _svg(drawing, title)


def _name(axes: "Axes", ends: Sequence[tuple[str, float, float, dict[str, Any]]]) -> None:
    """A legend right of the axes, every line in the order of its curve's end and joined to it."""
    bottom, top = axes.get_ylim()
    heights = _spread([(level - bottom) / (top - bottom) for _, _, level, _ in ends])
    for (label, at, level, look), height in zip(ends, heights, strict=True):
        join = {"arrowstyle": "-", "color": look["color"], "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
        axes.annotate(
            "",
            (at, min(max(level, bottom), top)),
            (1.06, height),
            textcoords="axes fraction",
            arrowprops=join,
            annotation_clip=False,
        )
        axes.plot(
            [1.06, 1.09, 1.12], [height] * 3, transform=axes.transAxes, clip_on=False, markevery=[1], **look
        )
        axes.text(
            1.14, height, escaped(label), parse_math=False, transform=axes.transAxes, va="center", fontsize=9
        )


def _apart(ticks: Sequence[float]) -> list[float]:
    """So many of the ticks that their numbers do not touch on a logarithmic axis."""
    kept: list[float] = []
    room = math.log(ticks[-1] / ticks[0]) / 14 if ticks else 0.0
    for tick in ticks:
        if not kept or math.log(tick / kept[-1]) >= room:
            kept.append(tick)
    return kept


def _spread(wanted: Sequence[float]) -> list[float]:
    """Heights as near to those wanted as lets a line of text stand at each, from 0 to 1 if they fit."""
    gap, rising = 0.065, sorted(range(len(wanted)), key=wanted.__getitem__)
    heights, floor = [0.0] * len(wanted), -math.inf
    for place in rising:
        heights[place] = floor = max(min(max(wanted[place], 0.0), 1.0), floor + gap)
    ceiling = 1.0
    for place in reversed(rising):
        heights[place] = min(heights[place], ceiling)
        ceiling = heights[place] - gap
    return heights


@contextmanager
def _figure(height: float, width: float = _WIDTH) -> Iterator[tuple["Figure", "Axes"]]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: Any = {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.fonttype": "none",  # letters stay letters: small, searchable, read aloud
        "svg.hashsalt": "hushrec",  # the same figure gives the same bytes
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()


def _svg(figure: "Figure", title: str) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)
