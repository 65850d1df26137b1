"""How many people does it take? What privacy costs generated crowds, by their size.

    python -m lab bench crowds [--users 3000 10000 30000 100000 500000] [--epsilon 0.5 1 2 4 8]
    python -m lab bench crowds --page

Crowds differ in size alone: 2,000 items, 50 ratings per user. The loss is that of the recommended
model's RMSE against the model without noise on the same crowd. The rows go to lab/scoreboard/crowds.csv;
what is there is not run again. ``--page`` writes the page of the rows that are there."""

import argparse
import math
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
from choice import budget, crowd, fitted

import hushrec as hr
from hushrec.models.visibility import mu
from lab.experiments.plots import MARKS, SHADES, canvas, caption, svg
from lab.experiments.tables import markdown

RESULTS = Path(__file__).resolve().parent
ITEMS, EACH = 2_000, 50
UNITS = "record", "user"
SCHEMA = {
    "users": pl.Int64,
    "unit": pl.String,
    **dict.fromkeys(("epsilon", "mu"), pl.Float64),
    "model": pl.String,
    **dict.fromkeys(("rmse", "seconds"), pl.Float64),
}


def stored(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides=SCHEMA) if path.exists() else pl.DataFrame(schema=SCHEMA)


def run(users: list[int], epsilons: list[float], path: Path) -> None:
    """Every crowd without noise, then under every budget; what is there is left as it is."""
    for size in users:
        parts = None
        for unit, epsilon in [(None, math.inf), *product(UNITS, epsilons)]:
            there = stored(path)
            if len(there.filter(pl.col("unit").eq_missing(pl.lit(unit)), users=size, epsilon=epsilon)):
                continue
            parts = parts or crowd(size, ITEMS, size * EACH)
            domain, terms = parts[0].domain, budget(unit, epsilon, size)
            config = hr.suggest_model(domain, terms)
            rmse, seconds, _ = fitted(parts, config, terms)
            told = round(mu(terms), 5) if terms else math.inf
            row = (size, unit, epsilon, told, type(config).__name__, rmse, seconds)
            print(*row, flush=True)
            added = pl.DataFrame([row], schema=SCHEMA, orient="row")
            pl.concat([there, added]).sort("users", "unit", "epsilon").write_csv(path)


def losses(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with noise, and how many per cent above the error without noise theirs is."""
    exact = rows.filter(epsilon=math.inf).select("users", without="rmse")
    noisy = rows.filter(pl.col("epsilon").is_finite()).join(exact, on="users")
    loss = 100 * (pl.col("rmse") / pl.col("without") - 1)
    return noisy.with_columns(loss=loss, told=pl.col("users") * pl.col("mu"))


def apart(found: pl.DataFrame, unit: str) -> Iterator[tuple[int, int, float, float]]:
    """For each crowd and the next larger one: how far their losses are apart where n · μ is the same.

    Losses of the larger crowd are read between its points, linearly in the logarithm of n · μ.

    Yields:
        The two sizes, the mean loss of the smaller one where both can be read, and the mean difference.
    """
    mine = found.filter(unit=unit)
    for small, large in pairwise(sorted(mine["users"].unique())):
        (x, y), (u, v) = (
            mine.filter(users=n).sort("told").select("told", "loss").to_numpy().T for n in (small, large)
        )
        inside = (x >= u[0]) & (x <= u[-1])
        if inside.any():
            read = np.interp(np.log(x[inside]), np.log(u), v)
            yield small, large, float(y[inside].mean()), float(np.mean(read - y[inside]))


def figure(found: pl.DataFrame) -> str:
    """Loss against the number of users, a curve per ε; and against n · μ, a colour per crowd."""
    sizes, epsilons = sorted(found["users"].unique()), sorted(found["epsilon"].unique())
    found = found.with_columns(loss=pl.col("loss").clip(lower_bound=0.1))
    with canvas(6.4, width=7.2, panels=(2, 2), letters=9) as (drawing, panels):
        for place, unit in enumerate(UNITS):
            above, below = panels[place], panels[place + 2]
            mine = found.filter(unit=unit)
            for epsilon, colour, mark in zip(epsilons, SHADES, MARKS, strict=False):
                line = mine.filter(epsilon=epsilon).sort("users")
                label = f"ε = {epsilon:g}"
                above.plot(line["users"], line["loss"], color=colour, marker=mark, markersize=4, label=label)
            for users, colour, mark in zip(sizes, SHADES, MARKS, strict=False):
                line = mine.filter(users=users).sort("told")
                label = f"{users:,} users"
                below.plot(line["told"], line["loss"], color=colour, marker=mark, markersize=4, label=label)
            above.set_title(f"unit {unit}", fontsize=9)
            above.set_xlabel("users n")
            below.set_xlabel("n · μ")
            for axes in (above, below):
                axes.set_xscale("log")
                axes.set_yscale("log")
                axes.set_yticks(
                    [0.1, 0.2, 0.5, 1, 2, 5, 10, 20], ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]
                )
                axes.minorticks_off()
                axes.set_ylim(0.08, max(1.0, 1.2 * max(found["loss"])))
                axes.set_ylabel("loss, %" if place == 0 else "")
        for axes in (panels[1], panels[3]):
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)
        caption(
            drawing,
            "loss: RMSE above the model without noise on the same crowd, at least 0.1 %",
            "δ = 1e-6, from 100,000 users on 1e-7",
        )
        return svg(drawing, "What privacy costs crowds, by their size")


def page(rows: pl.DataFrame) -> str:
    """The page."""
    found = losses(rows)
    epsilons = sorted(found["epsilon"].unique())
    parts = []
    for unit in UNITS:
        body = []
        for users in sorted(found["users"].unique()):
            cells = [found.filter(unit=unit, users=users, epsilon=e)["loss"].to_list() for e in epsilons]
            models = found.filter(unit=unit, users=users).sort("epsilon")["model"].unique(maintain_order=True)
            shown = [f"{cell[0]:.2f}" if cell else "" for cell in cells]
            body.append([f"{users:,}", *shown, ", ".join(f"`{name}`" for name in models)])
        header = ["users", *(f"ε = {epsilon:g}" for epsilon in epsilons), "chosen, by rising ε"]
        parts.append(f"## Unit {unit}\n\nLoss in per cent.\n\n{markdown(header, body)}")
    pairs = [
        [unit, f"{small:,}", f"{large:,}", f"{loss:.2f}", f"{further:+.2f}"]
        for unit in UNITS
        for small, large, loss, further in apart(found, unit)
    ]
    header = ["unit", "a crowd of", "and one of", "loss of the first, %", "of the second, beside it"]
    return f"""# How many people does it take?

What privacy costs generated crowds that differ in size alone: 2,000 items, 50 ratings per user,
δ = 1e-6 and, from 100,000 users on, 1e-7, adjacency add-remove. The model is
[the recommended one](../../docs/choosing.md). Its loss is how far its RMSE on
held-out ratings is above that of the model without noise on the same crowd. The tastes are
of low rank, and one draw of noise is shown: trust the trend, not the second digit.

```sh
python -m lab bench crowds
python -m lab bench crowds --page
```

What privacy costs crowds, by their size: `make figures` draws `crowds.svg` here.

{parts[0]}
{parts[1]}
## Is n · μ all that counts?

Noise is a fixed amount, μ is the inverse of its size, and sums grow with the number of people n. If the
ratio of sum to noise were all that counts, crowds of another size would lose the same at the same n · μ,
and the curves in the lower row of the figure would lie upon each other. Where two crowds can be
compared, on average over the budgets:

{markdown(header, pairs)}
The loss is taken against a model without noise that itself improves with the crowd, so that a larger
crowd has more to lose at the same n · μ. A step up is where another model is
chosen, or a model begins to learn factors, a little too early."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, nargs="+", default=[3_000, 10_000, 30_000, 100_000, 500_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1, 2, 4, 8])
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of crowds.csv and the page")
    asked = parser.parse_args()
    path = asked.out / "crowds.csv"
    if not asked.page:
        run(asked.users, asked.epsilon, path)
        return
    rows = stored(path)
    (asked.out / "crowds.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
