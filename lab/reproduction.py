"""What a reproduction is: the runs of a paper's figures, the page of them, and what they come to beside it.

A page is a template whose parts are tables and figures, with the CSV behind them beside it. Runs that no grid
describes are trials: settings by name, and a bench of their own.

Privacy: private. Runs are seeded and errors are measured on held-out ratings; pages show averages of them.
"""

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from scipy.special import stdtrit

import hushrec
from hushrec.errors import ConfigError
from lab.experiments.grid import Grid
from lab.experiments.plots import COLOURS, figure
from lab.experiments.reading import Curve, labels, references, summary
from lab.experiments.results import RUN
from lab.experiments.tables import markdown
from lab.experiments.work import Bench, Work

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
    module = import_module(f"lab.{MODULES[name]}")
    found: Reproduction = module.REPRODUCTION
    return found


def home(name: str) -> Path:
    """The folder of a reproduction: its page and rows lie beside its code."""
    return Path(__file__).parent / MODULES[name].partition(".")[0]


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


_TEMPLATES = Path(__file__).parent / "templates"
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
    return f"{title}: `make figures` draws `{name}.svg` here.\n"


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


def mean(values: Iterable[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval over seeds; NaN of one. Privacy: private."""
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
