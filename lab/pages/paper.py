"""Writes the tables of lab/scoreboard/private-ease.md from stored rows: ``python -m lab.pages.paper``."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from lab.attacks.membership import bound, interval

LAB = Path(__file__).parents[1]
PAGE = LAB / "scoreboard/private-ease.md"
DATA, METRIC, DELTA = "MovieLens 1M", "nDCG@100", 1e-6


def read(name):
    kinds = dict.fromkeys(("asked", "epsilon", "claimed", "delta"), pl.Float64)
    return pl.read_csv(
        LAB / ("attacks" if name == "membership" else "scoreboard") / f"{name}.csv", schema_overrides=kinds
    )


def mean(rows):
    return rows["value"].mean() if len(rows) else None


def lines(head: Iterable[str], body: Iterable[Iterable[object]]) -> str:
    rows = [list(head), ["---"] * len(list(head)), *body]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)


def lists():
    """nDCG by ε of each method that protects people whole, best first at ε = 1; without noise last."""
    rows = read("scoreboard").filter(task="lists", data=DATA, metric=METRIC)
    private, exact = rows.filter(unit="user"), rows.filter(pl.col("unit").is_null())
    epsilons = sorted(private["asked"].unique())
    names = [name for name in private["method"].unique(maintain_order=True) if "randomized" not in name]
    found = {name: [mean(private.filter(method=name, asked=e)) for e in epsilons] for name in names}
    body = [
        [name, *(f"{value:.3f}" for value in found[name]), ""]
        for name in sorted(names, key=lambda n: -found[n][0])
    ]
    body += [
        [name.removesuffix(", no noise"), *[""] * len(epsilons), f"{mean(exact.filter(method=name)):.3f}"]
        for name in exact["method"].unique(maintain_order=True)
    ]
    return lines(["method", *(f"ε = {e:g}" for e in epsilons), "no noise"], body)


def synthetic():
    """nDCG of models of synthetic people by ε, and on real people's rows."""
    rows = read("synthetic_people").filter(data=DATA, metric=METRIC)
    epsilons = (1.0, 4.0)
    own = [mean(rows.filter(rows="release", epsilon=e)) for e in epsilons]
    body = [["the release's own lists", *(f"{value:.3f}" for value in own), ""]]
    for model in rows.filter(rows="real")["measured"].unique(maintain_order=True):
        values = [mean(rows.filter(rows="synthetic", measured=model, epsilon=e)) for e in epsilons]
        if None not in values:
            real = mean(rows.filter(rows="real", measured=model))
            body.append([model, *(f"{value:.3f}" for value in (*values, real))])
    return lines(["trained on synthetic people", *(f"ε = {e:g}" for e in epsilons), "on real rows"], body)


def attacks():
    """Members whom the likelihood ratio catches at 1 % false positives, next to the bound."""
    rows = read("membership").filter(data=DATA, attacker="likelihood ratio")
    body = []
    for attacked in rows["attacked"].unique(maintain_order=True):
        for epsilon in sorted(rows.filter(attacked=attacked)["epsilon"].unique()):
            found = rows.filter(attacked=attacked, epsilon=epsilon)
            limit = bound(epsilon, DELTA)
            area, caught = (interval(found[metric].to_numpy())[0] for metric in ("auc", "caught"))
            cells = f"{area:.3f}", f"{limit.auc:.3f}", f"{100 * caught:.1f} %", f"{100 * limit.caught:.1f} %"
            body.append([attacked, f"{epsilon:g}".replace("inf", "∞"), *cells])
    return lines(["attacked", "ε", "AUC", "at most", "caught", "at most"], body)


MADE = {"lists": lists, "synthetic": synthetic, "attacks": attacks}


def write(text: str) -> str:
    """The page with its tables made anew: each stands between two marks."""
    for name, make in MADE.items():
        start = text.index(f"<!-- {name} -->\n") + len(f"<!-- {name} -->\n")
        text = f"{text[:start]}{make()}\n{text[text.index('<!-- end -->', start) :]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(write(PAGE.read_text("utf-8")), "utf-8")
