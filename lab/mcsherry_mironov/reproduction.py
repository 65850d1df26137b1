"""McSherry & Mironov 2009, Fig. 1: kNN and SVD, cleaned and raw, against θ; and Fig. 2 (``over_time``).

Privacy: private, as the runs; the page shows averages over splits.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from lab import reproduction
from lab.experiments.grid import Grid
from lab.experiments.reading import Crossing, Curve, crossing, summary
from lab.experiments.runner import Work
from lab.experiments.source import Data, Place, Split
from lab.experiments.tables import markdown, points, spread
from lab.mcsherry_mironov import over_time, refitting
from lab.mcsherry_mironov.over_time import DELTA, claimed
from lab.reproduction import Reproduction, read

GRIDS = ("mm-100k", "mm-1m", "mm-1m-user")
THETAS = (0.05, 0.15, 0.5, 1.0, 2.0, 4.0, 10.0, 25.0)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0)
LARGE_THETAS, LARGE_EPSILONS = (0.15, 1.0, 2.0, 4.0, 25.0), (0.5, 1.0, 4.0, 20.0)
USER_THETAS = (1.0, 4.0, 25.0)
"""Those of MovieLens 1M, where a fit takes seconds."""
REFITS: dict[str, tuple[str, int, tuple[float | None, ...]]] = {
    "mm-1m-refit": ("mm-1m", 1, (4.0, 25.0, None)),
    "mm-100k-refit": ("mm-100k", 3, (0.15, 1.0, 4.0, 10.0, 25.0, None)),
}
"""Table of refitted curves → the grid that has them as they are, how many of its splits, and θ."""
DRAWN = {"record": "mm-1m", "user": "mm-1m-user"}
"""Unit → the grid of Fig. 1."""
EFFECTS = "effects alone"
"""The curve that is, without noise, the line of the page: the paper's own effects (§4.2–4.3)."""
PUBLISHED: dict[str, tuple[str, dict[str, Any]]] = {
    "kNN, cleaned": ("McSherryKNN", {"cleaning": "shrink"}),
    "SVD, cleaned": ("McSherrySVD", {"cleaning": "shrink"}),
    "kNN, raw": ("McSherryKNN", {"cleaning": "none"}),
    "SVD, raw": ("McSherrySVD", {"cleaning": "none"}),
    EFFECTS: ("McSherryEffects", {}),
}
CORRECTED = {"CovarianceKNN": "kNN, cleaned", "CovarianceSVD": "SVD, cleaned", "GlobalEffects": EFFECTS}
"""Corrected model → the published curve whose colour it has."""
MEASURED = {EFFECTS: 4}
"""Number of measurements of a curve, where it is not that of the covariance."""
FRAMES = {
    "mm-100k": ("ml-100k", {"max_users": 10_000, "max_per_user": 1682}),
    "mm-1m": ("ml-1m", {"max_per_user": 3952}),
}


def works(folder: Path | None) -> dict[str, Work[Any]]:
    """Both figures: the splits of MovieLens 100K and 1M, and its days."""
    large: Any = {"splits": 1, "epsilons": LARGE_EPSILONS}
    return {
        "mm-100k": grid("mm-100k", "record", folder, splits=3),
        "mm-time": over_time.work(folder),
        "mm-1m": grid("mm-1m", "record", folder, thetas=LARGE_THETAS, **large),
        "mm-1m-user": grid("mm-1m", "user", folder, thetas=USER_THETAS, raw=False, **large),
        **{name: refit(*of, folder) for name, of in REFITS.items()},
    }


def grid(
    name: str,
    unit: str,
    folder: Path | None,
    *,
    splits: int,
    thetas: tuple[float, ...] = THETAS,
    epsilons: tuple[float, ...] = EPSILONS,
    raw: bool = True,
) -> Grid:
    """Every curve of a figure: published ones at each θ, corrected ones at each ε, and all without noise.

    Args:
        name: of the data, one of ``FRAMES``.
        unit: what is protected.
        folder: of data sets.
        splits: how many.
        thetas: of the published curves.
        epsilons: of the corrected ones.
        raw: whether the covariance is also taken without cleaning.
    """
    each = {"unit": unit, "adjacency": "add-remove", "delta": DELTA}
    runs = []
    for label, (model, how) in PUBLISHED.items():
        if how.get("cleaning") == "none" and not raw:
            continue
        settings = {"covariance": {**how, "threads": 1}} if how else {}
        at = [claimed(theta, MEASURED.get(label, over_time.MEASUREMENTS)) for theta in thetas]
        runs.append({"name": label, "model": model, "settings": settings, "epsilon": [*at, math.inf], **each})
    for model, beside in CORRECTED.items():
        settings = {} if beside == EFFECTS else {"covariance": {"threads": 1}}
        runs.append({"name": model, "model": model, "settings": settings, **each})
        runs[-1]["epsilon"] = [*epsilons, math.inf]
    data, frame = FRAMES[name]
    given = {
        "data": {"name": data, "domain": frame},
        "split": {"kind": "holdout", "fraction": 0.1, "splits": splits},
        "run": runs,
        "reference": [{"name": "item average"}],
    }
    return Grid.model_validate(given, context=Place(Path(), folder))


def refit(name: str, splits: int, thetas: tuple[float | None, ...], folder: Path | None) -> Work[Any]:
    """The curves that have a covariance, with ridge and β of their own at each θ."""
    data, frame = FRAMES[name]
    return refitting.work(
        Data.model_validate({"name": data, "domain": frame}, context=Place(Path(), folder)),
        Split.model_validate({"kind": "holdout", "fraction": 0.1, "splits": splits}),
        thetas,
        {label: (model, how["cleaning"]) for label, (model, how) in PUBLISHED.items() if how},
    )


def refitted(data: Mapping[str, pl.DataFrame], name: str) -> pl.DataFrame:
    """Rows of refitted curves by θ, with the line of their splits."""
    curves = refitting.as_curves(data[name])
    grid = data[REFITS[name][0]]
    line = pl.col("name") == EFFECTS, pl.col("epsilon").is_infinite()
    level = grid.filter(*line, pl.col("split").is_in(curves["split"].unique().to_list()))
    return pl.concat([curves, level.select(curves.columns)])


def by_theta(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose ε is θ, of published curves; others as they are."""
    factors = [
        pl.when((pl.col("name") == name) & pl.col("epsilon").is_finite()).then(
            (pl.col("epsilon") / claimed(1.0, MEASURED.get(name, over_time.MEASUREMENTS))).round(6)
        )
        for name in PUBLISHED
    ]
    return rows.with_columns(epsilon=pl.coalesce(*factors, "epsilon"))


def by_truth(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose ε is the true one."""
    there = pl.col("true_epsilon").is_finite()
    return rows.with_columns(
        epsilon=pl.when(there).then(pl.col("true_epsilon").round_sig_figs(3)).otherwise("epsilon")
    )


def published(rows: pl.DataFrame) -> tuple[str, ...]:
    """The published curves that the rows have."""
    return tuple(label for label in PUBLISHED if label in rows["name"])


def curve(label: str, unit: str = "record") -> Curve:
    """A curve of this paper's grids."""
    return Curve(label, unit, "add-remove", "published" if label in PUBLISHED else "corrected")


def passes(rows: pl.DataFrame, label: str, unit: str = "record") -> Crossing:
    """From where a curve is as good as the paper's effects without noise."""
    return crossing(rows, curve(label, unit), EFFECTS)


def page(results: Path, folder: Path) -> None:
    """Write the page, its figures and mcsherry-mironov.csv."""
    data = read(results, *GRIDS, "mm-time", *REFITS)
    reproduction.curves({name: data[name] for name in GRIDS}, folder / "mcsherry-mironov.csv")
    runs = pl.concat([data[name] for name in REFITS]).select("name", *refitting.TYPES)
    runs.write_csv(folder / "mcsherry-mironov-refit.csv", float_precision=5)
    over_time.losses(data["mm-time"]).write_csv(folder / "mcsherry-mironov-time.csv", float_precision=5)
    part = {}
    for unit, name in DRAWN.items():
        part[f"θ {unit}"] = _by_theta(data[name], unit)
        part[f"ε {unit}"] = _by_epsilon(data[name], unit)
        part[f"crossings {unit}"] = _crossings(data[name], unit)
    part["θ 100k"] = _by_theta(data["mm-100k"], "record")
    part["ε 100k"] = _by_epsilon(data["mm-100k"], "record")
    part["crossings 100k"] = _crossings(data["mm-100k"], "record")
    for name, (grid, _, _) in REFITS.items():
        part[f"refit {grid}"] = _refits(data, name)
        part[f"chosen {grid}"] = _chosen(data[name])
    part["cleaning"] = _cleaning(data)
    part["time"] = over_time.table(data["mm-time"])
    reproduction.page("mcsherry-mironov", part, folder)


def _by_theta(rows: pl.DataFrame, unit: str) -> str:
    """RMSE of the published curves at every θ, and what the noise is worth."""
    moved = by_theta(rows)
    lines = {label: points(moved, curve(label, unit)) for label in published(rows)}
    exact = {row["name"]: row for row in summary(rows).filter(pl.col("unit").is_null()).iter_rows(named=True)}
    body = []
    for theta, first in sorted(lines["kNN, cleaned"].items()):
        worth = f"{claimed(theta):.3g}", f"{first['true_epsilon']:.3g}"
        body.append([f"{theta:g}", *worth, *(spread(found[theta]) for found in lines.values())])
    body.append(["no noise", "", "", *(spread(exact[label]) for label in lines)])
    return markdown(["θ", "ε as claimed", f"true ε of a {unit}", *lines], body)


def _by_epsilon(rows: pl.DataFrame, unit: str) -> str:
    """RMSE of the corrected models at every ε."""
    lines = {label: points(rows, curve(label, unit)) for label in CORRECTED}
    exact = {row["name"]: row for row in summary(rows).filter(pl.col("unit").is_null()).iter_rows(named=True)}
    body = [
        [f"{epsilon:g}", *(spread(found[epsilon]) for found in lines.values())]
        for epsilon in sorted(lines["CovarianceKNN"])
    ]
    body.append(["no noise", *(spread(exact[label]) for label in CORRECTED)])
    return markdown([f"ε of a {unit}", *(f"`{label}`" for label in CORRECTED)], body)


def _crossings(rows: pl.DataFrame, unit: str) -> str:
    """From where curves are as good as the paper's effects without noise."""
    body = []
    for label in (*(label for label in published(rows) if label != EFFECTS), *CORRECTED):
        theta = str(passes(by_theta(rows), label, unit)) if label in PUBLISHED else ""
        body.append([label, theta, str(passes(by_truth(rows), label, unit))])
    return markdown(["", "passes exact effects at θ =", f"at a true ε of a {unit} of"], body)


def _at(rows: pl.DataFrame, label: str) -> dict[float, float]:
    """θ, infinite without noise → mean RMSE of a curve by θ."""
    lines = summary(rows).filter(pl.col("name") == label)
    return dict(lines.select("epsilon", "rmse").iter_rows())


def _shown(theta: float) -> str:
    return "no noise" if math.isinf(theta) else f"θ = {theta:g}"


def _refits(data: Mapping[str, pl.DataFrame], name: str) -> str:
    """RMSE with parameters refitted for every θ."""
    rows = refitted(data, name)
    there = {label: _at(rows, label) for label in PUBLISHED if label in set(data[name]["name"])}
    lines = {label: points(rows, curve(label)) for label in there}
    body = []
    for theta in sorted(next(iter(there.values()))):
        cells = [spread(lines[label].get(theta)) or f"{there[label][theta]:.4f}" for label in there]
        body.append([_shown(theta), *cells])
    found = [str(passes(rows, label)) for label in there]
    return markdown(["", *there], [*body, ["passes exact effects at θ =", *found]])


def _chosen(rows: pl.DataFrame) -> str:
    """What was chosen for every θ."""
    found = refitting.chosen(rows)
    labels = list(dict.fromkeys(label for label, _ in found))
    thetas = sorted({theta for _, theta in found})
    return markdown(["", *labels], [[_shown(t), *(found[label, t] for label in labels)] for t in thetas])


def _cleaning(data: Mapping[str, pl.DataFrame]) -> str:
    """What cleaning adds to the RMSE, with one ridge and β everywhere and with refitted ones."""
    sets = {"mm-1m": "MovieLens 1M", "mm-100k": "MovieLens 100K"}
    thetas, body = (1.0, 4.0, 25.0, math.inf), []
    for name, (grid, _, _) in REFITS.items():
        for how, rows in (("as it is", by_theta(data[grid])), ("refitted", refitted(data, name))):
            for kind in ("kNN", "SVD"):
                raw, cleaned = _at(rows, f"{kind}, raw"), _at(rows, f"{kind}, cleaned")
                cells = [f"{cleaned[at] - raw[at]:+.3f}" if at in raw else "" for at in thetas]
                body.append([f"{sets[grid]}, {kind}, {how}", *cells])
    return markdown(["", *map(_shown, thetas)], body)


REPRODUCTION = Reproduction(
    paper="McSherry & Mironov 2009",
    makes="Fig. 1 and 2",
    sets=("ml-100k", "ml-1m"),
    minutes=35,
    works=works,
    page=page,
)
