"""Writes the results page of Friedman, Berkovsky & Kaafar 2016 from finished grids, with its figures.

    python benchmarks/fbk_page.py results docs/results

``results`` holds the Parquet files that ``hushrec experiment`` made of benchmarks/grids/: ml-100k, ml-1m,
ml-1m-covariance and ml-1m-user. What is private in them stays there: the page shows averages over splits.
"""

import sys
from pathlib import Path

import polars as pl

from hushrec.experiments.plots import figure
from hushrec.experiments.reading import Curve, crossing, summary
from hushrec.experiments.tables import crossings, errors, markdown

IA, GE, STRICT = "item average", "global effects", "GE"
PAPER = {  # Tables 4 and 5: crossings of item average and of global effects
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
TITLES = {"ml-100k": "MovieLens 100K", "ml-1m": "MovieLens 1M"}
BOUND = {"replace": "bounded (replace)", "add-remove": "unbounded (add-remove)"}


def of(names, adjacency, analysis, unit="rating"):
    return {name: Curve(name, unit, adjacency, analysis) for name in names}


def baselines(data):
    lines = {row["name"]: row for row in summary(data["ml-100k"]).iter_rows(named=True) if not row["unit"]}
    more = {row["name"]: row for row in summary(data["ml-1m"]).iter_rows(named=True) if not row["unit"]}
    body = []
    for name in [*TABLE_3["ml-1m"], *OURS]:
        line = [name]
        for grid, found in (("ml-100k", lines), ("ml-1m", more)):
            printed = TABLE_3[grid].get(name)
            row = found[name]
            line += [f"{row['rmse']:.4f} ± {(row['high'] - row['low']) / 2:.4f}"]
            line += [f"{printed:.4f}" if printed else "", f"{row['rmse'] - printed:+.4f}" if printed else ""]
        body.append(line)
    header = ["", "100K, ours", "Table 3", "difference", "1M, ours", "Table 3", "difference"]
    return markdown(header, body)


def table(data, grid, adjacency):
    named = of(("GE", "ISGD", "PSGD", "PALS"), adjacency, "published")
    printed = {}
    for name, (ia, ge) in PAPER[grid, adjacency].items():
        printed |= {(name, IA): ia, (name, GE): "not crossed" if ge is None else ge}
    if adjacency == "replace":
        named["PALS, bounds put right"] = Curve("PALS, bounds put right", "rating", adjacency, "published")
    return crossings(data[grid], named, [IA, GE], printed)


def corrected(data, grid, adjacency):
    """Crossings of the corrected forms: of the references, and of private global effects at the same ε."""
    rows = data[grid]
    named = of(("GE", "ISGD", "PSGD", "PALS"), adjacency, "corrected")
    body = []
    for name, curve in named.items():
        printed = PAPER[grid, adjacency][name]
        line = [name, str(crossing(rows, curve, IA)), f"{printed[0]:g}"]
        line += [str(crossing(rows, curve, GE)), f"{printed[1]:g}" if printed[1] else "not crossed"]
        line += ["" if name == "GE" else str(crossing(rows, curve, STRICT))]
        line += ["" if name == "GE" else beside(rows, curve, named["GE"])]
        body.append(line)
    header = ["", "item average at ε =", "paper", "global effects at ε =", "paper"]
    return markdown(
        [*header, "our best global effects at ε =", "private global effects of equal ε from"], body
    )


def beside(rows, curve, other):
    """The grid's first ε from which a curve stays below another's at the same ε."""
    lines = summary(rows)
    below = {}
    for row in lines.iter_rows(named=True):
        key = Curve(*(row[field] for field in Curve._fields))
        if key in (curve, other):
            below.setdefault(row["epsilon"], {})[key] = row["rmse"]
    first = None
    for epsilon in sorted(e for e, found in below.items() if len(found) == 2 and e != float("inf")):
        good = below[epsilon][curve] < below[epsilon][other]
        first = (first if first is not None else epsilon) if good else None
    return "–" if first is None else f"{first:g}"


def worth(rows):
    """True ε of the published noise, by what is claimed for it."""
    lines = summary(rows).filter(pl.col("analysis") == "published", pl.col("epsilon").is_in([1.0, 8.0]))
    body = {}
    for row in lines.sort("epsilon").iter_rows(named=True):
        true = "none known" if row["true_epsilon"] == float("inf") else f"{row['true_epsilon']:.3f}"
        body.setdefault((row["name"], BOUND[row["adjacency"]]), []).append(true)
    return markdown(
        ["", "adjacency", "claimed 1", "claimed 8"], [[*key, *true] for key, true in body.items()]
    )


def draw(folder, name, rows, named, levels, title, limits):
    (folder / f"{name}.svg").write_text(figure(rows, named, levels, title=title, limits=limits))
    return f"![{title}]({name}.svg)\n"


def main():
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    names = ("ml-100k", "ml-1m", "ml-1m-covariance", "ml-1m-user")
    data = {name: pl.read_parquet(source / f"{name}.parquet") for name in names}
    folds = data["ml-1m-covariance"]["split"].unique().to_list()
    noisy = data["ml-1m-covariance"].filter(pl.col("settings").is_not_null())
    some = data["ml-1m"].filter(pl.col("split").is_in(folds))
    both = pl.concat([some, noisy], how="diagonal_relaxed")
    part = {"Table 3": baselines(data)}
    for adjacency in BOUND:
        for grid in ("ml-100k", "ml-1m"):
            part[f"published {grid} {adjacency}"] = table(data, grid, adjacency)
            part[f"corrected {grid} {adjacency}"] = corrected(data, grid, adjacency)
        title = f"MovieLens 1M, {BOUND[adjacency]}, "
        four = of(("GE", "ISGD", "PSGD", "PALS"), adjacency, "published")
        part[f"published figure {adjacency}"] = draw(
            folder,
            f"fbk-published-{adjacency}",
            data["ml-1m"],
            four,
            [IA, GE],
            title + "published",
            (0.85, 1.15),
        )
        six = of(("GE", "ISGD", "PSGD", "PALS", "MM's SVD", "MM's kNN"), adjacency, "corrected")
        part[f"corrected figure {adjacency}"] = draw(
            folder, f"fbk-corrected-{adjacency}", both, six, [IA, GE], title + "corrected", (0.84, 1.0)
        )
        part[f"errors {adjacency}"] = errors(both, six, [0.5, 1, 2, 4, 8, 20], [IA, GE])
        home = ("ISGD, folded in at home", "PSGD, folded in at home", "PALS, folded in at home")
        part[f"home {adjacency}"] = errors(data["ml-1m"], of(home, adjacency, "corrected"), [1, 2, 4, 8, 20])
    part["true ε"] = worth(data["ml-1m"])
    user = of(("GE", "MM's SVD", "PSGD"), "add-remove", "corrected", "user")
    part["user"] = errors(data["ml-1m-user"], user, [0.5, 1, 2, 4, 8, 20], [IA, GE])
    page = (Path(__file__).parent / "fbk_page.md").read_text()
    for name, text in part.items():
        page = page.replace(f"{{{{ {name} }}}}\n", text)
    if "{{" in page:
        raise SystemExit("the template names a part that is not made: " + page[page.index("{{") :][:60])
    (folder / "friedman.md").write_text(page)
    lines = [summary(rows).with_columns(pl.lit(name).alias("grid")) for name, rows in data.items()]
    columns = ["grid", *Curve._fields, "epsilon", "splits", "runs", "rmse", "low", "high", "mae"]
    columns += ["true_epsilon", "claimed_epsilon", "fit_seconds"]
    pl.concat(lines, how="diagonal_relaxed").select(columns).write_csv(
        folder / "friedman.csv", float_precision=5
    )


if __name__ == "__main__":
    main()
