"""Liu, Wang & Smola 2015 on MovieLens 1M: grids ml-1m-posterior, -certified, -personal and -user.

The page also shows ``cache.txt``, which ``lab/speed/cache.py`` prints.

Privacy: private, as the runs; the page shows averages over splits.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from lab import reproduction
from lab.experiments.grid import Grid
from lab.experiments.plots import COLOURS, GREY, canvas, figure, svg
from lab.experiments.reading import Curve
from lab.experiments.tables import markdown, points, spread
from lab.reproduction import GRIDS, Line, Reproduction, grids, part, read

NAMES = ("ml-1m-posterior", "ml-1m-certified", "ml-1m-personal", "ml-1m-user")
PRINTED, TRUE, CERTIFIED, WHOLE = (
    "as printed, ε/4B",
    "corrected constant, ε/B",
    "certified",
    "certified, not trimmed",
)
ASKED = "What people ask for, and what comes of it"
LARGEST = 5**2
"""(hi − lo + κ)², in squared stars: the most that a rating adds to the loss."""
WHY = (
    "the paper bounds a user by the sum of their losses, and its ε holds only if the chain converges; "
    "clipped steps, each charged, need neither"
)


def page(results: Path, folder: Path) -> None:
    """Write the page, its figures and liu.csv."""
    data = read(results, *NAMES)
    trimmed, whole, own, others = data.values()
    reproduction.curves(data, folder / "liu.csv")
    part = {
        **figures(folder),
        "samples": _samples(trimmed),
        "certified": _certified(trimmed, whole, others),
        "personal": _shares(whole, own),
        "cache": _cache(results / "cache.txt"),
    }
    reproduction.page("liu", part, folder)


def figures(folder: Path) -> dict[str, str]:
    """Draw the figures of liu.csv."""
    trimmed, whole, own = reproduction.stored(folder / "liu.csv", grids(*NAMES[:3])(None))
    rows = [
        trimmed.filter(pl.col("analysis").is_null()),
        _moved(trimmed, "posterior sample", PRINTED),
        _moved(trimmed, "posterior sample", TRUE, epsilon="true_epsilon"),
        _moved(trimmed, CERTIFIED, CERTIFIED),
        _moved(whole, CERTIFIED, WHOLE),
    ]
    four = {name: _curve(name) for name in (PRINTED, TRUE, CERTIFIED, WHOLE)}
    title, levels = (
        "MovieLens 1M, whole people, at most 100 ratings of each",
        ["item average", "global effects"],
    )
    drawn = figure(pl.concat(rows, how="diagonal_relaxed"), four, levels, title=title, limits=(0.86, 1.2))
    return {
        "fig 5": reproduction.redrawn(drawn, "liu-fig5", "MovieLens 1M, whole people", folder),
        "asked": reproduction.redrawn(_personal(whole, own), "liu-personal", ASKED, folder),
    }


def lines(data: Mapping[str, pl.DataFrame]) -> list[Line]:
    """Fig. 5 at the ε that the paper speaks of, and what certified steps reach."""
    sample = points(data["ml-1m-posterior"], _curve("posterior sample", "published"))[250.0]
    found = []
    for label, name in (
        ("at most 100 ratings of each", "ml-1m-posterior"),
        ("all ratings", "ml-1m-certified"),
    ):
        certified = points(data[name], _curve(CERTIFIED)) if name in data else {}
        for epsilon in sorted({2.0, 8.0} & certified.keys()):
            what = f"RMSE, {label}: one posterior sample at ε = 250, certified at ε = {epsilon:g}"
            paper = "a modest decrease, on Netflix"
            found.append(Line(what, paper, spread(sample), spread(certified[epsilon]), WHY))
    return found


def _moved(rows: pl.DataFrame, name: str, to: str, epsilon: str = "epsilon") -> pl.DataFrame:
    """Rows of one curve under another name, and with another column for ε."""
    named = {"name": pl.lit(to), "analysis": pl.lit("corrected"), "epsilon": pl.col(epsilon)}
    return rows.filter(pl.col("name") == name).with_columns(**named)


def _curve(name: str, analysis: str = "corrected") -> Curve:
    return Curve(name, "user", "add-remove", analysis)


def _samples(rows: pl.DataFrame) -> str:
    """RMSE of the posterior samples beside the three constants of one sample, and the usual user's."""
    body = []
    for epsilon, line in sorted(points(rows, _curve("posterior sample", "published")).items()):
        three = (epsilon, line["true_epsilon"] * 2, line["true_epsilon"])
        usual = f"ε/{LARGEST / line['rmse'] ** 2:.0f}"
        body.append([*(f"{e:g}" for e in three), f"{epsilon / 10_000:g}", spread(line), usual])
    header = ["as printed, ε/4B", "replace, ε/2B", "add-remove, ε/B", "s", "RMSE", "usual user"]
    return markdown(header, body)


def _certified(trimmed: pl.DataFrame, whole: pl.DataFrame, others: pl.DataFrame) -> str:
    """RMSE at equal ε of the certified forms and of other models for whole people."""
    curves = {
        "certified, at most 100 ratings of each": (trimmed, CERTIFIED),
        "certified": (whole, CERTIFIED),
        "UserLevelSGD": (others, "PSGD"),
        "MM's SVD": (others, "MM's SVD"),
        "GlobalEffects": (others, "GE"),
    }
    epsilons, body = [0.5, 1.0, 2.0, 4.0, 8.0, 20.0], []
    for label, (rows, name) in curves.items():
        found = points(rows, _curve(name))
        body.append([label, *(spread(found.get(e)) for e in epsilons)])
    return markdown(["", *(f"ε = {e:g}" for e in epsilons)], body)


def _personal(whole: pl.DataFrame, own: pl.DataFrame) -> str:
    """How many people ask for which ε, and RMSE where everybody does."""
    mine, alike = points(own, _curve("an ε per user"))[8.0], points(whole, _curve(CERTIFIED))
    asked = Grid.open(GRIDS / "ml-1m-personal.toml").data.personal_epsilon
    with canvas(2.9, width=7.2, panels=(1, 2), letters=9) as (drawing, (left, right)):
        names, split = [f"ε = {epsilon:g}" for epsilon, _ in asked], [100 * share for _, share in asked]
        left.bar_label(left.bar(names, split, color=COLOURS[0], width=0.6), fmt="%.0f %%", padding=2)
        left.set_ylabel("people, %")
        left.set_title("what people ask for", fontsize=9)
        left.margins(y=0.15)
        rows = {f"all ε = {e:g}": alike[e] for e in (0.5, 2.0)}
        rows |= {"an ε per user": mine, "all ε = 8": alike[8.0]}
        for place, (name, line) in enumerate(rows.items()):
            error, half = line["rmse"], (line["high"] - line["low"]) / 2
            colour = COLOURS[5] if name == "an ε per user" else COLOURS[0]
            right.errorbar(error, place, xerr=half, fmt="o", color=colour, ecolor=GREY, capsize=3)
            right.annotate(f"{error:.3f}", (error, place), (0, 7), textcoords="offset points", ha="center")
        right.set_yticks(range(len(rows)), list(rows))
        right.invert_yaxis()
        right.margins(x=0.1, y=0.2)
        right.set_xlabel("RMSE, stars")
        right.set_title("what comes of it", fontsize=9)
        return svg(drawing, ASKED)


def _shares(whole: pl.DataFrame, own: pl.DataFrame) -> str:
    """RMSE with an ε per user, and where everybody has the same."""
    mine, alike = points(own, _curve("an ε per user"))[8.0], points(whole, _curve(CERTIFIED))
    lines = {f"everybody {e:g}": alike[e] for e in (0.5, 2.0)} | {
        "an ε per user": mine,
        "everybody 8": alike[8.0],
    }
    return markdown(["ε", "RMSE"], [[name, spread(line)] for name, line in lines.items()])


def _cache(path: Path) -> str:
    """What lab/speed/cache.py printed, as a table."""
    if not path.exists():
        return f"Not measured: `python -m lab bench cache > {path.name}`, in the folder of the runs.\n"
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    body = [row for row in rows if len(row) == 6 and row[0].isdigit()]
    return markdown(["rank", "order", "D1 misses", "LL misses", "lines: D1", "LL"], body)


REPRODUCTION = Reproduction(
    paper="Liu, Wang & Smola 2015",
    makes="Fig. 5, ε per user, Table 1",
    sets=("ml-1m",),
    minutes=35,
    works=grids(*NAMES),
    quick=lambda folder: {name: part(grid, {8, 250}) for name, grid in grids(NAMES[0])(folder).items()},
    page=page,
    figures=figures,
    lines=lines,
)
