"""``python -m lab grid``: run a grid of fits; the results are not private."""

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console, options
from hushrec.documents.document import Table
from hushrec.errors import ExtraMissing
from hushrec.text import escaped

if TYPE_CHECKING:
    import polars as pl
    from rich.progress import Progress


def grid(
    file: Annotated[Path, typer.Argument(metavar="GRID", help="The grid, TOML.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The table to write, .parquet or .csv; by default the grid's name and .parquet."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="How many runs at once, each in its own process.")] = 1,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of named data sets; by default, where lab data get keeps them."),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Also draw the curves: .svg, .pdf or .png.")] = None,
) -> None:
    """Run a grid of models, budgets and splits. NOT private.

    Continues where an earlier run of the same grid stopped.
    """
    from hushrec.evaluation.protocol import WARNING
    from lab.experiments.grid import Grid
    from lab.experiments.runner import Experiment

    table = out or Path(file.name).with_suffix(".parquet")
    options.require_suffix(table, "--out", ".parquet", ".csv")
    if figure:
        options.require_suffix(figure, "--figure", ".svg", ".pdf", ".png")
        if find_spec("matplotlib") is None:
            raise ExtraMissing("--figure needs matplotlib: pip install -r lab/requirements.txt")
    with console.working("reading the grid"):
        asked = Grid.open(file, data)
        described = Experiment(asked, table)
        missing = len(described.missing())
    failed = 0
    with _progress() as progress:
        total = len(described.cases)
        task = progress.add_task("runs", total=total, completed=total - missing)
        for done in described.run(workers):
            progress.advance(task)
            if done.error:
                failed += 1
                at = f", {done.case.budget}" if done.case.budget else ""
                where = f"{done.case.name}{at}, split {done.case.split}"
                progress.console.print(escaped(f"failed: {where}: {done.error}"), soft_wrap=True)
    with console.working("writing the table"):
        rows = described.table()
    console.say(f"{WARNING}\n")
    _print_values(rows)
    _print_crossings(rows)
    if figure:
        _draw(rows, figure, asked.data.title)
        console.say(f"Wrote {figure}")
    console.say(f"Wrote {table}: {total:,} runs, {missing:,} of them now, {failed:,} failed")
    if failed:
        console.say("Run the same command to retry the failed runs.")
        raise typer.Exit(1)


def _progress() -> "Progress":
    """A bar of finished runs and remaining time. Runs are public; their errors are not shown."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console.err(), transient=True)


def _print_values(rows: "pl.DataFrame") -> None:
    from hushrec.evaluation.compare import METRICS
    from hushrec.text import above
    from lab.experiments.reading import Curve, labels, metrics, summary

    shown, label = {curve: label for label, curve in labels(rows).items()}, ""
    metric, *others = metrics(rows)
    others = [name for name in others if name not in METRICS]
    columns = (_named(metric), "95 % interval", *others, "runs", "fit s", "predict s")
    listed = []
    for line in summary(rows).iter_rows(named=True):
        curve = Curve(*(line[field] for field in Curve._fields))
        before, label = label, shown.get(curve, curve.name)
        row = (
            "" if label == before else label,
            above(line["epsilon"]),
            "" if line["true_epsilon"] is None else above(line["true_epsilon"], 3),
            f"{line[metric]:.4f}",
            f"{line['low']:.4f} to {line['high']:.4f}" if line["splits"] > 1 else "",
            *("" if math.isnan(line[name]) else f"{line[name]:.4f}" for name in others),
            str(line["runs"]),
            *("" if line[s] is None else f"{line[s]:.1f}" for s in ("fit_seconds", "predict_seconds")),
        )
        listed.append(row)
    console.show_blocks([Table("Values", ("", "ε", "true ε", *columns), listed)])
    console.say("")


def _print_crossings(rows: "pl.DataFrame") -> None:
    from hushrec.evaluation.compare import METRICS
    from lab.experiments.reading import crossing, labels, metrics, references
    from lab.experiments.tables import UNPRICED, marked

    levels, named = references(rows), marked(rows, labels(rows))
    metric = metrics(rows)[0]
    if levels and named:
        side = "falls below" if metric in METRICS else "exceeds"
        listed = [
            (label, *(str(crossing(rows, curve, level)) for level in levels))
            for label, curve in named.items()
        ]
        heads = (f"ε at which {_named(metric)} {side}", *levels)
        console.show_blocks([Table("Crossings", heads, listed)])
        if any(UNPRICED in label for label in named):
            console.say(f"{UNPRICED} no ε is known for this noise: not private, ε only names its points")
        console.say("")


def _named(metric: str) -> str:
    """As people write it: RMSE, but recall@20."""
    return metric if "@" in metric else metric.upper()


def _draw(rows: "pl.DataFrame", path: Path, data: str) -> None:
    from lab.experiments import plots
    from lab.experiments.reading import exact, labels, references

    plots.write(path, rows, labels(rows), [*references(rows), *exact(rows)], data=data)
