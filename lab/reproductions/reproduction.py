"""What a reproduction is: the runs of a paper's figures, the page of them, and what they come to beside it.

Privacy: private. Runs are seeded and errors are measured on held-out ratings; pages show averages of them.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from hushrec.errors import ConfigError
from lab.experiments.grid import Grid
from lab.experiments.work import Work

GRIDS = Path(__file__).parent / "grids"
Works = Callable[[Path | None], Mapping[str, Work[Any]]]
"""From the folder of data sets to every experiment, by the name of its table."""
MODULES = {
    "mcsherry-mironov": "mcsherry",
    "friedman": "friedman",
    "liu": "liu",
    "du": "du",
    "figures": "figures",
    "movielens-1m": "movielens",
    "every-set": "choice.every_set",
}
"""Name of a reproduction → the module that has it as ``REPRODUCTION``."""


class Line(NamedTuple):
    """A figure of a paper beside ours: as the paper prints the method, and corrected; and why they differ."""

    what: str
    paper: str
    published: str
    corrected: str
    why: str


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper's experiments.

    Attributes:
        paper: which, or what else is measured.
        makes: what comes of it.
        sets: data sets that a full run needs, and how many of the first a small part needs.
        minutes: of a full run, about, on one quiet core.
        works: the full run.
        quick: a small part of it.
        page: writes page, figures and CSV, from a folder of tables into another one.
        lines: what the tables of either come to.
        draw: the figure of a small part's table of errors, in place of the corrected curves alone.
        figures: draws those of the page's CSV in a folder; their parts of the page, by name.
    """

    paper: str
    makes: str
    sets: tuple[str, ...]
    minutes: int
    works: Works
    quick: Works
    page: Callable[[Path, Path], None]
    lines: Callable[[Mapping[str, pl.DataFrame]], list[Line]]
    draw: Callable[[pl.DataFrame], str] | None = None
    figures: Callable[[Path], dict[str, str]] | None = None


def named(name: str) -> Reproduction:
    """A reproduction.

    Raises:
        ConfigError: There is none of that name.
    """
    if name not in MODULES:
        raise ConfigError(f"there is no reproduction {name!r}; there are {', '.join(MODULES)}")
    module = import_module(f"lab.reproductions.{MODULES[name]}")
    found: Reproduction = module.REPRODUCTION
    return found


def grids(*names: str) -> Callable[[Path | None], dict[str, Grid]]:
    """Grids of this package."""
    return lambda folder: {name: Grid.open(GRIDS / f"{name}.toml", folder) for name in names}


def part(grid: Grid, epsilons: Collection[float]) -> Grid:
    """A small part of a grid: its first split, and of each run the ε that are among these."""
    runs = [(run, tuple(e for e in run.epsilon if e in epsilons)) for run in grid.run]
    few = tuple(run.model_copy(update={"epsilon": kept}) for run, kept in runs if kept)
    split = grid.split.model_copy(update={"only": grid.split.numbers[:1]})
    return grid.model_copy(update={"run": few, "split": split})


def read(results: Path, *names: str) -> dict[str, pl.DataFrame]:
    """Tables of finished runs, by name. Privacy: private."""
    paths = {name: results / f"{name}.parquet" for name in names}
    if absent := [path for path in paths.values() if not path.exists()]:
        raise ConfigError(f"{absent[0]} is not there; leave out --no-runs, and the runs are made first")
    return {name: pl.read_parquet(path) for name, path in paths.items()}
