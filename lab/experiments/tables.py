"""Tables of a results page, in Markdown.

Privacy: private, as the rows.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from hushrec.text import above
from lab.experiments.reading import Curve, crossing, summary, unpriced

UNPRICED = "†"
"""Marks a curve for whose noise no finite ε is known."""
_POINT = (*Curve._fields, "epsilon")


def marked(rows: pl.DataFrame, named: Mapping[str, Curve]) -> dict[str, Curve]:
    """The curves by label, those for whose noise no finite ε is known with a mark."""
    doubted = unpriced(rows)
    return {f"{label} {UNPRICED}" if curve in doubted else label: curve for label, curve in named.items()}


def points(rows: pl.DataFrame, curve: Curve) -> dict[float, dict[str, Any]]:
    """ε to the line of the summary, of a curve's finite ε."""
    mine = rows.filter(*(pl.col(f).eq_missing(pl.lit(v)) for f, v in curve._asdict().items()))
    lines = summary(mine.filter(pl.col("epsilon").is_finite())).iter_rows(named=True)
    return {line["epsilon"]: line for line in lines}


def spread(line: Mapping[str, Any] | None) -> str:
    """RMSE ± half the 95 % interval of a summary's line; nothing of no line."""
    if line is None:
        return ""
    half = (line["high"] - line["low"]) / 2
    return f"{line['rmse']:.4f}" if math.isnan(half) else f"{line['rmse']:.4f} ± {half:.4f}"


def errors(
    rows: pl.DataFrame,
    named: Mapping[str, Curve],
    epsilons: Sequence[float],
    levels: Sequence[str] = (),
) -> str:
    """RMSE and its spread of every curve at every ε; references below. Curves without a run are left out.

    Args:
        rows: of one grid.
        named: curves by the label that they are shown under.
        epsilons: columns; infinity is the baseline without noise.
        levels: names of references.
    """
    lines: dict[tuple[str | float | None, ...], str] = {}
    for line in summary(rows).iter_rows(named=True):
        key = (
            (line["name"], line["analysis"]) if math.isinf(line["epsilon"]) else tuple(map(line.get, _POINT))
        )
        lines[key] = spread(line)
    body: list[list[str]] = []
    for label, curve in named.items():
        keys = ((curve.name, curve.analysis) if math.isinf(e) else (*curve, float(e)) for e in epsilons)
        body.append([label, *(lines.get(key, "") for key in keys)])
    body += [[name, *[""] * (len(epsilons) - 1), lines.get((name, None), "")] for name in levels]
    header = ["", *("no noise" if math.isinf(e) else f"ε = {above(e)}" for e in epsilons)]
    return markdown(header, [line for line in body if any(line[1:])])


def crossings(
    rows: pl.DataFrame,
    named: Mapping[str, Curve],
    levels: Sequence[str],
    printed: Mapping[tuple[str, str], float | str] | None = None,
) -> str:
    """The ε at which every curve crosses every reference, with its 95 % interval, beside the paper's.

    Args:
        rows: of one grid.
        named: curves by the label that they are shown under.
        levels: names of references.
        printed: (label, reference) → the figure in the paper.
    """
    paper = printed or {}
    header, body = [""], [[label] for label in named]
    for level in levels:
        header += [f"crosses {level} at ε ="] + ["in the paper"] * bool(paper)
        for line, (label, curve) in zip(body, named.items(), strict=True):
            line.append(str(crossing(rows, curve, level)))
            if paper:
                figure = paper.get((label, level), "")
                line.append(figure if isinstance(figure, str) else f"{figure:g}")
    return markdown(header, body)


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table; its first column is text, the others are figures."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def placed(text: str, mark: str, made: str) -> str:
    """A page with a part between a mark and the next end of a table; unchanged without the mark."""
    if f"{mark}\n" not in text:
        return text
    start = text.index(f"{mark}\n") + len(mark) + 1
    inside = f"{made.rstrip()}\n" if made.strip() else ""
    return text[:start] + inside + text[text.index("<!-- end of table -->", start) :]
