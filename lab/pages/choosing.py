"""Writes the tables of docs/choosing.md: ``python -m lab.pages.choosing [picture]``, or draws its picture."""

import math
import re
import sys
from functools import cache
from pathlib import Path
from statistics import NormalDist

import polars as pl

from hushrec.documents.odds import Odds
from hushrec.documents.sentences import Guarantee, times
from hushrec.text import one_in, percent
from lab.experiments.plots import canvas, svg

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = Path(__file__).parents[1] / "scoreboard"
DELTA = 1e-6
STORY = 4
"""The ε of the story that is told in full."""
MEANINGS = (0.1, 0.5, 1, 2, 4, 8, 20)
"""The ε of which the page says what they mean."""
COSTS = (0.5, 1.0, 2.0, 4.0, 8.0, 20.0)
"""The ε of which it says what they cost."""
LISTS = {"data": "MovieLens 1M, likes", "task": "lists", "metric": "nDCG@100"}
"""The lists of lab/scoreboard/top_n.csv that are compared."""


# -- what ε means -----------------------------------------------------------------------------------------


def gaussian(epsilon):
    """What Gaussian noise means that costs all of ε at DELTA."""
    return Odds.gaussian(epsilon, DELTA)


def as_strong(epsilon):
    """How often Gaussian noise lets a conclusion be as strong as e^ε: P(N(μ²/2, μ²) > ε)."""
    mu = gaussian(epsilon).mu
    return NormalDist().cdf(mu / 2 - epsilon / mu)


def story():
    """The story of Alice, as a statement tells it."""
    guarantee = Guarantee("user", "add-remove", gaussian(STORY))
    return "\n".join(f"> {number}. {line}" for number, line in enumerate(guarantee.story(), 1))


def meanings():
    """The rows of the table of what ε means."""
    yield (
        "| ε | right guess: Gaussian noise | any noise | best attack: Gaussian noise | any noise "
        "| single conclusion: any noise | Gaussian noise is that strong in |"
    )
    yield "|" + "---|" * 7
    for epsilon in MEANINGS:
        both = gaussian(epsilon), Odds.of(epsilon, DELTA)
        parts = [odds.right_guess for odds in both] + [odds.best_attack for odds in both]
        cells = [f"{percent(part)}\u00a0%" for part in parts]
        cells += [times(epsilon), f"1 of {one_in(as_strong(epsilon))}"]
        yield f"| {epsilon:g} | {' | '.join(cells)} |"


# -- what it costs ----------------------------------------------------------------------------------------


@cache
def errors():
    """RMSE of the suggested model on MovieLens 1M, by unit and ε; of the best that was measured elsewhere."""
    chosen = pl.read_csv(RESULTS / "movielens-1m-recommended.csv")
    chosen = chosen.filter(pl.col("model") == "recommended", pl.col("public").fill_null("") == "")
    chosen = chosen.with_columns(pl.col("unit").fill_null("none"))  # without noise there is no unit
    means = chosen.group_by("model", "unit", "epsilon").agg(pl.col("rmse").mean())
    best = means.group_by("unit", "epsilon").agg(pl.col("rmse").min())
    return {(unit, epsilon): rmse for unit, epsilon, rmse in best.iter_rows() if rmse is not None}


def lost(unit, epsilon):
    """How much larger the error is than without noise, in percent."""
    return 100 * (errors()[unit, epsilon] / errors()["none", math.inf] - 1)


def kept(method, epsilon):
    """How much of the nDCG of EASE, which is not private, a method's lists reach at unit user, in percent."""
    rows = pl.read_csv(RESULTS / "top_n.csv").filter(**LISTS)
    means = rows.group_by("method", "unit", "asked").agg(pl.col("value").mean())
    found = {(name, unit, at): value for name, unit, at, value in means.iter_rows()}
    return 100 * found[method, "user", epsilon] / found["EASE, no noise", None, math.inf]


def costs():
    """The rows of the table of what ε costs."""
    yield "| ε | error of ratings, unit `user` | error of ratings, unit `record` | lists, unit `user` |"
    yield "|---|---|---|---|"
    for epsilon in COSTS:
        cells = [f"{lost(unit, epsilon):+.1f}\u00a0%" for unit in ("user", "record")]
        yield f"| {epsilon:g} | {' | '.join(cells)} | {kept('PrivateEASE', epsilon):.0f}\u00a0% |"


# -- which model ------------------------------------------------------------------------------------------


def rules():
    """The rows of the table of the rule."""
    yield "| people give | unit | and | model |"
    yield "|---|---|---|---|"
    yield "| ratings | either, add-remove | δ > 0 | `AdaptiveFactors`, whose first sums decide |"
    yield "| ratings | `record`, replace | δ > 0 | `CovarianceSVD` |"
    yield "| ratings | either | δ = 0 | `GlobalEffects` with Laplace noise |"
    yield "| ratings | `user` | an ε per user | `PosteriorMF` |"
    low = "a bound on users so low that not even that many could be enough for pairs of items"
    yield f"| interactions | either | {low} | `Popularity` |"
    yield "| interactions | either | any other | `PrivateEASE`, whose first sums decide |"
    yield "| ratings | none, no noise | | `CovarianceSVD` |"


# -- the pages --------------------------------------------------------------------------------------------


def picture():
    """What the best attack finds, and what accuracy it costs, against ε, as SVG."""
    grid = [0.1 * 1.08**k for k in range(70)]
    with canvas(3.4, width=7.2, panels=(1, 2)) as (drawing, (gain, cost)):
        for axes in (gain, cost):
            axes.set_xscale("log")
            axes.set_xlim(0.4, 22)
            axes.set_xticks([0.5, 1, 2, 4, 8, 20], ["0.5", "1", "2", "4", "8", "20"])
            axes.minorticks_off()
            axes.set_xlabel("ε at δ = 1e-6")
        for noise, of, colour in (
            ("any noise with this ε", lambda e: Odds.of(e, DELTA), "#D55E00"),
            ("Gaussian noise", gaussian, "#0072B2"),
        ):
            gain.plot(grid, [100 * of(e).best_attack for e in grid], color=colour, label=noise)
        gain.axhline(1, color="#444444", linestyle="--", linewidth=1, label="a blind guess")
        gain.set_ylim(0, 101)
        gain.set_ylabel("best attack finds, % (1 % false positives)")
        gain.legend(frameon=False)
        for unit, colour, mark in (("user", "#0072B2", "o"), ("record", "#009E73", "s")):
            cost.plot(COSTS, [lost(unit, e) for e in COSTS], color=colour, marker=mark, label=f"unit {unit}")
        cost.set_ylim(0, None)
        cost.set_ylabel("error above that without noise, %")
        cost.legend(frameon=False)
        return svg(
            drawing, "What the best attack finds, and what accuracy it costs on MovieLens 1M, against ε"
        )


def write(page, made):
    """Replace what stands between the marks of a page."""
    text = page.read_text("utf-8")
    for mark, inside in made.items():
        marked = rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)"
        text = re.sub(marked, lambda m, inside=inside: f"{m[1]}{inside}\n{m[2]}", text, flags=re.DOTALL)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["picture"]:
        (DOCS / "choosing.svg").write_text(picture(), "utf-8")
        sys.exit()
    tables = {name.__name__: "\n".join(name()) for name in (meanings, costs, rules)}
    write(DOCS / "choosing.md", {"story": story(), **tables})
