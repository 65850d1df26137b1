"""Writes the tables and figures of the results page of Liu, Wang & Smola 2015 from finished grids.

    python benchmarks/cache.py > results/cache.txt
    python benchmarks/liu_page.py results docs/results

``results`` holds the Parquet files that ``hushrec experiment`` made of benchmarks/grids/: ml-1m-posterior,
ml-1m-certified, ml-1m-personal and ml-1m-user. What is private in them stays there: the page shows averages
over splits.
"""

import sys
from pathlib import Path

import matplotlib
import polars as pl

from hushrec.experiments.grid import Grid
from hushrec.experiments.plots import figure
from hushrec.experiments.reading import Curve, summary
from hushrec.experiments.tables import markdown

HERE = Path(__file__).parent
IA, GE = "item average", "global effects"
USER = ("user", "add-remove")
PRINTED, TRUE, CERTIFIED, WHOLE, HALF = (
    "as printed, ε/4B",
    "corrected constant, ε/B",
    "certified",
    "certified, not trimmed",
    "certified, half of the people a round",
)


def moved(rows, name, to, analysis="corrected", epsilon="epsilon"):
    """Rows of one curve under another name, and with another column for ε."""
    mine = rows.filter(pl.col("name") == name)
    return mine.with_columns(
        pl.lit(to).alias("name"), pl.lit(analysis).alias("analysis"), epsilon=pl.col(epsilon)
    )


def curve(name):
    return Curve(name, *USER, "corrected")


def points(rows, name):
    """ε → a line of the summary."""
    lines = summary(rows).filter(pl.col("name") == name).sort("epsilon")
    return {line["epsilon"]: line for line in lines.iter_rows(named=True)}


def shown(line):
    return f"{line['rmse']:.4f} ± {(line['high'] - line['low']) / 2:.4f}" if line else ""


def samples(rows):
    """RMSE of the posterior samples beside the three constants that one sample has."""
    body = []
    for epsilon, line in points(rows, "posterior sample").items():
        three = (epsilon, line["true_epsilon"] * 2, line["true_epsilon"])
        body.append([*(f"{e:g}" for e in three), f"{epsilon / 10_000:g}", shown(line)])
    return markdown(["as printed, ε/4B", "replace, ε/2B", "add-remove, ε/B", "s", "RMSE"], body)


def certified(trimmed, whole, others):
    """RMSE at equal ε of the certified forms and of other models for whole people."""
    found = {
        "certified, at most 100 ratings of each": points(trimmed, CERTIFIED),
        "half of the people a round, the same": points(trimmed, HALF),
        "certified": points(whole, CERTIFIED),
        "half of the people a round": points(whole, HALF),
        "PrivateSGD": points(others, "PSGD"),
        "MM's SVD": points(others, "MM's SVD"),
        "GlobalEffects": points(others, "GE"),
    }
    epsilons = [0.5, 1.0, 2.0, 4.0, 8.0, 20.0]
    body = [[name, *(shown(lines.get(e)) for e in epsilons)] for name, lines in found.items()]
    return markdown(["", *(f"ε = {e:g}" for e in epsilons)], body)


def personal(whole, own, folder):
    """RMSE where users ask for their own ε, and how many ask for which."""
    mine = points(own, "everybody his own ε")[8.0]
    all_alike = points(whole, CERTIFIED)
    body = [[f"everybody {e:g}", shown(all_alike[e])] for e in (0.5, 2.0, 8.0)]
    asked = Grid.open(HERE / "grids" / "ml-1m-personal.toml").data.asked
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "hushrec", "svg.fonttype": "none", "font.size": 9}):
        drawing = Figure(figsize=(7.2, 2.9), layout="constrained")
        left, right = drawing.subplots(1, 2)
        names = [f"ε = {epsilon:g}" for epsilon, _ in asked]
        bars = left.bar(names, [100 * share for _, share in asked], color="#0072B2", width=0.6)
        left.bar_label(bars, fmt="%.0f %%", padding=2)
        left.set_ylabel("users, %")
        left.set_title("what users ask for", fontsize=9)
        rows = [*((f"all ε = {e:g}", all_alike[e]) for e in (0.5, 2.0)), ("an ε per user", mine)]
        rows.append(("all ε = 8", all_alike[8.0]))
        places = range(len(rows))
        errors = [line["rmse"] for _, line in rows]
        spread = [(line["high"] - line["low"]) / 2 for _, line in rows]
        colours = ["#D55E00" if name == "an ε per user" else "#0072B2" for name, _ in rows]
        for place, error, half, colour in zip(places, errors, spread, colours, strict=True):
            right.errorbar(error, place, xerr=half, fmt="o", color=colour, ecolor="#444444", capsize=3)
            right.annotate(f"{error:.3f}", (error, place), (0, 7), textcoords="offset points", ha="center")
        right.set_yticks(places, [name for name, _ in rows])
        right.invert_yaxis()
        right.margins(x=0.1, y=0.2)
        right.set_xlabel("RMSE, stars")
        right.set_title("the resulting error", fontsize=9)
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        left.margins(y=0.15)
        drawing.savefig(folder / "liu-personal.svg", format="svg", metadata={"Date": None})
    return markdown(["ε", "RMSE"], [*body[:2], ["an ε per user", shown(mine)], body[2]])


def cache(path):
    """What benchmarks/cache.py printed, as a table."""
    rows = [line.split() for line in path.read_text().splitlines() if line.split()[:1] != ["rank"]]
    body = [row for row in rows if len(row) == 6 and row[0].isdigit()]
    return markdown(["rank", "order", "D1 misses", "LL misses", "lines: D1", "LL"], body)


def main():
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    names = ("ml-1m-posterior", "ml-1m-certified", "ml-1m-personal", "ml-1m-user")
    data = {name: pl.read_parquet(source / f"{name}.parquet") for name in names}
    trimmed, whole, own, others = data.values()
    rows = [
        trimmed.filter(pl.col("settings").is_null()),
        moved(trimmed, "posterior sample", PRINTED),
        moved(trimmed, "posterior sample", TRUE, epsilon="true_epsilon"),
        moved(trimmed, CERTIFIED, CERTIFIED),
        moved(whole, CERTIFIED, WHOLE),
    ]
    four = {name: curve(name) for name in (PRINTED, TRUE, CERTIFIED, WHOLE)}
    title = "MovieLens 1M, whole people, at most 100 ratings of each"
    drawn = figure(pl.concat(rows, how="diagonal_relaxed"), four, [IA, GE], title=title, limits=(0.86, 1.2))
    (folder / "liu-fig5.svg").write_text(drawn)
    part = {
        "samples": samples(trimmed),
        "certified": certified(trimmed, whole, others),
        "personal": personal(whole, own, folder),
        "cache": cache(source / "cache.txt"),
    }
    page = (HERE / "liu_page.md").read_text()
    for name, text in part.items():
        page = page.replace(f"{{{{ {name} }}}}\n", text)
    if "{{" in page:
        raise SystemExit("the template names a part that is not made: " + page[page.index("{{") :][:60])
    (folder / "liu.md").write_text(page)
    lines = [summary(rows).with_columns(pl.lit(name).alias("grid")) for name, rows in data.items()]
    columns = ["grid", *Curve._fields, "epsilon", "splits", "runs", "rmse", "low", "high", "mae"]
    columns += ["true_epsilon", "claimed_epsilon", "fit_seconds"]
    pl.concat(lines, how="diagonal_relaxed").select(columns).write_csv(folder / "liu.csv", float_precision=5)


if __name__ == "__main__":
    main()
