"""How a results page is written: a template whose parts are tables and figures, and the CSV behind them.

Privacy: private, as what is written.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from lab.experiments.plots import COLOURS, figure
from lab.experiments.reading import Curve, labels, references, summary
from lab.experiments.tables import markdown
from lab.experiments.work import Work
from lab.reproductions.reproduction import Line, Reproduction

_TEMPLATES = Path(__file__).parent / "pages"
_OF_CURVE = dict.fromkeys(Curve._fields, pl.String)


def page(name: str, parts: Mapping[str, str], folder: Path) -> None:
    """Write a page: its template, with the parts where it names them as ``{{ part }}``.

    Raises:
        KeyError: The template and the parts do not name the same.
    """
    text = (_TEMPLATES / f"{name}.md").read_text(encoding="utf-8")
    for part, made in parts.items():
        if f"{{{{ {part} }}}}\n" not in text:
            raise KeyError(f"the template of {name} does not name the part {part!r}")
        text = text.replace(f"{{{{ {part} }}}}\n", made)
    if "{{" in text:
        raise KeyError("the template names a part that is not made: " + text[text.index("{{") :][:60])
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def picture(drawn: str, name: str, title: str, folder: Path) -> str:
    """Write a figure that is kept; its line in a page."""
    (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
    return f"![{title}]({name}.svg)\n"


def redrawn(drawn: str, name: str, title: str, folder: Path) -> str:
    """Write a figure of the page's CSV, which is not kept; the line of a page that says how to draw it."""
    (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
    return f"{title}: `make figures` draws `lab/results/{name}.svg`.\n"


def curves(data: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Write what is averaged over splits of every grid, as CSV."""
    lines = [summary(rows).with_columns(pl.lit(name).alias("grid")) for name, rows in data.items()]
    columns = ["grid", *Curve._fields, "epsilon", "splits", "runs", "rmse", "low", "high", "mae"]
    columns += ["true_epsilon", "claimed_epsilon", "fit_seconds"]
    pl.concat(lines, how="diagonal_relaxed").select(columns).write_csv(path, float_precision=5)


def stored(path: Path, grids: Mapping[str, Work[Any]]) -> list[pl.DataFrame]:
    """What ``curves`` wrote of some grids, as lines of ``summary``, with models and δ, which the CSV lacks.

    Args:
        path: of the CSV.
        grids: which, by name.
    """
    lines = pl.read_csv(
        path, infer_schema_length=None, schema_overrides={"low": pl.Float64, "high": pl.Float64}
    )
    found = []
    for name, grid in grids.items():
        runs = [{"name": case.name, **case.coordinates()} for case in grid.cases()]
        known = pl.DataFrame(runs, schema={**_OF_CURVE, "model": pl.String, "delta": pl.Float64})
        known = known.unique([*_OF_CURVE], maintain_order=True)
        mine = lines.filter(grid=name).join(known, on=[*_OF_CURVE], how="left", nulls_equal=True)
        found.append(mine.with_columns(pl.col("model").fill_null(pl.col("name"))))
    return found


def comparison(lines: Sequence[Line]) -> str:
    """A paper's figures beside ours, as a table."""
    header = ["", "paper", "published, ours", "corrected, ours", "why they differ"]
    return markdown(header, [list(line) for line in lines])


def small(
    name: str, made: Reproduction, lines: Sequence[Line], data: Mapping[str, pl.DataFrame], folder: Path
) -> None:
    """Write the page of a small part: the comparison, the corrected curves, and the runs as CSV."""
    text = [
        f"# {made.paper}: a small part\n",
        "**Not the results of the reproduction**: few splits, few ε, made by `--quick` to see that it runs. "
        "Noise is seeded, and what is measured on held-out ratings is not private.\n",
        comparison(lines),
    ]
    for table, rows in data.items():
        rows.select(pl.exclude("key")).write_csv(folder / f"{name}-quick-{table}.csv", float_precision=5)
        if "rmse" in rows.columns and "analysis" in rows.columns:
            named = {label: curve for label, curve in labels(rows).items() if curve.analysis == "corrected"}
            first = dict(list(named.items())[: len(COLOURS)])
            drawn = made.draw(rows) if made.draw else figure(rows, first, references(rows))
            text.append(picture(drawn, f"{name}-quick-{table}", f"RMSE against ε, {table}", folder))
    (folder / f"{name}-quick.md").write_text("\n".join(text), encoding="utf-8")
