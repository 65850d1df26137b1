"""The commands of ``python -m lab``, run from the root of the repository. Their results are not private."""

import ast
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from hushrec import files
from hushrec.cli import console, options
from hushrec.documents.document import Table
from hushrec.errors import ConfigError
from hushrec.text import escaped

if TYPE_CHECKING:
    import polars as pl

    from lab.experiments.runner import Work
    from lab.reproduction import Reproduction

DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of named data sets; by default, where lab data get keeps them."),
]
Workers = Annotated[int, typer.Option(min=1, help="How many runs at once, each in its own process.")]


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which; without it, all are listed.")] = None,
    data: DataFolder = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch data sets that are not there.")] = False,
    results: Annotated[Path, typer.Option(help="Folder of the finished runs; private.")] = Path("runs"),
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the page, its figures and its CSV.")
    ] = Path("reproduced"),
    workers: Workers = 1,
    no_runs: Annotated[
        bool, typer.Option("--no-runs", help="Make no run: only the page of those that are there.")
    ] = False,
) -> None:
    """Make a paper's figures and tables again. NOT private.

    Continues where an earlier start stopped.
    """
    from hushrec.evaluation.protocol import WARNING
    from lab.experiments import datasets
    from lab.reproduction import MODULES, named

    if name is None:
        _list({each: named(each) for each in MODULES})
        return
    made = named(name)
    if not no_runs:
        if fetch:
            for known in made.sets:
                with console.working(f"fetching {known}"):
                    datasets.fetch(known, data)
        _run(made.works(data.resolve() if data else None), results, workers)
    with files.refusing(out, "written", ConfigError, "choose another folder with -o"):
        out.mkdir(parents=True, exist_ok=True)
    made.page(results, out)
    console.say(f"{WARNING}\n\nWrote {out / name}.md")


def _list(known: "Mapping[str, Reproduction]") -> None:
    rows = [
        (name, made.paper, made.makes, ", ".join(made.sets), str(made.minutes))
        for name, made in known.items()
    ]
    console.show_blocks([Table("Tables", ("name", "paper", "makes", "data", "minutes"), rows, left=4)])
    console.say("Minutes are those of one core.")


def _run(works: "Mapping[str, Work[Any]]", folder: Path, workers: int) -> None:
    """Make the runs that are missing."""
    from rich.progress import Progress

    from lab.experiments.runner import Experiment

    failed = 0
    with Progress(console=console.err(), transient=True) as progress:
        for name, work in works.items():
            experiment = Experiment(work, folder / f"{name}.parquet")
            total, missing = len(experiment.cases), len(experiment.missing())
            task = progress.add_task(name, total=total, completed=total - missing)
            for done in experiment.run(workers):
                progress.advance(task)
                if done.error:
                    failed += 1
                    said = f"failed: {name}: {done.case.name}: {done.error}"
                    progress.console.print(escaped(said), soft_wrap=True)
            experiment.table()
    if failed:
        raise ConfigError(f"{failed:,} runs failed; start again to try them again")


def grid(
    file: Annotated[Path, typer.Argument(metavar="GRID", help="The grid, TOML.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The table to write, .parquet or .csv; by default the grid's name and .parquet."),
    ] = None,
    workers: Workers = 1,
    data: DataFolder = None,
) -> None:
    """Run a grid of models, budgets and splits. NOT private.

    Continues where an earlier run of the same grid stopped.
    """
    from rich.progress import Progress

    from hushrec.evaluation.protocol import WARNING
    from lab.experiments.grid import Grid
    from lab.experiments.runner import Experiment

    table = out or Path(file.name).with_suffix(".parquet")
    options.require_suffix(table, "--out", ".parquet", ".csv")
    with console.working("reading the grid"):
        asked = Grid.open(file, data)
        described = Experiment(asked, table)
        missing = len(described.missing())
    failed = 0
    with Progress(console=console.err(), transient=True) as progress:
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
    console.say(f"Wrote {table}: {total:,} runs, {missing:,} of them now, {failed:,} failed")
    if failed:
        console.say("Run the same command to retry the failed runs.")
        raise typer.Exit(1)


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


data = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="List or fetch public data sets.")


@data.command("list")
def list_() -> None:
    """List the data sets that can be fetched."""
    from lab.experiments.datasets import FETCHED, SETS

    rows = []
    for name, archive in FETCHED.items():
        lo, hi, step = SETS[name].frame["scale"]
        users = f"≤ {SETS[name].frame['max_users']:,}"
        rows.append((name, f"{lo:g} to {hi:g} by {step:g}", urlsplit(archive.urls[0]).netloc, users))
    console.show_blocks([Table("Data sets", ("name", "scale", "from", "users"), rows, left=3)])


@data.command()
def get(
    name: Annotated[str, typer.Argument(help="Name of the data set, as python -m lab data list shows it.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="An archive that you fetched yourself; it is verified too.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--to", help="Where data sets are kept; the cache folder by default.")
    ] = None,
) -> None:
    """Fetch a data set, verify its checksum, and unpack it."""
    from lab.experiments.datasets import SETS, get

    with console.working(f"fetching {name}"):
        ratings, catalogue = get(name, directory, source)
    lo, hi, step = SETS[name].frame["scale"]
    for line in (
        f"Ratings:   {ratings}",
        f"Catalogue: {catalogue}",
        f"Next: hushrec domain --items {catalogue} --scale {lo:g} {hi:g} {step:g} "
        f"--max-users {SETS[name].frame['max_users']} -o domain.json",
    ):
        console.say(line)


_LAB = Path(__file__).parent
FOLDERS = (_LAB / "scoreboard", _LAB / "speed")


def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which; without it, all are listed.")] = None,
) -> None:
    """Run a benchmark; what follows its name are its own options.

    Speed, memory, and models beside those of other packages, on public or made-up data.
    """
    scripts = {path.stem: path for path in sorted(_scripts(), key=lambda path: path.stem)}
    if name is None:
        rows = [
            (stem, (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0])
            for stem, path in scripts.items()
        ]
        console.show_blocks([Table("Benchmarks", ("name", "measures"), rows, left=2)])
        return
    if name not in scripts:
        raise ConfigError(f"there is no benchmark {name!r}; there are {', '.join(scripts)}")
    paths = os.pathsep.join(filter(None, [str(_LAB.parent), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, str(scripts[name]), *context.args]
    raise typer.Exit(subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}).returncode)


def _scripts() -> list[Path]:
    every = [path for folder in FOLDERS for path in folder.glob("*.py")]
    return [path for path in every if "__main__" in path.read_text("utf-8")]
