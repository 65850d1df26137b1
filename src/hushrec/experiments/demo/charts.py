"""The figures of the demonstration's report, as SVG text: to be put into a page, or into a file as it is."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushrec.experiments.demo.clicks import ListRow
from hushrec.experiments.demo.sweep import REFERENCES, Row
from hushrec.experiments.plots import COLOURS, GREY, MARKS, REFERENCE, canvas, svg
from hushrec.figures import above
from hushrec.release.statement import Statement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHADES = ("#9ECAE1", "#6BAED6", "#3182BD", "#08519C", "#08306B")  # light to dark: by lightness, not by hue


def curve(rows: Sequence[Row]) -> str:
    """RMSE against ε on a logarithmic axis with ∞ at its right end; references as dashed lines.

    Args:
        rows: of one model and its references.

    Returns:
        SVG.
    """
    model = [row for row in rows if row.name not in REFERENCES]
    without_noise = next(row for row in model if math.isinf(row.epsilon))
    with canvas(3.4) as (figure, (axes,)):
        places = _places(axes, model)
        _line(axes, places, [row.rmse for row in model], [row.deviation for row in model])
        lines = [(row.name, row.rmse, 4) for row in rows if row.name in REFERENCES]
        for name, level, lift in [*lines, (f"{without_noise.name} without noise", without_noise.rmse, -13)]:
            axes.axhline(level, zorder=0, **REFERENCE)
            _name(axes, f"{name}  {level:.3f}", places[0], level, lift)
        axes.set_ylabel("RMSE, stars")
        return svg(figure, "Prediction error against epsilon")


def list_curve(rows: Sequence[ListRow]) -> str:
    """nDCG@100 against ε on a logarithmic axis with ∞ at its right end; popularity as a dashed line.

    Args:
        rows: of one model, without noise last.

    Returns:
        SVG.
    """
    with canvas(3.4) as (figure, (axes,)):
        places, popular = _places(axes, rows), [row.popular.ndcg for row in rows]
        _line(axes, places, [row.found.ndcg for row in rows], [row.deviation for row in rows])
        axes.plot(places, popular, **REFERENCE)
        _name(
            axes, f"popularity at the same ε  {popular[0]:.3f} to {popular[-1]:.3f}", places[0], popular[0], 5
        )
        axes.set_ylabel("nDCG@100 (more is better)")
        return svg(figure, "What lists find, against epsilon")


def _places(axes: "Axes", rows: Sequence[Row] | Sequence[ListRow]) -> list[float]:
    """Where the rows' ε, of which the last is infinite, are on the axis, which gets its labels."""
    finite = [math.log2(row.epsilon) for row in rows[:-1]]
    end = finite[-1] + max(1.0, (finite[-1] - finite[0]) / 4)
    axes.set_xticks([*finite, end], [*(above(row.epsilon) for row in rows[:-1]), "∞"])
    axes.set_xlim(finite[0] - 0.5, end + 0.4)
    axes.margins(y=0.12)
    axes.set_xlabel("ε per user (logarithmic; ∞ = no noise)")
    return [*finite, end]


def _line(axes: "Axes", places: list[float], levels: list[float], deviations: list[float]) -> None:
    """A model's line with its numbers, dotted where it goes on to ∞."""
    errors = [0 if math.isnan(deviation) else deviation for deviation in deviations]
    axes.errorbar(places, levels, yerr=errors, fmt="none", ecolor=COLOURS[0], capsize=3)
    axes.plot(places[:-1], levels[:-1], "o-", color=COLOURS[0])
    axes.plot(places[-2:], levels[-2:], "o:", color=COLOURS[0], markevery=[1])
    for place, level, error in zip(places, levels, errors, strict=True):
        above_it = (place, level + error)
        axes.annotate(f"{level:.3f}", above_it, (0, 7), textcoords="offset points", ha="center")


def _name(axes: "Axes", text: str, place: float, level: float, lift: int) -> None:
    axes.annotate(text, (place, level), (-14, lift), textcoords="offset points", color=GREY)


def popularity(rows: Sequence[Row]) -> str:
    """RMSE by popularity of the item, one line for each ε.

    Args:
        rows: of one model and its references; at most five of the model are drawn.

    Returns:
        SVG.
    """
    model = [row for row in rows if row.name not in REFERENCES][-len(_SHADES) :]
    with canvas(3.4) as (figure, (axes,)):
        for shade, mark, row in zip(_SHADES, MARKS, model, strict=False):
            label = "ε = ∞" if math.isinf(row.epsilon) else f"ε = {above(row.epsilon)}"
            axes.plot(range(5), row.fifths, marker=mark, color=shade, label=label)
        for row in rows:
            if row.name == "item average":
                axes.plot(range(5), row.fifths, "--", color=GREY, linewidth=1, label=row.name)
        axes.set_xticks(range(5), ["least\nrated", "2nd", "3rd", "4th", "most\nrated"])
        axes.set_xlabel("fifth of the catalogue, by number of training ratings")
        axes.set_ylabel("RMSE, stars")
        axes.legend(frameon=False, fontsize=9)
        return svg(figure, "Prediction error by popularity of the item")


def budget_split(statement: Statement) -> str:
    """How the budget went to the measurements, as one stacked bar.

    Args:
        statement: of a release.

    Returns:
        SVG.
    """
    parts = [m for m in statement.measurements if m.share]
    start = 0.0
    with canvas(1.7) as (figure, (axes,)):
        for colour, part in zip(COLOURS, parts, strict=False):
            label = f"{part.name} {part.share:.1%}"
            axes.barh(0, part.share, left=start, color=colour, edgecolor="white", label=label)
            start += part.share
        axes.set_xlim(0, 1)
        axes.set_ylim(-0.4, 0.4)
        axes.set_yticks([])
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        axes.spines["left"].set_visible(False)
        figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9)
        return svg(figure, "Shares of the privacy budget")
