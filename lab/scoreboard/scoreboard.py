"""The scoreboard of private recommenders: the same people and protocol for all, and the ε that is true.

    python -m lab bench scoreboard lists|interactions|ratings [--data FILE --name NAME] [--items FILE]
                                   [--titles-alone] [--others DATA ITEMS] [--only METHOD ...]
                                   [--unit user record] [--epsilon 1 4 20]
                                   [--delta 1e-6] [--draws 3] [--model MODULE:CLASS ...] [--out FILE]
    python -m lab bench scoreboard page

*lists*: likes, strong generalisation (``top_n.protocol``); *interactions*: a fifth of everybody's items is to
be found; *ratings*: a random tenth of all ratings is held out. ``--likes 0`` takes all ratings as
interactions; ``--items`` names the public list of the items, whose titles and features models may then use,
with ``--titles-alone`` the titles; ``--others`` names likes of other people, declared public, and the list of
their items, whose release without noise is a prior.
``--model`` adds a model of your own: what it adds as noise is priced by hushrec's accountant. A row is kept
in ``lab/scoreboard/scoreboard.csv`` as it is made, with the command that makes it, and is not made again.
``page`` writes the tables of ``lab/scoreboard/scoreboard.md``, and from ``top_n.csv`` and ``top_n_peers.csv``
those of ``top_n.md``. Noise is seeded: no release here is private.

The field's two benchmarks, for whoever has the files of MovieLens:

    python -m lab bench scoreboard ratings --data ml-10M100K/ratings.dat --name "MovieLens 10M"
                                   --scale 0.5 5 0.5 --delta 1e-5 --epsilon 1 5 10 20 --unit user
    python -m lab bench scoreboard lists --data ml-20m/ratings.csv --name "MovieLens 20M"
                                   --people 10000 --delta 8e-6 --epsilon 1 5 10 20 --unit user
"""

import argparse
import math
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import polars as pl
from top_n import protocol
from top_n.entries import ENTRIES as LISTS
from top_n.entries import Asked, of_model
from top_n.peers import installed
from top_n.protocol import DATA, held_out, likes, measured, others, people, texts
from top_n.rating_entries import ENTRIES as RATINGS
from top_n.rating_entries import Held, of_rating_model
from top_n.rating_entries import held_out as rating_split
from top_n.stored import append

from lab.attacks.membership import interval
from lab.experiments.tables import markdown, placed

HOME = Path(__file__).resolve().parent
ROWS, PAGE, LISTS_PAGE = HOME / "scoreboard.csv", HOME / "scoreboard.md", HOME / "top_n.md"
KEY = ("task", "data", "method", "unit", "asked", "delta", "draw")
COLUMNS = (*KEY, "adjacency", "claimed", "epsilon", "metric", "value", "error", "seconds", "command")
"""``asked`` is the ε that a method was given; ``claimed`` what its paper says, ``epsilon`` what is true."""
USUAL = {"likes": 4.0, "scale": [1, 5, 1], "delta": 1e-6, "people": protocol.HELD_OUT}
"""Options that a command leaves out where they have these values."""
DRAWS = {"lists": people, "interactions": held_out}
"""How people or items are drawn, by task."""


def command(options: argparse.Namespace, method: str, unit: str, epsilon: float, draw: int) -> str:
    """The command that makes one row."""
    words = ["python", "-m", "lab", "bench", "scoreboard", options.task, "--only", method]
    words += ["--draws", str(draw + 1)]
    if unit:
        words += ["--unit", unit, "--epsilon", f"{epsilon:g}"]
    if options.data != DATA:
        words += ["--data", options.data.name, "--name", options.name]
    if options.items:
        words += ["--items", options.items.name]
    if options.titles_alone:
        words += ["--titles-alone"]
    if options.others:
        words += ["--others", *(path.name for path in options.others)]
    if method in options.model:
        words += ["--model", method]
    for name, usual in USUAL.items():
        value = getattr(options, name)
        if value != usual:
            words += [f"--{name}", *(f"{number:g}" for number in (value if name == "scale" else [value]))]
    return shlex.join(words)


def cells(options: argparse.Namespace) -> Iterator[tuple[str, object, str, float]]:
    """Method, entry, unit and ε of every row."""
    board, own = (LISTS, of_model) if options.task in DRAWS else (RATINGS, of_rating_model)
    board = {**board, **{name: own(name) for name in options.model}}
    for name, entry in board.items():
        if options.only and name not in options.only:
            continue
        if entry.python not in os.environ or (name.startswith("iALS") and not installed("implicit")):
            continue
        for unit in [unit for unit in options.unit if unit in entry.units] if entry.units else [""]:
            for epsilon in options.epsilon if unit else [math.inf]:
                yield name, entry, unit, epsilon


def lines(options: argparse.Namespace, there: set[tuple[object, ...]]) -> Iterator[list[object]]:
    public = texts(options.data, options.items)
    if options.titles_alone:
        public["features"] = None
    prior = others(*options.others, options.likes) if options.others else None
    draw_of = DRAWS.get(options.task)
    whole = likes(options.data, options.likes) if draw_of else protocol.ratings(options.data)
    for draw in range(options.draws):
        split = None
        for name, entry, unit, epsilon in cells(options):
            key = options.task, options.name, name, unit, epsilon, options.delta, draw
            if key in there:
                continue
            if split is None:
                split = draw_of(whole, draw) if draw_of else rating_split(whole, draw, options)
            start = perf_counter()
            if draw_of:
                made = entry.run(Asked(split, public, unit, epsilon, options.delta, draw, prior))
                each = measured(made.scores, split.test)
                found = {m: (each[m].mean(), each[m].std(ddof=1) / len(each[m]) ** 0.5) for m in each}
            else:
                made = entry.run(Held(split, unit, epsilon, options.delta, draw))
                squares = (made.scores - split.test.numbers()) ** 2
                rmse = math.sqrt(squares.mean())
                found = {"RMSE": (rmse, squares.std(ddof=1) / len(squares) ** 0.5 / (2 * rmse))}
            found |= {"memory, GB": (made.memory, 0)} if made.memory else {}
            seconds = perf_counter() - start
            says = command(options, name, unit, epsilon, draw)
            for metric, numbers in found.items():
                facts = made.adjacency if unit else "", made.claimed, made.true
                yield [*key, *facts, metric, *(round(float(x), 5) for x in numbers), round(seconds, 2), says]


def table(results: pl.DataFrame, task: str, name: str, unit: str) -> str:
    """Best first at the smallest ε: every metric as the mean of the draws, with a 95 % interval of it."""
    some = results.filter(pl.col("unit").fill_null("").is_in([unit, ""]), task=task, data=name)
    metrics = ("nDCG@100", "recall@20") if task in DRAWS else ("RMSE",)
    keys = "asked", "method", "claimed", "epsilon", "adjacency"
    sign = -1 if task in DRAWS else 1
    found, body = [], []
    for key, rows in some.group_by(*keys, maintain_order=True):
        values = [interval(rows.filter(metric=metric)["value"].to_numpy()) for metric in metrics]
        found.append((key[0], sign * values[0][0], *key[1:], values))
    for asked, _, method, claimed, epsilon, adjacency, values in sorted(found, key=lambda line: line[:2]):
        ranges = [f"{mean:.3f} ({low:.3f} to {high:.3f})" for mean, low, high in values]
        label = f"{method} (replace)" if adjacency == "replace" else method
        said = f"{claimed if claimed is not None else asked:g}" if math.isfinite(asked) else "–"
        true = f"{epsilon:.3g}".replace("inf", "∞")
        body.append([label, said, true, *ranges])
    return markdown(["method", "ε claimed", "true ε", *metrics], body)


def grid(results: pl.DataFrame) -> str:
    """A row for each method and unit, a column for each ε: recall@20 / nDCG@100, means over draws."""
    shown = results.filter(pl.col("metric") != "memory, GB")
    means = shown.group_by("method", "unit", "asked", "metric").agg(
        pl.mean("value"), draws=pl.len(), error=pl.std("value") / pl.len().sqrt()
    )
    found = {tuple(key): value for *key, value in means.select(means.columns[:5]).iter_rows()}
    epsilons = sorted(results["asked"].unique())
    head = ["method", "unit", *(f"{epsilon:g}".replace("inf", "∞") for epsilon in epsilons)]
    body = []
    for method, unit in sorted({key[:2] for key in found}):
        cells = []
        for epsilon in epsilons:
            values = [found.get((method, unit, epsilon, metric)) for metric in ("recall@20", "nDCG@100")]
            shown = (f"{value:.3f}".replace("0.", ".") for value in values if value is not None)
            cells.append(" / ".join(shown))
        body.append([method.removesuffix(", no noise"), unit or "–", *cells])
    largest = f"standard errors of these means are at most {means['error'].max():.3f}."
    return f"{markdown(head, body)}\nMeans of {means['draws'].max()} draws; {largest}"


def known(results: pl.DataFrame, name: str) -> str:
    """nDCG@100 of PrivateEASE by what is known beforehand, which stands behind the name of the data."""
    some = results.filter(method="PrivateEASE", unit="user", metric="nDCG@100", task="lists")
    some = some.with_columns(pl.col("data").str.split_exact("; ", 1).struct.rename_fields(["of", "facts"]))
    some = some.unnest("data").filter(of=name).with_columns(pl.col("facts").fill_null("nothing"))
    epsilons = sorted(some.filter(pl.col("facts") != "nothing")["asked"].unique())
    body = []
    for (facts,), rows in some.group_by("facts", maintain_order=True):
        means = dict(rows.group_by("asked").agg(pl.mean("value")).iter_rows())
        body.append([facts, *(f"{means[epsilon]:.3f}".removeprefix("0") for epsilon in epsilons)])
    return markdown(["known beforehand", *(f"{epsilon:g}" for epsilon in epsilons)], body)


def lists_page(text: str) -> str:
    """The page of lists with its tables made anew: each names its file, data and task."""
    for mark, name, data, task in re.findall(r"(<!-- table: (\S+?\.csv); (.+?); (\w+) -->)", text):
        results = read(HOME / name)
        made = known(results, data) if task == "known" else grid(results.filter(data=data, task=task))
        text = placed(text, mark, made)
    return text


def page(results: pl.DataFrame, text: str) -> str:
    """The page with its tables made anew: each stands between two marks."""
    for task, name in results.select("task", "data").unique(maintain_order=True).rows():
        for unit in ("user", "record"):
            mark = f"<!-- table: {task}; {name}; {unit} -->"
            text = placed(text, mark, table(results, task, name, unit))
    return text


def read(path: Path) -> pl.DataFrame:
    kinds = dict.fromkeys(("asked", "claimed", "epsilon", "delta"), pl.Float64)
    return pl.read_csv(path, schema_overrides=kinds).with_columns(pl.col("unit", "adjacency").fill_null(""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=[*DRAWS, "ratings", "page"])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--items", type=Path, help="public list of the items, such as movies.dat")
    parser.add_argument("--titles-alone", action="store_true", help="of that list, no other features")
    parser.add_argument("--others", type=Path, nargs=2, help="public likes of others, list of their items")
    parser.add_argument("--name", default="MovieLens 1M")
    parser.add_argument("--likes", type=float, default=USUAL["likes"], help="the lowest that is a like")
    parser.add_argument("--scale", type=float, nargs=3, default=USUAL["scale"], help="lowest, highest, step")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--model", nargs="+", default=[])
    parser.add_argument("--unit", nargs="+", default=["user", "record"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1, 4, 20])
    parser.add_argument("--delta", type=float, default=USUAL["delta"])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--people", type=int, default=USUAL["people"], help="how many each part holds out")
    parser.add_argument("--out", type=Path, default=ROWS)
    options = parser.parse_args()
    if options.task == "page":
        PAGE.write_text(page(read(options.out), PAGE.read_text("utf-8")), "utf-8")
        LISTS_PAGE.write_text(lists_page(LISTS_PAGE.read_text("utf-8")), "utf-8")
        return
    protocol.HELD_OUT = options.people
    there = set() if not options.out.exists() else set(read(options.out).select(KEY).unique().rows())
    append(options.out, COLUMNS, lines(options, there))


if __name__ == "__main__":
    main()
