"""McSherry & Mironov 2009, Fig. 1: kNN and SVD, cleaned and raw, against θ; and Fig. 2 (``mcsherry_time``).

Privacy: private, as the runs; the page shows averages over splits.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from hushrec.experiments.grid import Grid
from hushrec.experiments.plots import COLOURS, MARKS, REFERENCE, canvas, caption, svg
from hushrec.experiments.reading import Crossing, Curve, crossing, summary
from hushrec.experiments.reproductions import mcsherry_time, render
from hushrec.experiments.reproductions.mcsherry_time import DELTA, claimed
from hushrec.experiments.reproductions.reproduction import Line, Reproduction, read
from hushrec.experiments.source import Place
from hushrec.experiments.tables import markdown, points, spread
from hushrec.experiments.work import Work

GRIDS = ("mm-100k", "mm-1m", "mm-1m-user")
THETAS = (0.05, 0.15, 0.5, 1.0, 2.0, 4.0, 10.0, 25.0)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0)
LARGE_THETAS, LARGE_EPSILONS = (0.15, 1.0, 2.0, 4.0, 25.0), (0.5, 1.0, 4.0, 20.0)
USER_THETAS = (1.0, 4.0, 25.0)
"""Those of MovieLens 1M, where a fit takes seconds."""
GE, EFFECTS = "global effects", "effects alone"
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
WHY = {
    "Fig. 1": "Fig. 1: the Netflix Prize has a hundred times the ratings of MovieLens 1M, and "
    "noise does not grow with them; the corrected models get less noise for the same ε, and clean by it",
    "Fig. 2": "Fig. 2: MovieLens 100K has a thousandth of the Netflix Prize's ratings, over seven months",
}
FRAMES = {"mm-100k": ("ml-100k", {"max_users": 10_000, "cap": 1682}), "mm-1m": ("ml-1m", {"cap": 3952})}


def works(folder: Path | None) -> dict[str, Work[Any]]:
    """Both figures: the splits of MovieLens 100K and 1M, and its days."""
    large: Any = {"splits": 1, "epsilons": LARGE_EPSILONS}
    return {
        "mm-100k": grid("mm-100k", "rating", folder, splits=3),
        "mm-time": mcsherry_time.work(folder),
        "mm-1m": grid("mm-1m", "rating", folder, thetas=LARGE_THETAS, **large),
        "mm-1m-user": grid("mm-1m", "user", folder, thetas=USER_THETAS, raw=False, **large),
    }


def quick(folder: Path | None) -> dict[str, Work[Any]]:
    """A small part: one split of MovieLens 100K, and two days."""
    return {
        "mm-100k": grid("mm-100k", "rating", folder, splits=1, thetas=THETAS[1::2], epsilons=EPSILONS[2::2]),
        "mm-time": mcsherry_time.work(folder, days=mcsherry_time.DAYS[::3], seeds=1),
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
        at = [claimed(theta, MEASURED.get(label, mcsherry_time.MEASUREMENTS)) for theta in thetas]
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
        "reference": [{"name": "item average"}, {"name": GE}],
    }
    return Grid.model_validate(given, context=Place(Path(), folder))


def by_theta(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose ε is θ, of published curves; others as they are."""
    factors = [
        pl.when((pl.col("name") == name) & pl.col("epsilon").is_finite()).then(
            (pl.col("epsilon") / claimed(1.0, MEASURED.get(name, mcsherry_time.MEASUREMENTS))).round(6)
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


def curve(label: str, unit: str = "rating") -> Curve:
    """A curve of this paper's grids."""
    return Curve(label, unit, "add-remove", "published" if label in PUBLISHED else "corrected")


def passes(rows: pl.DataFrame, label: str, unit: str = "rating") -> Crossing:
    """From where a curve is as good as exact global effects."""
    return crossing(rows, curve(label, unit), GE)


def lines(data: Mapping[str, pl.DataFrame]) -> list[Line]:
    """Where curves pass exact global effects, in place of Cinematch."""
    found = []
    for grid, unit in (("mm-1m", "rating"), ("mm-1m-user", "user"), ("mm-100k", "rating")):
        if grid not in data:
            continue
        theta, true = by_theta(data[grid]), by_truth(data[grid])
        for model, label in tuple(CORRECTED.items())[:2]:
            ours = f"ε {passes(true, label, unit)}, which is θ {passes(theta, label, unit)}"
            where = "MovieLens 100K" if grid == "mm-100k" else "MovieLens 1M"
            what = f"true ε at which {label}, passes {GE}, unit {unit}, {where}"
            paper = "θ 0.15, of Cinematch on Netflix" if unit == "rating" else "in its full version"
            found.append(Line(what, paper, ours, f"ε {passes(true, model, unit)}", WHY["Fig. 1"]))
    grown = {tuple(line[:3]): line for line in mcsherry_time.losses(data["mm-time"]).iter_rows()}
    days = sorted({day for _, _, day in grown})
    last = mcsherry_time.THETAS[-1]
    published, corrected = (
        " to ".join(f"{grown[model, last, day][-2]:.1f} %" for day in (days[0], days[-1]))
        for model in mcsherry_time.MODELS
    )
    what = f"loss of kNN at θ = {last:g}, or its true ε, from day {days[0]} to {days[-1]}"
    return [*found, Line(what, "falls with the data (θ = 0.15)", published, corrected, WHY["Fig. 2"])]


def page(results: Path, folder: Path) -> None:
    """Write the page, its figures and mcsherry-mironov.csv."""
    data, part = read(results, *GRIDS, "mm-time"), {}
    for unit, name in (("rating", "mm-1m"), ("user", "mm-1m-user")):
        title = f"RMSE against θ and against the true ε of a {unit}, MovieLens 1M"
        drawn = picture(data[name], unit, title, "MovieLens 1M")
        part[f"figure 1 {unit}"] = render.picture(drawn, f"mm-fig1-{unit}", title, folder)
        part[f"θ {unit}"] = _by_theta(data[name], unit)
        part[f"ε {unit}"] = _by_epsilon(data[name], unit)
        part[f"crossings {unit}"] = _crossings(data[name], unit)
    part["θ 100k"] = _by_theta(data["mm-100k"], "rating")
    part["ε 100k"] = _by_epsilon(data["mm-100k"], "rating")
    part["crossings 100k"] = _crossings(data["mm-100k"], "rating")
    title = "What privacy costs over time, MovieLens 100K"
    drawn = mcsherry_time.picture(data["mm-time"], title)
    part["figure 2"] = render.picture(drawn, "mm-fig2", title, folder)
    part["time"] = mcsherry_time.table(data["mm-time"])
    render.page("mcsherry-mironov", part, folder)
    render.curves({name: data[name] for name in GRIDS}, folder / "mcsherry-mironov.csv")
    mcsherry_time.losses(data["mm-time"]).write_csv(folder / "mcsherry-mironov-time.csv", float_precision=5)


def picture(rows: pl.DataFrame, unit: str, title: str, *facts: str) -> str:
    """RMSE against θ, as the paper draws it, and against what the noise is worth."""
    exact = summary(rows).filter(name=GE)["rmse"].item()
    with canvas(4.3, width=7.2, panels=(1, 2), letters=9) as (drawing, (left, right)):
        for axes, moved, names in (
            (left, by_theta(rows), published(rows)),
            (right, by_truth(rows), (*published(rows), *CORRECTED)),
        ):
            for label in names:
                place = list(PUBLISHED).index(CORRECTED.get(label, label))
                line = sorted(points(moved, curve(label, unit)).items())
                look: Any = {"color": COLOURS[place], "marker": MARKS[place], "markersize": 4}
                look["linestyle"] = "-" if label in CORRECTED else "--"
                look["linewidth"] = (
                    2.4 if "KNN" in label.upper() else 1.2
                )  # both are seen where they coincide
                errors = [found["rmse"] for _, found in line]
                axes.plot([at for at, _ in line], errors, label=label, **look)
            axes.axhline(exact, zorder=0, **REFERENCE)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_ylim(0.83, 1.45)
        left.set_xlabel("θ (logarithmic)")
        left.set_ylabel("RMSE, stars")
        right.set_xlabel(f"true ε of a {unit} at δ = 1e-6 (logarithmic)")
        left.set_title("as published", fontsize=9)
        right.set_title("the same at its true ε, and corrected", fontsize=9)
        drawing.legend(
            *right.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False, fontsize=8
        )
        about = f"unit {unit}, add-remove, δ = 1e-6", f"dashed: {GE} without noise, {exact:.3f}"
        caption(drawing, *facts, *about, "what is above 1.45 is cut off")
        return svg(drawing, title)


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
    """From where curves are as good as exact global effects."""
    body = []
    for label in (*published(rows), *CORRECTED):
        theta = str(passes(by_theta(rows), label, unit)) if label in PUBLISHED else ""
        body.append([label, theta, str(passes(by_truth(rows), label, unit))])
    return markdown(["", "passes global effects at θ =", f"at a true ε of a {unit} of"], body)


REPRODUCTION = Reproduction(
    paper="McSherry & Mironov 2009",
    makes="Fig. 1 and 2",
    sets=("ml-100k", "ml-1m"),
    minutes=20,
    works=works,
    quick=quick,
    page=page,
    lines=lines,
    draw=lambda rows: picture(rows, "rating", "RMSE against θ and against the true ε", "MovieLens 100K"),
)
