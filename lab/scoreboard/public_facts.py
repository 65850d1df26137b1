"""The recommended model on MovieLens 1M: with nothing public, with genres, with others' ratings.

Beside it stand the ratings of others alone, and the non-private factor models that
``lab/scoreboard/ceiling.py`` measures on the same splits.

Privacy: private: the CSV holds errors of single runs, on ratings that are public.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev

import polars as pl

from lab.experiments.plots import figure
from lab.experiments.reading import Curve
from lab.experiments.tables import markdown
from lab.reproduction import Trial
from lab.scoreboard.contest import ALONE, DELTA, RECOMMENDED, TYPES, contender

__all__ = ["AIMS", "NAME", "drawn", "read_csv", "runs", "table"]

NAME = "movielens-1m-recommended"
DATA = "ml-1m"
EPSILONS = {"record": (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0), "user": (0.5, 1.0, 2.0, 4.0, 8.0, 20.0)}
SPLITS = 5
KNOWN = {"": RECOMMENDED, "features": "with genres and year", "ratings": "with public ratings"}
"""What is public of the items → how the curve is called."""
AIMS: dict[tuple[str, str], tuple[float, ...]] = {
    ("record", ""): (0.922, 0.905, 0.888, 0.868, 0.852, 0.842, 0.837, 0.833),
    ("record", "features"): (0.910, 0.895, 0.878, 0.859, 0.845, 0.836, 0.831, 0.826),
    ("user", ""): (0.975, 0.953, 0.926, 0.897, 0.879, 0.864),
    ("user", "features"): (0.960, 0.943, 0.917, 0.891, 0.875, 0.861),
    ("user", "ratings"): (0.928, 0.921, 0.907, 0.887),
}
"""Unit and what is public → the error aimed at, by ``EPSILONS`` and then without noise."""
SIMPLEST = "GlobalEffects"
COLUMNS = [name for name in TYPES if name != "data"]


def runs() -> Iterator[Trial]:
    """Every run, split by split."""
    for split in range(SPLITS):
        yield contender(DATA, ALONE, None, math.inf, split)
        for public in KNOWN:
            for unit, epsilons in EPSILONS.items():
                yield from (contender(DATA, RECOMMENDED, unit, e, split, public) for e in epsilons)
            yield contender(DATA, RECOMMENDED, None, math.inf, split, public)
        for unit, epsilons in EPSILONS.items():
            yield from (contender(DATA, SIMPLEST, unit, e, split) for e in epsilons)
        yield contender(DATA, SIMPLEST, None, math.inf, split)


def read_csv(folder: Path) -> pl.DataFrame:
    """The stored runs; those of ``ceiling.csv`` as models without noise, if it is there."""
    rows = pl.read_csv(
        folder / f"{NAME}.csv", schema_overrides={name: TYPES[name] for name in COLUMNS}
    ).with_columns(pl.col("public").fill_null(""))
    if not (ceiling := folder / "ceiling.csv").exists():
        return rows
    bare = pl.read_csv(ceiling).select(
        public=pl.lit(""), model="method", split="split", rmse="rmse", epsilon=pl.lit(math.inf)
    )
    return pl.concat([rows, bare], how="diagonal_relaxed")


def table(rows: pl.DataFrame, unit: str) -> str:
    """RMSE by ε, mean ± standard deviation over splits; each aim above what is to reach it."""
    epsilons = (*EPSILONS[unit], math.inf)
    body = []
    for public, label in KNOWN.items():
        if aims := AIMS.get((unit, public)):
            shown = [f"{aim:.3f}" for aim in aims]
            body.append([f"aim, {label}", *shown, *[""] * (len(epsilons) - len(shown))])
        mine = rows.filter(model=RECOMMENDED, public=public)
        chosen = [] if public else [["chosen", *(_chosen(mine, unit, e) for e in epsilons)]]
        body += [[label, *(_spread(mine, unit, e) for e in epsilons)], *chosen]
    simplest = rows.filter(model=SIMPLEST)
    body.append([f"`{SIMPLEST}`", *(_spread(simplest, unit, e) for e in epsilons)])
    for name in _bare(rows):
        body.append([name, *[""] * (len(epsilons) - 1), _spread(rows.filter(model=name), None, math.inf)])
    header = ["", *("no noise" if math.isinf(e) else f"ε = {e:g}" for e in epsilons)]
    return markdown(header, [line for line in body if any(line[1:])])


def drawn(rows: pl.DataFrame, unit: str, limits: tuple[float, float]) -> str:
    """The figure of a unit, with what is public alone and the non-private models as dashed lines."""
    names = {**{(RECOMMENDED, public): label for public, label in KNOWN.items()}, (SIMPLEST, ""): SIMPLEST}
    there = rows.filter(pl.col("rmse").is_not_null())
    absent = pl.lit(None, pl.String)
    curves = [
        there.filter(model=model, public=public, unit=unit).select(
            name=pl.lit(label),
            model=pl.lit(label),
            unit="unit",
            adjacency=pl.lit("add-remove"),
            analysis=pl.lit("corrected"),
            epsilon="epsilon",
            delta=pl.lit(DELTA),
            split="split",
            settings=pl.lit("{}"),
            rmse="rmse",
            true_epsilon="epsilon",
        )
        for (model, public), label in names.items()
    ]
    bare = [
        there.filter(model=name).select(
            name="model", model="model", epsilon=pl.lit(math.inf), split="split", settings=absent, rmse="rmse"
        )
        for name in _bare(rows)
    ]
    lines = pl.concat([*curves, *bare], how="diagonal_relaxed").with_columns(
        claimed_epsilon=pl.lit(None, pl.Float64),
        fit_seconds=pl.lit(None, pl.Float64),
        predict_seconds=pl.lit(None, pl.Float64),
    )
    shown = {
        label: Curve(label, unit, "add-remove", "corrected")
        for label, mine in zip(names.values(), curves, strict=True)
        if len(mine)
    }
    return figure(lines, shown, _bare(rows), title=f"RMSE against ε, unit {unit}", limits=limits)


def _bare(rows: pl.DataFrame) -> Sequence[str]:
    """What needs no private rating, and the non-private models."""
    known = RECOMMENDED, SIMPLEST
    return rows.filter(~pl.col("model").is_in(known))["model"].unique(maintain_order=True).to_list()


def _spread(rows: pl.DataFrame, unit: str | None, epsilon: float) -> str:
    found = _at(rows, unit, epsilon)["rmse"].drop_nulls().to_list()
    if len(found) < 2:
        return f"{found[0]:.4f}" if found else ""
    return f"{fmean(found):.4f} ± {stdev(found):.4f}"


def _chosen(rows: pl.DataFrame, unit: str, epsilon: float) -> str:
    names = _at(rows, unit, epsilon)["chosen"].drop_nulls().unique(maintain_order=True)
    return ", ".join(f"`{name}`" for name in names)


def _at(rows: pl.DataFrame, unit: str | None, epsilon: float) -> pl.DataFrame:
    protected = None if math.isinf(epsilon) else unit
    return rows.filter(pl.col("unit").eq_missing(pl.lit(protected)), epsilon=epsilon)
