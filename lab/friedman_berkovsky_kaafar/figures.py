"""Figures of the papers that no other reproduction has: grids figures-1m and figures-100k, on MovieLens.

The curve of private neighbours has a ridge that is trained for each ε, so it is no run of a grid
(``private_neighbours``).

Friedman, Berkovsky & Kaafar 2016, Fig. 3, 5a and 6; McSherry & Mironov 2009, Fig. 1 with Laplace noise; Liu,
Wang & Smola 2015, Fig. 1 and 4.

Privacy: private, as the runs; the page shows averages over splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from lab import reproduction
from lab.experiments import datasets
from lab.experiments.grid import Grid
from lab.experiments.reading import Curve, crossing, summary
from lab.experiments.runner import Work
from lab.experiments.tables import errors, markdown
from lab.friedman_berkovsky_kaafar import private_neighbours
from lab.friedman_berkovsky_kaafar.reproduction import beside
from lab.reproduction import Reproduction, Trial, Trials, grids, read

NAMES = ("figures-1m", "figures-100k")
COUNTS, KNN = "figures-items", "figures-knn"
IA, GE = "item average", "global effects"
PLAIN = "PSGD, without preparation"
BOUNDS = ("q_max = 0.5", "q_max = 1", "q_max = 2")
COMPARED = ("GE", "kNN", "ISGD", "PSGD")
LAPLACE = ("kNN, Laplace", "kNN, Gaussian", "SVD, Laplace", "SVD, Gaussian")
SETTINGS = {"λ": "regularization λ, d = 3, k = 10", "d": "factors d, λ = 0.08", "k": "iterations k, λ = 0.08"}
CROSSED = 0.18
"""ε at which both private kNN and private global effects cross the item average (§5.4)."""
EPSILONS = [0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0]


@dataclass(frozen=True)
class _Items:
    """Counts the ratings of every item of MovieLens 1M."""

    folder: Path | None

    def open(self) -> None:
        """Nothing is shared."""

    def measure(self, case: Trial) -> list[dict[str, Any]]:
        """Items by how many ratings they have, the most rated first."""
        counts = datasets.table("ml-1m", self.folder)["item"].value_counts(sort=True)["count"]
        return [{"rank": rank, "ratings": count} for rank, count in enumerate(counts, 1)]


def works(folder: Path | None) -> dict[str, Work[Any]]:
    """Both grids, the neighbours, and how often items are rated."""
    types = {"data": pl.String, "rank": pl.Int64, "ratings": pl.Int64}
    items = Trials([Trial("items", {"data": "ml-1m"})], _Items(folder), types)
    made = grids(*NAMES)(folder)
    return {**made, KNN: _neighbours(made["figures-1m"], EPSILONS), COUNTS: items}


def _neighbours(grid: Grid, epsilons: Sequence[float]) -> Trials:
    return private_neighbours.work(grid.data, grid.split, epsilons)


def page(results: Path, folder: Path) -> None:
    """Write the page, its figures and figures.csv."""
    large, small, neighbours, items = read(results, *NAMES, KNN, COUNTS).values()
    large = _with(large, neighbours)
    reproduction.curves(dict(zip(NAMES, (large, small), strict=True)), folder / "figures.csv")
    made = {}
    for name, named in _curves().items():
        made[f"{name} errors"] = errors(large, named, EPSILONS, [IA, GE])
    made["crossings"] = _crossings(large)
    made["fig 5a ridges"] = private_neighbours.ridges(neighbours)
    made["fig 5a better"] = _better(large)
    made["fig 6 best"] = _best(small)
    made["liu 1 shares"] = _shares(items)
    made["liu 4"] = _passes(small)
    reproduction.page("figures", made, folder)


def _curves() -> dict[str, dict[str, Curve]]:
    """Figure → the curves that it shows."""
    return {
        "fig 3a": _of("PSGD", PLAIN),
        "fig 3b": _of(*BOUNDS),
        "fig 5a": _of(*COMPARED),
        "laplace": _of(*LAPLACE, adjacency="add-remove"),
    }


def _with(grid: pl.DataFrame, neighbours: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([grid, private_neighbours.as_curve(neighbours)], how="diagonal_relaxed")


def _of(*names: str, adjacency: str = "replace") -> dict[str, Curve]:
    return {name: Curve(name, "record", adjacency, "published") for name in names}


def _exact(rows: pl.DataFrame, letter: str) -> list[tuple[float, float, float, float]]:
    """Setting, RMSE and its interval, of the runs without noise that vary one setting."""
    mine = summary(rows).filter(pl.col("name").str.starts_with(f"{letter} = "))
    found = [
        (float(row["name"].split(" = ")[1]), row["rmse"], row["low"], row["high"])
        for row in mine.iter_rows(named=True)
    ]
    return sorted(found)


def _best(rows: pl.DataFrame) -> str:
    body = []
    for letter, label in SETTINGS.items():
        at, rmse, *_ = min(_exact(rows, letter), key=lambda point: point[1])
        body.append([label, f"{at:g}", f"{rmse:.4f}"])
    return markdown(["setting", "best", "RMSE"], body)


def _crossings(rows: pl.DataFrame) -> str:
    """Where the curves of Fig. 3 and 5a cross the two baselines."""
    named = _of("PSGD", PLAIN, *BOUNDS, "GE", "kNN", "ISGD")
    body = [
        [name, *(str(crossing(rows, curve, level)) for level in (IA, GE))] for name, curve in named.items()
    ]
    return markdown(["", f"{IA} at ε =", f"{GE} at ε ="], body)


def _better(rows: pl.DataFrame) -> str:
    """The first ε of the grid from which the others of Fig. 5a stay better than the neighbours."""
    kNN = _of("kNN")["kNN"]
    body = [[name, beside(rows, _of(name)[name], kNN)] for name in COMPARED if name != "kNN"]
    return markdown(["", "better than kNN from ε ="], body)


def _shares(items: pl.DataFrame) -> str:
    """The share of all ratings that the most rated items have."""
    counts = items.sort("rank")["ratings"].to_numpy()
    body = [
        [f"{top:,}", f"{100 * counts[:top].sum() / counts.sum():.0f} %"] for top in (100, 500, 1000, 2000)
    ]
    return markdown(["most rated items", "of all ratings"], body)


def _passes(rows: pl.DataFrame) -> str:
    """Liu's Fig. 4: RMSE of one sample after so many passes of the chain."""
    mine = summary(rows).filter(pl.col("name").str.ends_with(" passes"))
    found = sorted((int(row["name"].split()[0]), row) for row in mine.iter_rows(named=True))
    body = [
        [f"{passes}", f"{row['rmse']:.4f}", f"{row['low']:.4f} to {row['high']:.4f}"] for passes, row in found
    ]
    return markdown(["passes", "RMSE", "95 %"], body)


REPRODUCTION = Reproduction(
    paper="Figures that no other page has",
    makes="FBK Fig. 3, 5a, 6; MM with Laplace noise; Liu Fig. 1, 4",
    sets=("ml-1m", "ml-100k"),
    minutes=30,
    works=works,
    page=page,
)
