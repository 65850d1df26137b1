"""The recommended model, McSherry & Mironov's models and global effects on MovieLens 1M.

The page is written from its CSV, so it can be written anew where no run is.

Privacy: private: the CSV holds errors of single runs, on ratings that are public.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.data.domain import Domain
from hushrec.privacy.accounting.budget import Budget
from lab import reproduction
from lab.experiments import datasets
from lab.experiments.plots import figure
from lab.experiments.reading import Curve
from lab.experiments.tables import errors, points, spread
from lab.published import class_of, cost
from lab.reproduction import Line, Reproduction, grids, part, read
from lab.scoreboard import public_facts
from lab.scoreboard.contest import trials
from lab.scoreboard.every_set import write_csv

NAME = "movielens-1m"
MODELS = ("CovarianceSVD", "CovarianceKNN", "GlobalEffects")
PUBLISHED = ("McSherrySVD", "McSherryKNN", "McSherryEffects")
AIMS: dict[str, dict[float, float]] = {
    "record": {0.2: 0.945, 0.5: 0.920, 1: 0.910, 2: 0.899, 4: 0.886, 8: 0.877, 20: 0.868, math.inf: 0.863},
    "user": {0.5: 0.983, 1: 0.965, 4: 0.934, 8: 0.925},
}
RANGES = {"record": (0.82, 0.95), "user": (0.82, 1.0)}
"""Unit → the errors that the figure of the recommended model shows."""
DELTA = 1e-6
"""Of every run of the grid."""
TEXTS = dict.fromkeys(("model", "cleaning", "unit", "adjacency", "analysis", "noise"), pl.String)
NUMBERS = dict.fromkeys(("epsilon", "rmse", "mae", "true_epsilon", "fit_seconds"), pl.Float64)
WHY = "the same ε buys less noise: exact composition, tighter Δ, and cleaning that knows its noise"


def page(results: Path, folder: Path) -> None:
    """Write the page and its figures; the CSVs first, if the tables of runs are there."""
    path = folder / f"{NAME}.csv"
    if (results / f"{NAME}.parquet").exists() or not path.exists():
        _write_csv(read(results, NAME)[NAME], path)
    if (runs := results / f"{public_facts.NAME}.parquet").exists():
        write_csv(pl.read_parquet(runs).select(public_facts.COLUMNS), folder / f"{public_facts.NAME}.csv")
    rows = _stored(path)

    def table(named: dict[str, Curve], epsilons: list[float], aims: dict[float, float] | None = None) -> str:
        return errors(rows, named, epsilons, deviation=True, aims=aims)

    published, usual, every = _published(), _of("record", "add-remove"), list(AIMS["record"])
    beside = dict(pair for pairs in zip(published.items(), usual.items(), strict=True) for pair in pairs)
    ways = {f"{m}, cleaning weighted": usual[m] for m in list(usual)[:2]}
    for way in ("shrink", "none"):
        cleaned = _of("record", "add-remove", f"cleaning {way}")
        ways |= {f"{m}, cleaning {way}": cleaned[m] for m in list(usual)[:2]}
    part = {
        **figures(folder),
        "record": table(usual, every, AIMS["record"]),
        "user": table(_of("user", "add-remove"), list(AIMS["user"]), AIMS["user"]),
        "published": table(beside, every),
        "true ε": _worth(rows),
        "cleaning": table(
            dict(sorted(ways.items(), key=lambda way: way[0].startswith("`CovarianceK"))),
            [1, 4, 20, math.inf],
        ),
        "replace": table(_of("record", "replace"), [0.5, 1, 4, 8]),
        "laplace": table(_of("record", "add-remove", "laplace"), [1, 4, 20]),
    }
    part |= _recommended(folder, part)
    reproduction.page(NAME, part, folder)


def figures(folder: Path) -> dict[str, str]:
    """Draw the figures of both CSVs."""
    rows, usual, published = _stored(folder / f"{NAME}.csv"), _of("record", "add-remove"), _published()
    shown = {m: usual[f"`{m}`"] for m in MODELS} | {m: published[f"`{m}`"] for m in PUBLISHED[:2]}
    title = "RMSE against ε"
    drawn = figure(rows.filter(unit="record"), shown, MODELS[:1], title=title, limits=(0.835, 1.0))
    part = {"figure": reproduction.redrawn(drawn, NAME, title, folder)}
    if (folder / f"{public_facts.NAME}.csv").exists():
        recommended = public_facts.read_csv(folder)
        for unit, limits in RANGES.items():
            title, drawn = f"RMSE against ε, unit {unit}", public_facts.drawn(recommended, unit, limits)
            name = f"{public_facts.NAME}-{unit}"
            part[f"recommended, {unit}"] = reproduction.redrawn(drawn, name, title, folder)
    return part


def _stored(path: Path) -> pl.DataFrame:
    lines = pl.read_csv(path, schema_overrides={**TEXTS, **NUMBERS}).with_columns(
        pl.col("cleaning").fill_null("")
    )
    absent = pl.lit(None, pl.Float64)
    return lines.with_columns(
        name=_label(), delta=pl.lit(DELTA), claimed_epsilon=absent, predict_seconds=absent
    )


def _of(unit: str, adjacency: str, *more: str) -> dict[str, Curve]:
    found = {m: Curve(", ".join((m, *more)), unit, adjacency, "corrected") for m in MODELS}
    return {f"`{model}`": curve for model, curve in found.items()}


def _published() -> dict[str, Curve]:
    return {f"`{m}`": Curve(m, "record", "add-remove", "published") for m in PUBLISHED}


def _recommended(folder: Path, drawn: Mapping[str, str]) -> dict[str, str]:
    """Tables of the recommended model below its figures."""
    parts = {unit: f"recommended, {unit}" for unit in RANGES}
    if not (folder / f"{public_facts.NAME}.csv").exists():
        return dict.fromkeys(parts.values(), "Not run yet.\n")
    rows = public_facts.read_csv(folder)
    return {part: f"{drawn[part]}\n{public_facts.table(rows, unit)}" for unit, part in parts.items()}


def lines(data: Mapping[str, pl.DataFrame]) -> list[Line]:
    """RMSE of single ratings protected, at equal claimed ε."""
    found = []
    for published, corrected in zip(PUBLISHED, MODELS, strict=True):
        ours = points(data[NAME], Curve(corrected, "record", "add-remove", "corrected"))
        theirs = points(data[NAME], Curve(published, "record", "add-remove", "published"))
        for epsilon in (1.0, 4.0):
            line = theirs[epsilon]
            worth = f"{spread(line)} (true ε {line['true_epsilon']:.2g})"
            what = f"RMSE of {corrected} at ε = {epsilon:g}"
            found.append(Line(what, "not on MovieLens", worth, spread(ours[epsilon]), WHY))
    return found


def _label() -> pl.Expr:
    """Name of a curve: the model, and what is not the default."""
    cleaning = pl.when(cleaning="").then(pl.lit("")).otherwise(", cleaning " + pl.col("cleaning"))
    laplace = pl.when(noise="laplace").then(pl.lit(", laplace")).otherwise(pl.lit(""))
    return pl.concat_str("model", cleaning, laplace)


def _worth(rows: pl.DataFrame) -> str:
    """True ε of the published noise; and whether the rows are older than it."""
    mine = rows.filter(pl.col("epsilon").is_finite(), unit="record", model="McSherrySVD")
    true = mine.group_by("epsilon").agg(pl.first("true_epsilon")).sort("epsilon")
    said = (
        "The published noise is worth less ε than claimed, because ε are added up and sensitivities are "
        f"loose: {_claimed(dict(true.iter_rows()))} (true ε at the same δ, of `McSherrySVD`).\n"
    )
    frame = datasets.NAMED["ml-1m"].frame
    first, last = frame["items"]
    domain = Domain(range(first, last + 1), scale=frame["scale"], max_users=frame["max_users"])
    of: Any = {"delta": DELTA, "unit": "record", "adjacency": "add-remove"}
    form = class_of("McSherrySVD")()
    now = {e: cost(form, domain, Budget(epsilon=e, **of)).true for e in true["epsilon"]}
    if all(math.isclose(worth, now[epsilon], rel_tol=1e-3) for epsilon, worth in true.iter_rows()):
        return said
    return (
        f"{said}\n**The rows of `McSherrySVD` and `McSherryKNN` are older than these models.** They drew one "
        "noise for a pair of entries, where the paper draws for each, and took 40 neighbours. What is "
        f"printed is worth at most {_claimed(now)}; its mean of two draws is a little more accurate "
        "([on MovieLens 100K](../mcsherry_mironov/mcsherry-mironov.md#on-movielens-100k)).\n"
    )


def _claimed(worth: Mapping[float, float]) -> str:
    return ", ".join(f"{true:.3g} at a claimed {epsilon:g}" for epsilon, true in worth.items())


def _write_csv(rows: pl.DataFrame, path: Path) -> None:
    """A line a run, all splits of a case together; without noise it stands with unit record, add-remove."""
    case = pl.int_range(pl.len()).over("split")
    settings = pl.struct("model", "settings").map_elements(_chosen, pl.List(pl.String))
    rows = rows.with_columns(case=case, settings=settings)
    columns = {
        "model": pl.col("model"),
        "cleaning": pl.col("settings").list.get(0),
        "unit": pl.col("unit").fill_null("record"),
        "adjacency": pl.col("adjacency").fill_null("add-remove"),
        "analysis": pl.col("analysis"),
        "noise": pl.col("settings").list.get(1),
        "epsilon": _figures("epsilon", "g"),
        "split": pl.col("split"),
        "rmse": _figures("rmse", ".5f"),
        "mae": _figures("mae", ".5f"),
        "true_epsilon": _figures("true_epsilon", ".6g"),
        "fit_seconds": _figures("fit_seconds", ".2f"),
    }
    rows.sort("case", "split").select(**columns).write_csv(path, quote_style="never")


def _chosen(row: dict[str, str]) -> list[str]:
    """Cleaning, empty for the default, and noise."""
    given, usual = json.loads(row["settings"]), class_of(row["model"])().settings()
    cleaning, default = (settings.get("covariance", {}).get("cleaning", "") for settings in (given, usual))
    return ["" if cleaning == default else cleaning, given["noise"]]


def _figures(column: str, digits: str) -> pl.Expr:
    return pl.col(column).map_elements(lambda value: format(value, digits), pl.String)


REPRODUCTION = Reproduction(
    paper="McSherry & Mironov's models, at equal ε",
    makes="RMSE by model, unit and ε",
    sets=("ml-1m", "ml-latest-small"),
    minutes=60,
    works=lambda folder: {**grids(NAME)(folder), public_facts.NAME: trials(public_facts.runs(), folder)},
    quick=lambda folder: {name: part(grid, {1, 4}) for name, grid in grids(NAME)(folder).items()},
    page=page,
    figures=figures,
    lines=lines,
)
