"""Tables of a grid for a paper, in LaTeX with booktabs.

Privacy: private, as the rows.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from hushrec.escapes import escaped
from hushrec.evaluation.metrics import METRICS
from hushrec.evaluation.protocol import WARNING
from hushrec.experiments.reading import Curve, exact, labels, metrics, references, summary
from hushrec.experiments.tables import conditions, marked
from hushrec.figures import above

_SIGNS = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "ρ": r"$\rho$",
    "σ": r"$\sigma$",
    "θ": r"$\theta$",
    "λ": r"$\lambda$",
    "†": r"$\dagger$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "∞": r"$\infty$",
}


def tables(rows: pl.DataFrame, data: str) -> str:
    """A table for every metric: ε down, curves across, the best of each line in bold; references below.

    Noise for which no finite ε is known has a mark and is never bold; models without a curve stand below.
    A cell is the mean over splits, with the distances to the ends of its 95 % interval if there is more than
    one split.

    Args:
        rows: of one grid.
        data: how the data set is called.

    Returns:
        LaTeX that needs ``\\usepackage{booktabs}``.
    """
    head = f"% {WARNING}\n% Needs \\usepackage{{booktabs}}.\n"
    return head + "".join(_table(rows, metric, data) for metric in metrics(rows))


def _table(rows: pl.DataFrame, metric: str, data: str) -> str:
    named = marked(rows, labels(rows, metric), metric)
    curves, lines = list(named.values()), list(summary(rows, metric=metric).iter_rows(named=True))
    noisy = {
        (Curve(*(p[f] for f in Curve._fields)), p["epsilon"]): p for p in lines if math.isfinite(p["epsilon"])
    }
    plain = {p["name"]: p for p in lines if math.isinf(p["epsilon"])}
    body = [
        [above(epsilon), *_cells([noisy.get((curve, epsilon)) for curve in curves], metric)]
        for epsilon in sorted({epsilon for _, epsilon in noisy})
    ]
    curved, without = {curve.name for curve in curves}, exact(rows, metric)
    alone, bare = ([n for n in without if (n in curved) == having] for having in (True, False))
    if alone:
        body.append(
            [r"$\infty$", *_cells([plain[c.name] if c.name in alone else None for c in curves], metric)]
        )
    foot = [
        rf"{text(name)} & \multicolumn{{{max(len(curves), 1)}}}{{c}}{{{_cell(plain[name], metric)}}} \\"
        for name in (*references(rows, metric), *bare)
    ]
    shown = metric if "@" in metric else metric.upper()
    best = "least" if metric in METRICS else "most"
    said = "; ".join([data, *conditions(rows, curves, without, metric)]).replace("bands and ", "")
    known = "; $\\infty$: the same model without noise" if alone else ""
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{text(shown)} ({text(said)}{known}). In bold: the {best} of a line. "
            rf"NOT PRIVATE: measured on held-out data.}}",
            rf"\begin{{tabular}}{{r{'c' * max(len(curves), 1)}}}",
            r"\toprule",
            rf"$\varepsilon$ & {' & '.join(map(text, named))} \\",
            r"\midrule",
            *(f"{' & '.join(line)} \\\\" for line in body),
            *([r"\midrule", *foot] if foot else []),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _cells(found: Sequence[dict[str, Any] | None], metric: str) -> Iterator[str]:
    """The cells of a line; the best is bold, as are those that show the same number."""
    shown = [f"{p[metric]:.4f}" for p in found if p and not _is_unpriced(p)]
    best = (min if metric in METRICS else max)(shown, key=float, default="")
    for p in found:
        yield "" if p is None else _cell(p, metric, bold=f"{p[metric]:.4f}" == best and not _is_unpriced(p))


def _is_unpriced(p: dict[str, Any]) -> bool:
    return math.isfinite(p["epsilon"]) and p["true_epsilon"] == math.inf


def _cell(p: dict[str, Any], metric: str, *, bold: bool = False) -> str:
    value = f"{p[metric]:.4f}"
    if bold:
        value = rf"\mathbf{{{value}}}"
    if math.isnan(p["low"]):
        return f"${value}$"
    return f"${value}_{{-{p[metric] - p['low']:.4f}}}^{{+{p['high'] - p[metric]:.4f}}}$"


def text(words: str) -> str:
    """Words as LaTeX prints them, whatever signs they have."""
    return "".join(_SIGNS.get(sign, sign) for sign in escaped(words))
