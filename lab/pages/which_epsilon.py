"""Writes the tables and the picture of docs/which-epsilon.md: ``python -m lab.pages.which_epsilon``."""

import math
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import polars as pl

from hushrec.documents.promise import times
from hushrec.documents.words import english
from hushrec.figures import above
from hushrec.models.visibility import COVARIANCE, FACTORS
from lab.experiments.plots import canvas, svg
from lab.pages.reading_epsilon import gaussian

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = Path(__file__).parents[1] / "results"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 20.0)
STEPS = {"user": (100, 790, 3_000), "record": (100, 500, 3_000)}
"""Signals at which the rows of ``measured`` begin."""
LISTS = {"data": "MovieLens 1M, likes", "protocol": "people", "metric": "nDCG@100"}
"""The lists of lab/results/top_n.csv that are compared."""


@cache
def ratings():
    """RMSE on MovieLens 1M by unit and ε: of the recommended model, or of the best that was measured."""
    chosen = RESULTS / "movielens-1m-recommended.csv"
    if chosen.exists():
        rows = pl.read_csv(chosen).filter(
            pl.col("model") == "recommended", pl.col("public").fill_null("") == ""
        )
        # Without noise there is no unit.
        rows = rows.with_columns(pl.col("unit").fill_null("none"))
    else:
        rows = pl.read_csv(RESULTS / "movielens-1m.csv").filter(
            pl.col("cleaning").is_null(), adjacency="add-remove", analysis="corrected", noise="gaussian"
        )
        bare = pl.read_csv(RESULTS / "movielens-1m.csv").filter(
            pl.col("epsilon").is_infinite(), pl.col("cleaning").is_null()
        )
        rows = pl.concat([rows, bare.with_columns(unit=pl.lit("none"))])
    means = rows.group_by("model", "unit", "epsilon").agg(pl.col("rmse").mean())
    best = means.group_by("unit", "epsilon").agg(pl.col("rmse").min())
    return {(unit, epsilon): rmse for unit, epsilon, rmse in best.iter_rows() if rmse is not None}


@cache
def lists():
    """nDCG@100 of PrivateEASE by unit and ε; of EASE without noise."""
    rows = pl.read_csv(RESULTS / "top_n.csv").filter(**LISTS)
    means = rows.group_by("method", "unit", "epsilon").agg(pl.col("value").mean())
    found = {
        (unit, epsilon): value
        for method, unit, epsilon, value in means.iter_rows()
        if method == "PrivateEASE"
    }
    return found


def lost(unit, epsilon):
    """How much larger the error is than without noise, in percent; None where it was not measured."""
    exact, private = ratings().get(("none", math.inf)), ratings().get((unit, epsilon))
    return None if exact is None or private is None else 100 * (private / exact - 1)


def kept(unit, epsilon):
    """The part of the lists' quality that is left, in percent; None where it was not measured."""
    exact, private = lists()[None, math.inf], lists().get((unit, epsilon))
    return None if private is None else 100 * private / exact


def costs():
    """The rows of the table of ε."""
    yield (
        "| ε | right guess | best attack finds | single conclusion | error of ratings, unit `user` "
        "| unit `record` | lists, unit `user` |"
    )
    yield "|---|---|---|---|---|---|---|"
    for epsilon in EPSILONS:
        odds = gaussian(epsilon)
        told = [
            percent(lost("user", epsilon), "+.1f"),
            percent(lost("record", epsilon), "+.1f"),
            percent(kept("user", epsilon)),
        ]
        shares = [f"{above(100 * share, 3)}\u00a0%" for share in (odds.right_guess, odds.best_attack)]
        yield f"| {epsilon:g} | {' | '.join([*shares, times(epsilon, english), *told])} |"


def percent(value, sign=""):
    """A figure of the table."""
    return (
        "not measured"
        if value is None
        else f"{value:{sign}.0f}\u00a0%"
        if not sign
        else f"{value:+.1f}\u00a0%"
    )


def rules():
    """The rows of the table of the rule."""
    yield "| people give | unit | signal | model |"
    yield "|---|---|---|---|"
    user, rating, replaced = FACTORS.values()
    yield f"| ratings | `user` | below {user:g} | `GlobalEffects` |"
    second = "`CovarianceSVD` where users rate too little for it"
    yield f"| ratings | `user` | {user:g} or more | `PosteriorMF`; {second} |"
    many = f"{COVARIANCE:,g} or more, √(items/2,000) times that for more than 2,000 items"
    yield f"| ratings | `user` | {many}; and at least (ratings/users)² | `CovarianceSVD` |"
    yield f"| ratings | `rating` | below {rating:g}, under replace {replaced:g} | `GlobalEffects` |"
    yield f"| ratings | `rating` | {rating:g} or more, under replace {replaced:g} | `CovarianceSVD` |"
    yield "| ratings | either, δ = 0 | any | `GlobalEffects` with Laplace noise |"
    yield "| ratings | `user`, with an ε per user | any | `PosteriorMF` |"
    enough = "people than `PrivateEASE` [needs](models/private_ease.md), or less than three items each"
    yield f"| interactions | either | fewer {enough} | `Popularity` |"
    yield "| interactions | either | otherwise | `PrivateEASE` |"
    yield "| ratings | none, no noise | any | `CovarianceSVD` |"


def measured():
    """How far each model is above the best of them on generated crowds, by unit and signal (choice.csv)."""
    case = ["users", "items", "ratings", "unit", "epsilon"]
    rows = pl.read_csv(RESULTS / "choice.csv").filter(pl.col("rmse").is_not_nan())
    ruled = rows.filter(pl.col("model") == pl.col("chosen")).with_columns(model=pl.lit("the rule"))
    rows = pl.concat([rows, ruled])
    rows = rows.with_columns(loss=100 * (pl.col("rmse") / pl.min("rmse").over(case) - 1))
    names = ("GlobalEffects", "PosteriorMF", "CovarianceSVD", "the rule")
    yield f"| unit | signal | {' | '.join(f'`{n}`' for n in names[:3])} | the rule | crowds and ε |"
    yield f"|---|---|{'---|' * (len(names) + 1)}"
    for unit, bounds in STEPS.items():
        for low, high in pairwise((0, *bounds, math.inf)):
            there = rows.filter(pl.col("signal").is_between(low, high, closed="left"), unit=unit)
            means = dict(there.group_by("model").agg(pl.col("loss").mean()).iter_rows())
            cells = [f"{means[name]:.2f} %" if name in means else "" for name in names]
            cells[-1] += f" (at most {there.filter(model='the rule')['loss'].max():.1f} %)"
            span = f"{low:,} to {high:,}" if low and high < math.inf else f"from {low:,}"
            span = span if low else f"below {high:,}"
            cases = there.filter(model="the rule").height
            yield f"| `{unit}` | {span} | {' | '.join(cells)} | {cases} |"


def picture():
    """What an attacker gains, and what it costs, against ε, as SVG."""
    grid = [0.1 * 1.08**k for k in range(70)]
    with canvas(3.4, width=7.2, panels=(1, 2)) as (drawing, (gain, cost)):
        for axes in (gain, cost):
            axes.set_xscale("log")
            axes.set_xlim(0.4, 22)
            axes.set_xticks([0.5, 1, 2, 4, 8, 20], ["0.5", "1", "2", "4", "8", "20"])
            axes.minorticks_off()
            axes.set_xlabel("ε at δ = 1e-6")
        gain.plot(grid, [100 * gaussian(e).best_attack for e in grid], color="#D55E00", label="best attack")
        gain.axhline(1, color="#444444", linestyle="--", linewidth=1, label="a blind guess")
        gain.set_ylim(0, 101)
        gain.set_ylabel("people found, % (1 % false positives)")
        gain.legend(frameon=False)
        for unit, colour, mark in (("user", "#0072B2", "o"), ("record", "#009E73", "s")):
            known = [(e, lost(unit, e)) for e in EPSILONS if lost(unit, e) is not None]
            cost.plot(*zip(*known, strict=True), color=colour, marker=mark, label=f"unit {unit}")
        cost.set_ylim(0, None)
        cost.set_ylabel("error above that without noise, %")
        cost.legend(frameon=False)
        return svg(
            drawing, "What the best attack finds, and what accuracy it costs on MovieLens 1M, against ε"
        )


if __name__ == "__main__":
    page = DOCS / "which-epsilon.md"
    text = page.read_text("utf-8")
    for name, rows in (("costs", costs()), ("rules", rules()), ("measured", measured())):
        marked = rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)"
        table = "\n".join(rows)
        text = re.sub(marked, lambda m, table=table: f"{m[1]}{table}\n{m[2]}", text, flags=re.DOTALL)
    page.write_text(text, "utf-8")
    (DOCS / "which-epsilon.svg").write_text(picture(), "utf-8")
