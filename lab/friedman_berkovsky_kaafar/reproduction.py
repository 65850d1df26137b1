"""Friedman, Berkovsky & Kaafar 2016 on MovieLens: grids ml-100k, ml-1m, ml-1m-covariance and ml-1m-user.

Privacy: private, as the runs; the page shows averages over splits.
"""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from lab import reproduction
from lab.experiments.reading import Curve, crossing, summary
from lab.experiments.tables import crossings, errors, markdown, points, spread
from lab.reproduction import Reproduction, grids, read

NAMES = ("ml-100k", "ml-1m", "ml-1m-covariance", "ml-1m-user")
IA, GE = "item average", "global effects"
FOUR = ("GE", "ISGD", "PSGD", "PALS")
SIX = (*FOUR, "MM's SVD", "MM's kNN")
PAPER: dict[
    tuple[str, str], dict[str, tuple[float, float | None]]
] = {  # Tables 4 and 5: crossings of item average and of global effects
    ("ml-100k", "replace"): {"GE": (0.5, None), "ISGD": (2, 5), "PSGD": (2, 20), "PALS": (2, 19)},
    ("ml-1m", "replace"): {"GE": (0.2, None), "ISGD": (0.9, 2.7), "PSGD": (0.8, 8), "PALS": (0.8, 8)},
    ("ml-100k", "add-remove"): {"GE": (1.4, None), "ISGD": (4.8, 12.5), "PSGD": (5.5, 60), "PALS": (5.7, 20)},
    ("ml-1m", "add-remove"): {"GE": (0.55, None), "ISGD": (2, 5.3), "PSGD": (2, 7), "PALS": (2, 8)},
}
TABLE_3 = {
    "ml-100k": {"global average": 1.1256, IA: 1.0278, GE: 0.9571, "clean MF, ALS, as in the paper": 0.9198},
    "ml-1m": {"global average": 1.1171, IA: 0.9795, GE: 0.9161, "clean MF, ALS, as in the paper": 0.8604},
}
OURS = ["clean MF, ALS, ours", "clean MF, SGD, ours"]
BOUND = {"replace": "bounded (replace)", "add-remove": "unbounded (add-remove)"}


def page(results: Path, folder: Path) -> None:
    """Write the page, its figures and friedman.csv."""
    data = read(results, *NAMES)
    covariance = data["ml-1m-covariance"]
    some = data["ml-1m"].filter(pl.col("split").is_in(covariance["split"].unique().to_list()))
    both = pl.concat([some, covariance.filter(pl.col("settings").is_not_null())], how="diagonal_relaxed")
    reproduction.curves(data, folder / "friedman.csv")
    part = {"Table 3": _baselines(data)}
    for adjacency in BOUND:
        for grid in ("ml-100k", "ml-1m"):
            part[f"published {grid} {adjacency}"] = _published(data[grid], grid, adjacency)
            part[f"corrected {grid} {adjacency}"] = _corrected(data[grid], grid, adjacency)
        six = _of(SIX, adjacency, "corrected")
        part[f"errors {adjacency}"] = errors(both, six, [0.5, 1, 2, 4, 8, 20], [IA, GE])
        home = _of([f"{name}, folded in at home" for name in FOUR[1:]], adjacency, "corrected")
        part[f"home {adjacency}"] = errors(data["ml-1m"], home, [1, 2, 4, 8, 20])
    part["true ε"] = _worth(data["ml-1m"])
    user = _of(("GE", "MM's SVD", "PSGD"), "add-remove", "corrected", "user")
    part["user"] = errors(data["ml-1m-user"], user, [0.5, 1, 2, 4, 8, 20], [IA, GE])
    reproduction.page("friedman", part, folder)


def _of(names: Iterable[str], adjacency: str, analysis: str, unit: str = "record") -> dict[str, Curve]:
    return {name: Curve(name, unit, adjacency, analysis) for name in names}


def _baselines(data: dict[str, pl.DataFrame]) -> str:
    """What has no noise, beside Table 3."""
    body = [[name] for name in [*TABLE_3["ml-1m"], *OURS]]
    for grid, printed in TABLE_3.items():
        exact = summary(data[grid]).filter(pl.col("unit").is_null())
        found = {row["name"]: row for row in exact.iter_rows(named=True)}
        for line in body:
            row, paper = found[line[0]], printed.get(line[0])
            line += [spread(row), f"{paper:.4f}" if paper else ""]
            line.append(f"{row['rmse'] - paper:+.4f}" if paper else "")
    header = ["", "100K, ours", "Table 3", "difference", "1M, ours", "Table 3", "difference"]
    return markdown(header, body)


def _published(rows: pl.DataFrame, grid: str, adjacency: str) -> str:
    """Crossings of the published forms beside the paper's."""
    named = _of(FOUR, adjacency, "published")
    printed: dict[tuple[str, str], float | str] = {}
    for name, (ia, ge) in PAPER[grid, adjacency].items():
        printed |= {(name, IA): ia, (name, GE): "not crossed" if ge is None else ge}
    if adjacency == "replace":
        named |= _of(["PALS, bounds put right"], adjacency, "published")
    return crossings(rows, named, [IA, GE], printed)


def _corrected(rows: pl.DataFrame, grid: str, adjacency: str) -> str:
    """Crossings of the corrected forms: of the references, and of private global effects at the same ε."""
    named = _of(FOUR, adjacency, "corrected")
    body = []
    for name, curve in named.items():
        ia, ge = PAPER[grid, adjacency][name]
        line = [name, str(crossing(rows, curve, IA)), f"{ia:g}"]
        line += [str(crossing(rows, curve, GE)), f"{ge:g}" if ge else "not crossed"]
        ours = (
            ["", ""] if name == "GE" else [str(crossing(rows, curve, "GE")), beside(rows, curve, named["GE"])]
        )
        body.append(line + ours)
    header = ["", "item average at ε =", "paper", "global effects at ε =", "paper"]
    header += ["our best global effects at ε =", "private global effects of equal ε from"]
    return markdown(header, body)


def beside(rows: pl.DataFrame, curve: Curve, other: Curve) -> str:
    """The grid's first ε from which a curve stays below another's at the same ε."""
    mine, theirs = points(rows, curve), points(rows, other)
    first: float | None = None
    for epsilon in sorted(mine.keys() & theirs.keys()):
        good = mine[epsilon]["rmse"] < theirs[epsilon]["rmse"]
        first = (first if first is not None else epsilon) if good else None
    return "–" if first is None else f"{first:g}"


def _worth(rows: pl.DataFrame) -> str:
    """True ε of the published noise, by what is claimed for it."""
    lines = summary(rows).filter(pl.col("analysis") == "published", pl.col("epsilon").is_in([1.0, 8.0]))
    body: dict[tuple[str, str], list[str]] = {}
    for row in lines.sort("epsilon").iter_rows(named=True):
        true = "none known" if row["true_epsilon"] == float("inf") else f"{row['true_epsilon']:.3f}"
        body.setdefault((row["name"], BOUND[row["adjacency"]]), []).append(true)
    return markdown(
        ["", "adjacency", "claimed 1", "claimed 8"], [[*key, *true] for key, true in body.items()]
    )


REPRODUCTION = Reproduction(
    paper="Friedman, Berkovsky & Kaafar 2016",
    makes="Tables 3 to 5, Fig. 2 and 4",
    sets=("ml-100k", "ml-1m"),
    minutes=45,
    works=grids(*NAMES),
    page=page,
)
