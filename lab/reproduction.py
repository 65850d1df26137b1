"""What a reproduction is: the runs of a paper's tables and figures, and the page of them.

A page keeps its text, and its tables are made anew; the CSV behind them lies beside it. Runs that no grid
describes are trials: settings by name, and a bench of their own.

Privacy: private. Runs are seeded and errors are measured on held-out ratings; pages show averages of them.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import stdtrit

import hushrec
from hushrec.data.people import People
from hushrec.data.split import holdout
from hushrec.errors import ConfigError
from lab.experiments.grid import Grid
from lab.experiments.reading import Curve, summary
from lab.experiments.results import RUN
from lab.experiments.runner import Bench, Work
from lab.experiments.source import Data, Split
from lab.experiments.tables import placed

GRIDS = Path(__file__).parent / "grids"
Works = Callable[[Path | None], Mapping[str, Work[Any]]]
"""From the folder of data sets to every experiment, by the name of its table."""
MODULES = {
    "mcsherry-mironov": "mcsherry_mironov.reproduction",
    "friedman": "friedman_berkovsky_kaafar.reproduction",
    "liu": "liu_wang_smola.reproduction",
    "du": "du_leighton_patel.reproduction",
    "figures": "friedman_berkovsky_kaafar.figures",
}
"""Name of a reproduction → the module that has it as ``REPRODUCTION``."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper's experiments.

    Attributes:
        paper: which, or what else is measured.
        makes: what comes of it.
        sets: data sets that it needs.
        minutes: about, on one quiet core.
        works: the runs.
        page: writes page, figures and CSV, from a folder of tables into another one.
    """

    paper: str
    makes: str
    sets: tuple[str, ...]
    minutes: int
    works: Works
    page: Callable[[Path, Path], None]


def named(name: str) -> Reproduction:
    """A reproduction."""
    if name not in MODULES:
        raise ConfigError(f"there is no reproduction {name!r}; there are {', '.join(MODULES)}")
    module = import_module(f"lab.{MODULES[name]}")
    found: Reproduction = module.REPRODUCTION
    return found


def grids(*names: str) -> Callable[[Path | None], dict[str, Grid]]:
    """Grids of this package."""
    return lambda folder: {name: Grid.open(GRIDS / f"{name}.toml", folder) for name in names}


def read(results: Path, *names: str) -> dict[str, pl.DataFrame]:
    """Tables of finished runs, by name."""
    paths = {name: results / f"{name}.parquet" for name in names}
    if absent := [path for path in paths.values() if not path.exists()]:
        raise ConfigError(f"{absent[0]} is not there; leave out --no-runs, and the runs are made first")
    return {name: pl.read_parquet(path) for name, path in paths.items()}


def page(name: str, parts: Mapping[str, str], folder: Path) -> None:
    """Write a page: that of the laboratory, with each part between its mark and the next end of a table."""
    home = Path(__file__).parent / MODULES[name].partition(".")[0]
    text = (home / f"{name}.md").read_text(encoding="utf-8")
    for part, made in parts.items():
        mark = f"<!-- table: {part} -->"
        if f"{mark}\n" not in text:
            raise KeyError(f"the page of {name} does not have {mark}")
        text = placed(text, mark, made)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def picture(drawn: str, name: str, title: str, folder: Path) -> str:
    """Write a figure that is kept; its line in a page."""
    (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
    return f"![{title}]({name}.svg)\n"


def curves(data: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Write what is averaged over splits of every grid, as CSV."""
    lines = [summary(rows).with_columns(pl.lit(name).alias("grid")) for name, rows in data.items()]
    columns = ["grid", *Curve._fields, "epsilon", "splits", "runs", "rmse", "low", "high", "mae"]
    columns += ["true_epsilon", "claimed_epsilon", "fit_seconds"]
    pl.concat(lines, how="diagonal_relaxed").select(columns).write_csv(path, float_precision=5)


def mean(values: Iterable[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval over seeds; NaN of one."""
    values = list(values)
    n, centre = len(values), sum(values) / len(values)
    spread = math.sqrt(sum((v - centre) ** 2 for v in values) / (n - 1)) if n > 1 else math.nan
    return centre, float(stdtrit(n - 1, 0.975)) * spread / math.sqrt(n)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run.

    Attributes:
        name: what it is called on the page.
        settings: JSON values by column, on which its result depends.
    """

    name: str
    settings: Mapping[str, Any]

    @property
    def digest(self) -> bytes:
        """SHA-256 of the settings: a seed of its own."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).digest()

    def coordinates(self) -> dict[str, Any]:
        """The settings."""
        return dict(self.settings)

    def key(self, source: dict[str, str]) -> str:
        """Digest of settings, source and hushrec's version."""
        facts = json.dumps({**source, "hushrec": hushrec.__version__}, sort_keys=True)
        return hashlib.sha256(self.digest + facts.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials as an experiment.

    Attributes:
        listed: the runs, in the order of the table.
        place: where they are run.
        types: of the columns: settings and results.
    """

    listed: Sequence[Trial]
    place: Bench[Trial]
    types: Mapping[str, type[pl.DataType]]

    def columns(self) -> dict[str, Any]:
        """Columns of the table."""
        return {**self.types, **RUN}

    def source(self) -> dict[str, str]:
        """Nothing beside the settings."""
        return {}

    def cases(self) -> Sequence[Trial]:
        """Every run."""
        return self.listed

    def bench(self) -> Bench[Trial]:
        """Where they are run."""
        return self.place


@dataclass(frozen=True)
class OnRatings:
    """A bench that loads ratings once.

    Attributes:
        data: the ratings.
    """

    data: Data

    @cached_property
    def ratings(self) -> People:
        """All of them."""
        return self.data.load().require_ratings(by="the reproduction")

    def open(self) -> None:
        """Load the ratings."""
        self.ratings  # noqa: B018  (cached)


@dataclass(frozen=True)
class Held(OnRatings):
    """A bench that chooses parameters on a part of the training ratings, which then trains like the others.

    Attributes:
        split: training and test parts.
    """

    split: Split

    def parts(self, number: int, fraction: float) -> tuple[People, People, People, People]:
        """Training and test part, and the training part without what chooses, and that."""
        train, _, test = (
            part.require_ratings(by="the reproduction") for part in self.split.parts(self.ratings, number)
        )
        return train, test, *holdout(train, fraction, self.split.seed + number)
