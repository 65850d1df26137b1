"""Tables of a results page, in Markdown.

Privacy: private, as the rows.
"""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from hushrec.experiments.reading import Curve, crossing, summary
from hushrec.figures import above


def errors(
    rows: pl.DataFrame, named: Mapping[str, Curve], epsilons: Sequence[float], levels: Sequence[str] = ()
) -> str:
    """RMSE ± half the 95 % interval of every curve at every ε; references below.

    Args:
        rows: of one grid.
        named: curves by the label that they are shown under.
        epsilons: columns; infinity is the baseline without noise.
        levels: names of references.
    """
    lines = {
        (Curve(*line[:4]), line[4]): _spread(*line[5:])
        for line in summary(rows).select(*Curve._fields, "epsilon", "rmse", "low", "high").iter_rows()
    }
    plain = {(curve.name, curve.analysis): shown for (curve, e), shown in lines.items() if math.isinf(e)}
    body = [
        [
            label,
            *(
                plain.get((c.name, c.analysis), "") if math.isinf(e) else lines.get((c, e), "")
                for e in epsilons
            ),
        ]
        for label, c in named.items()
    ]
    body += [[name, *[""] * (len(epsilons) - 1), plain.get((name, None), "")] for name in levels]
    return markdown(["", *("no noise" if math.isinf(e) else f"ε = {above(e)}" for e in epsilons)], body)


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


def _spread(value: float, low: float, high: float) -> str:
    return f"{value:.4f}" if math.isnan(low) else f"{value:.4f} ± {(high - low) / 2:.4f}"
