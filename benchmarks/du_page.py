"""Writes the tables and figures of the results page of Du, Leighton & Patel 2019 from finished runs.

    python benchmarks/du_page.py results docs/results

``results`` holds what the other scripts of the page made. What is private in them stays there: the page shows
averages over seeds.
"""

import math
import sys
from pathlib import Path

import matplotlib
import polars as pl
from matplotlib.figure import Figure

from hushrec.experiments.tables import markdown

HERE = Path(__file__).parent
ML, FULL = "MovieLens 1M", "generated, nearly full"
PAPER = {0.8: 49.1, 0.9: 14.6, 0.95: 5.06, 0.97: 1.66}
# Two-sided 95 % points of Student's t, by degrees of freedom.
STUDENT = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
COLOURS = {
    "randomised response, corrected": "#0072B2",
    "the same, 50 ratings of each": "#CC79A7",
    "randomised response, published": "#56B4E9",
    "distance-based (which items, only)": "#D55E00",
    "MM's SVD, central": "#009E73",
}
WHO = {
    "means": "unbiased means",
    "users": "user-kNN",
    "items": "item-kNN",
    "factors": "MF",
    "users, holes as 0": "user-kNN, holes as 0",
}


def lines(path):
    """Runs, a line a recommender, with RMSE beside the loss."""
    made = pl.read_ndjson(path, infer_schema_length=None)
    return made.with_columns(
        rmse=(pl.col("loss") / pl.col("n")).sqrt(), loss=pl.col("loss") / pl.col("n") * 1000
    )


def among(rows, **values):
    """Rows with these values; None for none."""
    for name, value in values.items():
        column = pl.col(name)
        rows = rows.filter(
            column.is_null()
            if value is None
            else (column - value).abs() < 1e-9
            if isinstance(value, float)
            else column == value
        )
    return rows


def alter_ego(rows, p=None, group=None, **others):
    """Distance-based releases with the settings of the paper's table, but for what is said."""
    given = {"share": 0.1, "distance": "squared", "groups": "ratings", "slot": None, **others}
    found = among(rows, release="distance-based", **given)
    return found if p is None else among(found, keep=p, group=p if group is None else group)


def mean(values):
    """Mean and half the width of its 95 % interval over seeds."""
    values = [float(v) for v in values]
    n, centre = len(values), sum(values) / len(values)
    spread = math.sqrt(sum((v - centre) ** 2 for v in values) / (n - 1)) if n > 1 else math.nan
    return centre, STUDENT.get(n - 1, math.nan) * spread / math.sqrt(n)


def shown(values, digits=1):
    """As people read it."""
    centre, half = mean(values)
    return f"{centre:.{digits}f} ± {half:.{digits}f}"


def increases(base, rows):
    """Percent by which each seed's loss is above that of the same seed without a release."""
    both = rows.select("seed", "loss").join(base.select("seed", raw="loss"), on="seed").sort("seed")
    return (100 * (both["loss"] / both["raw"] - 1)).to_list()


def table(rows, data, **who):
    """The paper's table on one data set, for one recommender."""
    mine = among(rows, data=data, **who)
    base = among(mine, release="raw")
    body = []
    for p, paper in PAPER.items():
        made = alter_ego(mine, p)
        body.append(
            [
                f"{p:g}",
                shown(base["loss"], 0),
                shown(made["loss"], 0),
                shown(increases(base, made)),
                f"{paper:g}",
            ]
        )
    return markdown(["p = p*", "loss, raw", "loss, released", "increase, %", "paper's increase, %"], body)


def variants(rows):
    """Increase in loss at p = p* under several readings of the paper."""
    cases = [
        ("MovieLens 1M, asking with one's own ratings, K = 30", ML, "users", "own", 30),
        ("the same, K = 100", ML, "users", "own", 100),
        ("asking with one's released row, K = 30", ML, "users", "released", 30),
        ("the same, K = 100", ML, "users", "released", 100),
        ("nearly full block, asking with one's released row, K = 30", FULL, "users", "released", 30),
        ("nearly full block, holes count as 0 stars, K = 30", FULL, "users, holes as 0", "released", 30),
    ]
    body = [["*the paper*", *(f"{value:g}" for value in PAPER.values())]]
    for label, data, by, query, k in cases:
        mine = among(rows, data=data, by=by, by_distance="squared", query=query, k=k)
        base = among(mine, release="raw")
        body.append([label, *(shown(increases(base, alter_ego(mine, p))) for p in PAPER)])
    return markdown(["increase in loss, %", *(f"p = p* = {p:g}" for p in PAPER)], body)


def by_k(rows):
    """Loss by K."""
    ks = [1, 5, 10, 30, 50, 100, 200, 1000]
    body = []
    for by, distance in [("users", d) for d in ("squared", "cosine", "pearson")] + [("items", "pearson")]:
        mine = among(rows, data=ML, by=by, by_distance=distance, query="own")
        for label, made in (("raw", among(mine, release="raw")), ("p = p* = 0.8", alter_ego(mine, 0.8))):
            body.append(
                [f"{WHO[by]}, {distance}", label, *(f"{mean(among(made, k=k)['loss'])[0]:.0f}" for k in ks)]
            )
    return markdown(["loss", "", *(f"K = {k}" if k < 1000 else "all" for k in ks)], body)


def best(rows):
    """K of least mean loss among rows of one recommender; its rows."""
    by_k = {k: mean(among(rows, k=k)["loss"])[0] for k in rows["k"].unique().to_list()}
    k = min(by_k, key=by_k.get)
    return k, among(rows, k=k)


def recommenders(rows, data):
    """Loss of every recommender at its best K, raw and released."""
    columns = {
        "raw": lambda r: among(r, release="raw"),
        "p = p* = 0.97": lambda r: alter_ego(r, 0.97),
        "0.9": lambda r: alter_ego(r, 0.9),
        "0.8": lambda r: alter_ego(r, 0.8),
        "RR, ε = 5,000": lambda r: among(
            r, release="randomized response", analysis="corrected", epsilon=5000.0
        ),
        "RR, ε = 2,000": lambda r: among(
            r, release="randomized response", analysis="corrected", epsilon=2000.0
        ),
    }
    body = []
    cases = [(by, d) for by in ("users", "items") for d in ("squared", "cosine", "pearson")] + [
        ("factors", None)
    ]
    for by, distance in cases:
        mine = among(rows, data=data, by=by, query="own", by_distance=distance)
        cells = []
        for pick in columns.values():
            k, made = best(pick(mine))
            cells.append(f"{shown(made['loss'], 0)}" + (f" (K {k})" if by != "factors" else ""))
        body.append([WHO[by] + (f", {distance}" if distance else ""), *cells])
    return markdown(["", *columns], body)


def trade(rows):
    """At equal ε of a slot: which p and p* lose least, by the best recommender and K."""
    body = []
    for data in rows["data"].unique(maintain_order=True).to_list():
        if data == FULL:
            continue
        mine = among(rows, data=data, query="own").filter(pl.col("by").is_in(["users", "items", "factors"]))
        for slot in (9.0, 10.0, 11.4, 13.9):
            cells = []
            for group in (0.0, 0.5, 0.9):
                made = among(mine, release="distance-based", slot=slot, group=group)
                keep = made["keep"][0]
                found = made.group_by("by", "by_distance", "k").agg(pl.col("loss").mean()).sort("loss")
                by, distance, k, _ = found.row(0)
                chosen = among(made, by=by, k=k, by_distance=distance)
                more = made["cell_epsilon"][0]
                note = f" (ε = {more:.1f})" if more > slot + 0.05 else ""
                cells.append(f"p* = {keep:.4f}{note}: {shown(chosen['loss'], 0)}")
            found = f"{WHO[by]}, rank {k}" if distance is None else f"{WHO[by]}, {distance}, K = {k}"
            body.append([data, f"{slot:g}", *cells, found])
    return markdown(["", "ε of a slot", "p = 0", "p = 0.5", "p = 0.9", "recommender at p = 0.9"], body)


def groupings(rows):
    """Other λ, distances and sources of groups."""
    mine = among(rows, data=ML, by="items", by_distance="pearson", query="own", k=10)
    base = among(mine, release="raw")
    body = []
    cases = [
        ("ratings, squared, 10 % of pairs", {}),
        ("1 % of pairs", {"share": 0.01}),
        ("50 % of pairs", {"share": 0.5}),
        ("cosine", {"distance": "cosine"}),
        ("Pearson", {"distance": "pearson"}),
        ("D2P", {"distance": "d2p"}),
        ("covariance release (ε = 4), squared", {"groups": "charged"}),
    ]
    for label, others in cases:
        body.append([label, *(shown(increases(base, alter_ego(mine, p, **others))) for p in (0.8, 0.9))])
    return markdown(["groups", "increase at p = p* = 0.8, %", "0.9, %"], body)


def raw(rows, data):
    """RMSE of each seed without a release, by the recommender and K of least mean."""
    mine = among(rows, data=data, release="raw", query="own")
    means = mine.group_by("by", "by_distance", "k").agg(pl.col("rmse").mean()).sort("rmse")
    by, distance, k, _ = means.row(0)
    return among(mine, by=by, k=k, by_distance=distance).select("seed", raw="rmse")


def curves(rows, data):
    """RMSE by true ε of a person, each release with the recommender and K that serve it best."""
    mine = among(rows, data=data).filter((pl.col("query") == "own") | pl.col("query").is_null())
    mine = mine.filter(~(pl.col("by") == "users, holes as 0"))
    picks = {
        "randomised response, corrected": among(
            mine, release="randomized response", analysis="corrected", cap=None
        ),
        "the same, 50 ratings of each": among(mine, release="randomized response", cap=50),
        "randomised response, published": among(mine, release="randomized response", analysis="published"),
        "distance-based (which items, only)": among(mine, release="distance-based").filter(
            pl.col("slot").is_not_null() & (pl.col("group") == 0)
        ),
        "MM's SVD, central": among(mine, release="central"),
    }
    found = {}
    for label, made in picks.items():
        points = []
        setting = "slot" if "distance" in label else "epsilon"
        for value in sorted(made[setting].unique().to_list()):
            here = made.filter(pl.col(setting) == value)
            means = here.group_by("by", "by_distance", "k").agg(pl.col("rmse").mean()).sort("rmse")
            by, distance, k, _ = means.row(0)
            chosen = among(here, by=by, k=k, by_distance=distance)
            both = chosen.join(raw(rows, data), on="seed")
            half = mean(both["rmse"] - both["raw"])[
                1
            ]  # of the difference: which ratings are hidden is the same
            points.append((mean(chosen["user_epsilon"])[0], mean(chosen["rmse"])[0], half))
        found[label] = points
    return found


def axis(rows, folder):
    """The figure that tells an owner what each way costs, and its table."""
    sets = (ML, "FilmTrust", "Anime")
    with matplotlib.rc_context({"svg.hashsalt": "hushrec", "svg.fonttype": "none", "font.size": 9}):
        drawing = Figure(figsize=(7.2, 7.6), layout="constrained")
        for axes, data in zip(drawing.subplots(3, 1), sets, strict=True):
            for label, points in curves(rows, data).items():
                epsilons, errors, halves = zip(*sorted(points), strict=True)
                axes.errorbar(
                    epsilons,
                    errors,
                    yerr=halves,
                    fmt="o-",
                    markersize=4,
                    capsize=2,
                    color=COLOURS[label],
                    label=label,
                )
            level = raw(rows, data)["raw"].mean()
            axes.axhline(level, color="#444444", linestyle="--", linewidth=1, zorder=0)
            axes.annotate(f"raw data  {level:.3f}", (0.5, level), (0, 4), textcoords="offset points")
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
            axes.set_title(data, fontsize=9)
            axes.set_ylabel("RMSE, stars")
            axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("true ε of a person")
        drawing.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
        drawing.savefig(folder / "du-epsilon.svg", format="svg", metadata={"Date": None})
    body = []
    for data in sets:
        for label, points in curves(rows, data).items():
            body += [
                [data, label, f"{e:,.1f}", f"{error:.4f} ± {half:.4f}"] for e, error, half in sorted(points)
            ]
    return markdown(["", "release", "true ε of a person", "RMSE"], body)


def figures(rows, folder):
    """The paper's two figures: loss by ε of randomised response, and by p = p* of distance-based releases."""
    with matplotlib.rc_context({"svg.hashsalt": "hushrec", "svg.fonttype": "none", "font.size": 9}):
        drawing = Figure(figsize=(7.2, 3.2), layout="constrained")
        left, right = drawing.subplots(1, 2)
        mine = among(rows, data=ML, by="users", by_distance="squared", query="own", k=30)
        base = mean(among(mine, release="raw")["loss"])[0]
        for analysis, colour in (("corrected", "#0072B2"), ("published", "#56B4E9")):
            made = among(mine, release="randomized response", analysis=analysis, cap=None)
            points = [
                (e, *mean(among(made, epsilon=e)["loss"])) for e in sorted(made["epsilon"].unique().to_list())
            ]
            epsilons, losses, halves = zip(*points, strict=True)
            left.errorbar(
                epsilons, losses, yerr=halves, fmt="o-", markersize=4, capsize=2, color=colour, label=analysis
            )
        left.set_xscale("log")
        left.set_xlabel("ε claimed, of a person")
        left.set_title("randomised response", fontsize=9)
        for query, colour in (("own", "#0072B2"), ("released", "#D55E00")):
            asked = among(rows, data=ML, by="users", by_distance="squared", query=query, k=30)
            points = [(p, *mean(alter_ego(asked, p)["loss"])) for p in PAPER]
            ps, losses, halves = zip(*points, strict=True)
            right.errorbar(
                ps,
                losses,
                yerr=halves,
                fmt="o-",
                markersize=4,
                capsize=2,
                color=colour,
                label=f"asking with one's {query} row",
            )
        right.set_xlabel("p = p*")
        right.set_title("distance-based", fontsize=9)
        for axes in (left, right):
            axes.axhline(base, color="#444444", linestyle="--", linewidth=1, zorder=0)
            axes.set_ylabel("loss, of 1,000 users")
            axes.legend(frameon=False)
            axes.spines[["top", "right"]].set_visible(False)
        drawing.savefig(folder / "du-loss.svg", format="svg", metadata={"Date": None})


def attacks(rows):
    """Of 1,000 targets, how many are found."""
    body = [
        [
            row["release"],
            row["attacker"],
            row["epsilon"],
            f"{row['first']:.1f}",
            f"{row['named']:.1f}",
            f"{row['misnamed']:.1f}",
        ]
        for row in rows.iter_rows(named=True)
    ]
    return markdown(
        ["release", "attacker", "true ε of a person", "own row first", "named rightly", "named wrongly"], body
    )


def main():
    """Write page, figures and the table behind them."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    rows = lines(source / "releases.jsonl")
    few = rows.filter(pl.col("seed") < 5)  # those that every release has
    figures(rows, folder)
    part = {
        "table": table(rows, ML, by="users", by_distance="squared", query="released", k=30),
        "variants": variants(rows),
        "k": by_k(rows),
        **{f"recommenders {data}": recommenders(few, data) for data in (ML, "FilmTrust", "Anime")},
        "trade": trade(rows),
        "groupings": groupings(rows),
        "axis": axis(few, folder),
    }
    part["linkage"] = attacks(pl.read_ndjson(source / "linkage.jsonl"))
    part["likelihood"] = (source / "likelihood.txt").read_text().strip() + "\n"
    part["million"] = f"```text\n{(source / 'million.txt').read_text().strip(chr(10))}\n```\n"
    page = (HERE / "du_page.md").read_text()
    for name, text in part.items():
        page = page.replace(f"{{{{ {name} }}}}\n", text)
    if "{{" in page:
        raise SystemExit("the template names a part that is not made: " + page[page.index("{{") :][:60])
    (folder / "du.md").write_text(page)
    keys = ["data", "release", "analysis", "epsilon", "keep", "group", "share", "distance", "groups", "slot"]
    keys += ["cap", "by", "by_distance", "k", "query"]
    summed = rows.group_by(keys, maintain_order=True).agg(
        seeds=pl.len(),
        loss=pl.col("loss").mean(),
        loss_deviation=pl.col("loss").std(),
        rmse=pl.col("rmse").mean(),
        cell_epsilon=pl.col("cell_epsilon").mean(),
        user_epsilon=pl.col("user_epsilon").mean(),
    )
    same = [key for key in keys if key != "k"]
    summed = (
        summed.sort("loss").unique(same, keep="first", maintain_order=True).sort(same)
    )  # the best K of each
    summed.write_csv(folder / "du.csv", float_precision=5)


if __name__ == "__main__":
    main()
