"""Du, Leighton & Patel 2019: releases of data in place of a model, the attack on them, and what they tell.

Privacy: private, as the runs; the page shows averages over seeds.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from lab import reproduction
from lab.du_leighton_patel import attack, randomizing
from lab.du_leighton_patel.randomizing import FULL, SHARED
from lab.experiments.plots import COLOURS, REFERENCE, canvas, errorbars, svg
from lab.experiments.tables import markdown
from lab.reproduction import Reproduction, Trials, mean, read

ML = "MovieLens 1M"
SETS = (ML, "FilmTrust", "Anime")
BASELINE = 800.47
PAPER = {0.8: (1193.31, "49.1"), 0.9: (917.44, "14.6"), 0.95: (843.11, "5.06"), 0.97: (813.75, "1.66")}
"""Of the paper's table: p = p* → the loss of the released rows, and the increase as it is printed, in %."""
RESPONSE, DISTANCE_BASED = "randomized response", "distance-based"
WHO = {"users": "user-kNN", "items": "item-kNN"}
KEYS = ["data", "release", "analysis", "epsilon", "keep", "group", "share", "distance", "groups", "slot"]
KEYS += ["max_per_user", "by", "by_distance", "k", "query"]
Points = list[tuple[float, float, float]]


def page(results: Path, folder: Path) -> None:
    """Write the page, its figures and du.csv."""
    data = read(results, "du-releases", "du-linkage")
    loss = pl.col("loss") / pl.col("n")
    rows = data["du-releases"].with_columns(rmse=loss.sqrt(), loss=loss * 1000)
    few = rows.filter(pl.col("seed") < randomizing.FEW)  # those that every release has
    curves = {name: _curves(few, name) for name in SETS}
    parts = {
        "epsilon": reproduction.picture(
            _by_epsilon(few, curves), "du-epsilon", "RMSE against the true ε of a person", folder
        ),
        "axis": _axis(curves),
        "table": _table(_among(rows, data=ML, by="users", by_distance="squared", query="released", k=30)),
        "variants": _variants(rows),
        "figures": reproduction.picture(_by_claim(rows), "du-loss", "the paper's two figures", folder),
        "k": _by_k(rows),
        "linkage": attack.table(data["du-linkage"]),
    }
    reproduction.page("du", parts, folder)
    summed = rows.group_by(KEYS, maintain_order=True).agg(
        seeds=pl.len(),
        loss=pl.col("loss").mean(),
        loss_deviation=pl.col("loss").std(),
        rmse=pl.col("rmse").mean(),
        cell_epsilon=pl.col("cell_epsilon").mean(),
        user_epsilon=pl.col("user_epsilon").mean(),
    )
    same = [key for key in KEYS if key != "k"]
    best = summed.sort("loss").unique(same, keep="first", maintain_order=True)  # the best K of each
    best.sort(same).write_csv(folder / "du.csv", float_precision=5)


def printed(p: float) -> str:
    """The paper's increase in loss at p = p*, in %; by its own losses where it prints another figure."""
    loss, increase = PAPER[p]
    true = f"{100 * (loss / BASELINE - 1):.3g}"
    return increase if true == increase else f"{true} (printed {increase})"


def _among(rows: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """Rows with these values; None for none."""
    return rows.filter(*(pl.col(name).eq_missing(pl.lit(value)) for name, value in values.items()))


def _alter_ego(rows: pl.DataFrame, p: float, **others: Any) -> pl.DataFrame:
    """Distance-based releases with the settings of the paper's table, but for what is said."""
    given = {**randomizing.alter_ego(p, p), "slot": None, **others}
    return _among(rows, **given)


def _shown(values: Iterable[float], digits: int = 1) -> str:
    centre, half = mean(values)
    return f"{centre:.{digits}f}" if math.isnan(half) else f"{centre:.{digits}f} ± {half:.{digits}f}"


def _increases(base: pl.DataFrame, rows: pl.DataFrame) -> list[float]:
    """Percent by which each seed's loss is above that of the same seed without a release."""
    both = rows.select("seed", "loss").join(base.select("seed", raw="loss"), on="seed").sort("seed")
    return (100 * (both["loss"] / both["raw"] - 1)).to_list()


def _best(rows: pl.DataFrame, measure: str = "loss") -> pl.DataFrame:
    """Rows of the recommender and K of least mean."""
    means = rows.group_by("by", "by_distance", "k", maintain_order=True).agg(pl.col(measure).mean())
    by, distance, k, _ = means.sort(measure).row(0)
    return _among(rows, by=by, by_distance=distance, k=k)


def _table(rows: pl.DataFrame) -> str:
    """The paper's table on one data set, for one recommender."""
    base, body = _among(rows, release="raw"), []
    for p in PAPER:
        cells = [f"{p:g}", _shown(base["loss"], 0)]
        for made in (_alter_ego(rows, p, release=SHARED), _alter_ego(rows, p)):
            cells += [_shown(made["loss"], 0), _shown(_increases(base, made))]
        body.append([*cells, printed(p)])
    header = ["p = p*", "loss, raw", "DuRepresentatives", "increase, %", "DistanceBased", "increase, %"]
    return markdown([*header, "paper's increase, %"], body)


def _variants(rows: pl.DataFrame) -> str:
    """Increase in loss at p = p* under several readings of the paper."""
    cases = [
        ("MovieLens 1M, asking with one's own ratings, K = 30", ML, "users", "own", 30),
        ("the same, K = 100", ML, "users", "own", 100),
        ("asking with one's released row, K = 30", ML, "users", "released", 30),
        ("the same, K = 100", ML, "users", "released", 100),
        ("nearly full block, asking with one's released row, K = 30", FULL, "users", "released", 30),
        ("nearly full block, holes count as 0 stars, K = 30", FULL, "users, holes as 0", "released", 30),
    ]
    body = [["*the paper*", *map(printed, PAPER)]]
    for label, data, by, query, k in cases:
        mine = _among(rows, data=data, by=by, by_distance="squared", query=query, k=k)
        base = _among(mine, release="raw")
        made = (_alter_ego(mine, p, release=SHARED) for p in PAPER)
        body.append([label, *(_shown(_increases(base, each)) for each in made)])
    return markdown(["increase in loss, %", *(f"p = p* = {p:g}" for p in PAPER)], body)


def _by_k(rows: pl.DataFrame) -> str:
    """Loss by K."""
    ks, body = [1, 5, 10, 30, 50, 100, 200, 1000], []
    for by, distance in [("users", d) for d in ("squared", "cosine", "pearson")] + [("items", "pearson")]:
        mine = _among(rows, data=ML, by=by, by_distance=distance, query="own")
        for label, made in (
            ("raw", _among(mine, release="raw")),
            ("p = p* = 0.8", _alter_ego(mine, 0.8, release=SHARED)),
        ):
            losses = (f"{mean(_among(made, k=k)['loss'])[0]:.0f}" for k in ks)
            body.append([f"{WHO[by]}, {distance}", label, *losses])
    return markdown(["loss", "", *(f"K = {k}" if k < 1000 else "all" for k in ks)], body)


def _raw(rows: pl.DataFrame, data: str) -> pl.DataFrame:
    """RMSE of each seed without a release, by the recommender and K of least mean."""
    return _best(_among(rows, data=data, release="raw", query="own"), "rmse").select("seed", raw="rmse")


def _curves(rows: pl.DataFrame, data: str) -> dict[str, Points]:
    """RMSE by true ε of a person, each release with the recommender and K that serve it best."""
    mine = _among(rows, data=data).filter(pl.col("query").is_null() | (pl.col("query") == "own"))
    responses = _among(mine, release=RESPONSE)
    corrected = _among(responses, analysis="corrected", max_per_user=None)
    slots = _among(mine, release=DISTANCE_BASED, group=0.0).filter(pl.col("slot").is_not_null())
    releases = {
        "randomized response, corrected": (corrected, "epsilon"),
        "the same, 50 ratings of each": (_among(responses, max_per_user=50), "epsilon"),
        "randomized response, published": (_among(responses, analysis="published"), "epsilon"),
        "distance-based (which items, only)": (slots, "slot"),
        "MM's SVD, central": (_among(mine, release="central"), "epsilon"),
    }
    found = {}
    for label, (made, setting) in releases.items():
        points = []
        for value in made[setting].unique().to_list():
            best = _best(_among(made, **{setting: value}), "rmse").join(_raw(rows, data), on="seed")
            half = mean(best["rmse"] - best["raw"])[1]  # of the difference: what is hidden is the same
            points.append((mean(best["user_epsilon"])[0], mean(best["rmse"])[0], half))
        found[label] = sorted(points)
    return found


def _axis(curves: dict[str, dict[str, Points]]) -> str:
    """What the figure shows, as a table."""
    body = [
        [data, label, f"{epsilon:,.1f}", f"{error:.4f} ± {half:.4f}"]
        for data, lines in curves.items()
        for label, points in lines.items()
        for epsilon, error, half in points
    ]
    return markdown(["", "release", "true ε of a person", "RMSE"], body)


def _by_epsilon(rows: pl.DataFrame, curves: dict[str, dict[str, Points]]) -> str:
    """The figure that tells an owner what each way costs."""
    colours = [COLOURS[place] for place in (0, 3, 4, 5, 2)]
    with canvas(7.6, width=7.2, panels=(3, 1), letters=9) as (drawing, panels):
        for axes, (data, lines) in zip(panels, curves.items(), strict=True):
            for (label, points), colour in zip(lines.items(), colours, strict=True):
                errorbars(axes, points, colour, label)
            level: Any = _raw(rows, data)["raw"].mean()
            axes.axhline(level, zorder=0, **REFERENCE)
            axes.annotate(f"raw data  {level:.3f}", (0.5, level), (0, 4), textcoords="offset points")
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
            axes.set_title(data, fontsize=9)
            axes.set_ylabel("RMSE, stars")
        axes.set_xlabel("true ε of a person")
        drawing.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
        return svg(drawing, "RMSE against the true ε of a person")


def _by_claim(rows: pl.DataFrame) -> str:
    """The paper's two figures: loss by ε of randomized response, and by p = p* of distance-based releases."""
    usual = _among(rows, data=ML, by="users", by_distance="squared", k=30)
    mine = _among(usual, query="own")
    with canvas(3.2, width=7.2, panels=(1, 2), letters=9) as (drawing, (left, right)):
        for analysis, colour in (("corrected", COLOURS[0]), ("published", COLOURS[4])):
            made = _among(mine, release=RESPONSE, analysis=analysis, max_per_user=None)
            claims = sorted(made["epsilon"].unique().to_list())
            points = [(e, *mean(_among(made, epsilon=e)["loss"])) for e in claims]
            errorbars(left, points, colour, analysis)
        left.set_xscale("log")
        left.set_xlabel("ε claimed, of a person")
        left.set_title("randomized response", fontsize=9)
        for label, colour, query, release in (
            ("published", COLOURS[4], "released", SHARED),
            ("corrected", COLOURS[0], "released", DISTANCE_BASED),
            ("published, own row asks", COLOURS[5], "own", SHARED),
        ):
            asked = _among(usual, query=query)
            points = [(p, *mean(_alter_ego(asked, p, release=release)["loss"])) for p in PAPER]
            errorbars(right, points, colour, label)
        right.set_xlabel("p = p*")
        right.set_title("distance-based", fontsize=9)
        for axes in (left, right):
            axes.axhline(mean(_among(mine, release="raw")["loss"])[0], zorder=0, **REFERENCE)
            axes.set_ylabel("loss, of 1,000 users")
            axes.legend(frameon=False, loc="upper right")
        return svg(drawing, "the paper's two figures")


def _works(folder: Path | None) -> dict[str, Trials]:
    return {
        "du-releases": randomizing.work(folder),
        "du-linkage": attack.work(folder),
    }


REPRODUCTION = Reproduction(
    paper="Du, Leighton & Patel 2019",
    makes="its table and two figures, linkage",
    sets=("ml-1m", "filmtrust", "anime"),
    minutes=45,
    works=_works,
    page=page,
)
