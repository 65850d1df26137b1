"""The page and the figure of the MovieLens 1M results, from the table that movielens.py wrote.

python benchmarks/movielens_page.py docs/results/movielens-1m.csv
"""

import math
import sys
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

MARKS = {
    "rating": {0.2: 0.945, 0.5: 0.920, 1: 0.910, 2: 0.899, 4: 0.886, 8: 0.877, 20: 0.868, math.inf: 0.863},
    "user": {0.5: 0.983, 1: 0.965, 4: 0.934, 8: 0.925},
}
CASE = ["model", "cleaning", "unit", "adjacency", "analysis", "noise"]
HEAD = """# MovieLens 1M

Root mean squared error on held-out ratings: mean ± standard deviation over five random 90/10 splits, at
δ = 1e-6. Settings are the defaults, the same at every ε; see
[what was tuned on what](#what-was-tuned-on-what).
The domain is public: films 1 to 3,952, one to five stars, no cap, up to 10,000 users. Noise is seeded, and
evaluation on held-out ratings is not private. *Aim* is the error that these settings were built to reach.

```sh
make bench                                              # or this part of it:
.venv/bin/python benchmarks/movielens.py --out docs/results/movielens-1m.csv
.venv/bin/python benchmarks/movielens_page.py docs/results/movielens-1m.csv
```

Every run is a row of [movielens-1m.csv](movielens-1m.csv).

![RMSE against ε](movielens-1m.svg)
"""
TAIL = """
## What helped

- *Weighted cleaning.* Every entry of the covariance is fitted with a weight that follows from its known noise
  (`cleaning="weighted"`). Compared with the paper's uniform shrinking, it helps most where there is most
  noise; see the table above.
- *Less noise for the same ε.* Exact composition instead of adding up ε, and a Δ over the upper triangle:
  0.44 for the default clip, where the printed bound would be 1.62; with the paper's B = 1 and β_p = 20,
  1.22 instead of 3.83.
- *A narrower clip and a stronger prior on user means.* B = 0.65 stars and β_p = 300 instead of 1 and 20: the
  noise falls faster than the signal.
- *Item effects shrunk by the known noise,* towards a mean that rises with popularity; counts estimated by
  empirical Bayes.
- *Budget shares that depend on ε.* At ε = 0.2 most of the budget measures item effects, at ε = 20 nearly all
  of it measures the covariance.
- *Unit user:* ratings are first centred per user, and weights are √(K/c) with K growing with ε. From ε ≈ 4 up
  the covariance is worth its share; below that, `GlobalEffects` alone is better.
- Without noise the error is higher than at ε = 20, because the fit trusts exact sums too much: it knows the
  variance of the added noise, but only guesses that of the data themselves.

## What was tuned on what

Clip, β_p, offset, K, shares and the constants of the cleaning were chosen on MovieLens 100K (random holdout)
and on split 0 of MovieLens 1M; the prior strength of user means was chosen on Anime as well. Splits 1 to 4
chose nothing: some runs on them were seen once, under an earlier rule for the shares. The mean error on them
is below that on split 0 at every ε. None of this measures the error on your ratings.
"""


def shown(epsilon):
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def cell(rows, epsilon):
    found = rows.filter(pl.col("epsilon") == epsilon)
    if not len(found):
        return ""
    spread = f" ± {found['rmse'].std():.4f}" if len(found) > 1 else ""
    return f"{found['rmse'].mean():.4f}{spread}"


def table(title, results, cases, epsilons, marks=None):
    lines = [
        f"\n## {title}\n",
        "| | " + " | ".join(f"ε = {shown(e)}" for e in epsilons) + " |",
        "|---|" + "---|" * len(epsilons),
    ]
    if marks:
        lines.append(
            "| aim | " + " | ".join(f"{marks[e]:.3f}" if e in marks else "" for e in epsilons) + " |"
        )
    for name, case in cases:
        rows = results.filter(*(pl.col(k) == v for k, v in zip(CASE, case, strict=True)))
        if len(rows):
            lines.append(f"| {name} | " + " | ".join(cell(rows, e) for e in epsilons) + " |")
    return "\n".join(lines) + "\n"


def figure(results, path):
    drawing = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = drawing.subplots()
    lines = [
        ("CovarianceSVD, corrected", ("CovarianceSVD", "corrected"), "#0072B2", "o-"),
        ("CovarianceKNN, corrected", ("CovarianceKNN", "corrected"), "#009E73", "s-"),
        ("GlobalEffects, corrected", ("GlobalEffects", "corrected"), "#555555", "^-"),
        ("CovarianceSVD, published", ("CovarianceSVD", "published"), "#D55E00", "o--"),
        ("CovarianceKNN, published", ("CovarianceKNN", "published"), "#CC79A7", "s--"),
    ]
    usual = results.filter(unit="rating", adjacency="add-remove", noise="gaussian", cleaning="")
    for label, (model, analysis), colour, style in lines:
        rows = usual.filter(model=model, analysis=analysis).filter(pl.col("epsilon").is_finite())
        mean = rows.group_by("epsilon").agg(pl.col("rmse").mean()).sort("epsilon")
        if len(mean):
            axes.plot(mean["epsilon"], mean["rmse"], style, color=colour, label=label, markersize=4)
    exact = usual.filter(model="CovarianceSVD", analysis="corrected").filter(pl.col("epsilon").is_infinite())
    if len(exact):
        axes.axhline(exact["rmse"].mean(), color="#0072B2", linewidth=0.8, linestyle=":")
        axes.annotate(
            "CovarianceSVD without noise",
            (0.2, exact["rmse"].mean()),
            (0, 3),
            textcoords="offset points",
            fontsize=7,
        )
    axes.set(xscale="log", xlabel="ε per rating (δ = 1e-6)", ylabel="RMSE", ylim=(0.835, 1.0))
    axes.set_xticks([0.2, 0.5, 1, 2, 4, 8, 20], ["0.2", "0.5", "1", "2", "4", "8", "20"])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    drawing.savefig(path, metadata={"Date": None})


def main():
    source = Path(
        sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "results" / "movielens-1m.csv"
    )
    if not source.exists():
        print(f"skipped: {source} is not here; movielens.py writes it")
        return
    results = pl.read_csv(
        source, schema_overrides={"epsilon": pl.Float64, "cleaning": pl.String}
    ).with_columns(pl.col("cleaning").fill_null(""))
    usual = ("rating", "add-remove", "corrected", "gaussian")
    models = ["CovarianceSVD", "CovarianceKNN", "GlobalEffects"]
    parts = [HEAD]
    parts.append(
        table(
            "Unit rating, add-remove",
            results,
            [(f"`{m}`", (m, "", *usual)) for m in models],
            list(MARKS["rating"]),
            MARKS["rating"],
        )
    )
    user = ("user", "add-remove", "corrected", "gaussian")
    parts.append(
        table(
            "Unit user",
            results,
            [(f"`{m}`", (m, "", *user)) for m in models],
            list(MARKS["user"]),
            MARKS["user"],
        )
    )
    printed = ("rating", "add-remove", "published", "gaussian")
    cases = [(f"`{m}` {a[2]}", (m, "", *a)) for m in models for a in (printed, usual)]
    parts.append(table("Published and corrected, at equal claimed ε", results, cases, list(MARKS["rating"])))
    true = (
        results.filter(analysis="published", unit="rating", model="CovarianceSVD")
        .filter(pl.col("epsilon").is_finite())
        .group_by("epsilon")
        .agg(pl.col("true_epsilon").first())
        .sort("epsilon")
    )
    parts.append(
        "\nThe published noise is worth less ε than claimed, "
        "because ε are added up and sensitivities are loose: "
        + ", ".join(f"{t:.3g} at a claimed {e:g}" for e, t in true.iter_rows())
        + " (true ε at the same δ, of `CovarianceSVD`).\n"
    )
    ways = [
        (f"`{m}`, cleaning {w}", (m, "" if w == "weighted" else w, *usual))
        for m in models[:2]
        for w in ("weighted", "shrink", "none")
    ]
    parts.append(table("Cleaning", results, ways, [1, 4, 20, math.inf]))
    replace = ("rating", "replace", "corrected", "gaussian")
    parts.append(
        table(
            "Unit rating, replace", results, [(f"`{m}`", (m, "", *replace)) for m in models], [0.5, 1, 4, 8]
        )
    )
    laplace = ("rating", "add-remove", "corrected", "laplace")
    parts.append(table("Laplace noise", results, [(f"`{m}`", (m, "", *laplace)) for m in models], [1, 4, 20]))
    parts.append(TAIL)
    source.with_suffix(".md").write_text("".join(parts), encoding="utf-8")
    figure(results, source.with_suffix(".svg"))


if __name__ == "__main__":
    main()
