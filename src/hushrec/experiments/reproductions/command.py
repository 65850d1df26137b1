"""The command that every reproduction has: make the runs that are missing, then write the page.

Privacy: private. Runs are seeded and errors are measured on held-out ratings; pages show averages of them.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.errors import ConfigError, HushrecError
from hushrec.escapes import escaped
from hushrec.experiments.grid import Grid
from hushrec.experiments.runner import Experiment
from hushrec.experiments.work import Work

GRIDS = Path(__file__).parent / "grids"
Works = Callable[[Path], Mapping[str, Work[Any]]]
"""From the folder of the ratings to every experiment, by the name of its table."""


def grids(*names: str) -> Works:
    """Grids of this package."""
    return lambda ratings: {name: Grid.open(GRIDS / f"{name}.toml", ratings) for name in names}


def reproduce(works: Works, page: Callable[[Path, Path], None], about: str, asked: list[str] | None) -> None:
    """Run a reproduction from the command line.

    Args:
        works: what is run.
        page: writes page, figures and CSV, from a folder of tables into another one.
        about: shown by ``--help``.
        asked: arguments; those of the process by default.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder of the tables of runs, Parquet; private")
    parser.add_argument("pages", type=Path, help="folder of the page, its figures and its CSV")
    parser.add_argument(
        "--ratings", type=Path, help="folder of the rating files; without it, no run is made: only the page"
    )
    parser.add_argument("--workers", type=int, default=1, help="runs at once, each in its process")
    given = parser.parse_args(asked)
    try:
        if given.ratings:
            for name, work in works(given.ratings.resolve()).items():
                _run(work, given.results / f"{name}.parquet", given.workers)
        page(given.results, given.pages)
    except HushrecError as error:
        raise SystemExit(str(error)) from None


def read(results: Path, *names: str) -> dict[str, pl.DataFrame]:
    """Tables of finished runs, by name. Privacy: private."""
    paths = {name: results / f"{name}.parquet" for name in names}
    if absent := [path for path in paths.values() if not path.exists()]:
        raise ConfigError(f"{absent[0]} is not there; give --ratings, and the runs are made first")
    return {name: pl.read_parquet(path) for name, path in paths.items()}


def _run(work: Work[Any], out: Path, workers: int) -> None:
    experiment = Experiment(work, out)
    missing, failed = len(experiment.missing()), 0
    for number, done in enumerate(experiment.run(workers), start=1):
        print(f"{out.stem}: {number:,} of {missing:,} runs", flush=True)
        if done.error:
            failed += 1
            print(escaped(f"failed: {done.case.name}: {done.error}"), flush=True)
    experiment.table()
    if failed:
        raise ConfigError(f"{failed:,} runs of {out.stem} failed; start again to try them again")
