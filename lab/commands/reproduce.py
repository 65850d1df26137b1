"""``python -m lab reproduce``: a paper's figures and tables, made again; the results are not private."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec import files
from hushrec.cli import console
from hushrec.documents.document import Table
from hushrec.errors import ConfigError
from hushrec.text import escaped

if TYPE_CHECKING:
    from lab.experiments.work import Work
    from lab.reproduction import Reproduction


def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which; without it, all are listed.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data sets; by default, where lab data get keeps them."),
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch data sets that are not there.")] = False,
    results: Annotated[Path, typer.Option(help="Folder of the finished runs; private.")] = Path("runs"),
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the page, its figures and its CSV.")
    ] = Path("reproduced"),
    workers: Annotated[int, typer.Option(min=1, help="How many runs at once, each in its own process.")] = 1,
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
    """Make the runs that are missing.

    Raises:
        ConfigError: Some failed.
    """
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
