"""hushrec's rankers on real likes, beside EASE, popularity and peers: recall and nDCG at several ε.

    python -m lab bench top_n_models [--data FILE --likes 4 --name NAME] [--items FILE]
                                      [--protocol people|interactions] [--unit user record]
                                      [--epsilon 1 4 inf] [--draws 5]
    python -m lab bench top_n_models --peers
    python -m lab bench top_n_models --page

``people`` is the protocol of ``top_n.protocol``; ``interactions`` trains on four fifths of everybody's items
and looks for the others. ``--likes 0`` takes all ratings as interactions. Models have their default settings.
``--items`` names the public list of the items, whose titles and features models may then use. Rows are added
to ``lab/scoreboard/top_n.csv``, or with ``--peers`` those of ``top_n.peers`` to ``top_n_peers.csv``. The
error is that over the people of a draw. ``--page`` writes the tables of ``lab/scoreboard/top_n.md``. Noise is
seeded: no release here is private.
"""

import argparse
import math
import re
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix, vstack
from top_n import protocol
from top_n.peers import EASE, EASE_PENALTY, methods
from top_n.protocol import Fold, People, likes, measured, people
from top_n.stored import append

import hushrec as hr
from hushrec.testing import Seeded
from lab.experiments.tables import placed

ROOT = Path(__file__).resolve().parents[2]
DATA, RESULTS = ROOT.parent / "shared/data/ml-1m.parquet", ROOT / "lab/scoreboard/top_n.csv"
PEERS, PAGE = RESULTS.with_name("top_n_peers.csv"), RESULTS.with_name("top_n.md")
EPSILONS, DELTA = (0.5, 1.0, 2.0, 4.0, 8.0, 20.0, math.inf), 1e-6
MEASURED = "epsilon", "draw", "metric", "value", "error"
COLUMNS = ("data", "protocol", "unit", "method", *MEASURED, "seconds")
SHOWN = "recall@20", "nDCG@100"
MOST_LISTS = 1000


Texts = dict[str, object]
"""Titles and features of the catalogue, as a domain takes them."""


def texts(data: Path, items: Path | None) -> Texts:
    """What a public list says of the items of a file of ratings, in the order of ``likes``."""
    if items is None:
        return {}
    ids = np.unique(pl.read_parquet(data, columns=["item"])["item"].to_numpy())
    known = hr.Domain.from_catalogue(items, max_users=1)
    places = [known.positions.get(str(item), -1) for item in ids]

    def of(listed: tuple[str, ...]) -> list[str]:
        return [listed[place] if place >= 0 else "" for place in places]

    features = {name: of(listed) for name, listed in (known.features or {}).items()}
    return {"titles": of(known.titles) if known.titles else None, "features": features or None}


def interactions(train: csr_matrix, public: Texts) -> hr.People:
    """The training rows as hushrec takes them; the declared crowd is the next of 1, 2, 5, 10, …"""
    train.sort_indices()
    counts = np.diff(train.indptr)
    given = np.flatnonzero(counts)
    crowd = next(n * 10**k for k in range(9) for n in (1, 2, 5) if n * 10**k >= len(given))
    domain = hr.Domain([str(item) for item in range(train.shape[1])], max_users=crowd, **public)
    indptr = np.concatenate([[0], np.cumsum(counts[given])]).astype(np.int64)
    users = [f"u{user:07d}" for user in given]
    return hr.People(domain, users, indptr, train.indices.astype(np.int32))


def held_out(liked: csr_matrix, draw: int) -> People:
    """A random fifth of everybody's items is to be found; lists are measured for a thousand people."""
    rng = np.random.default_rng(draw)
    counts = np.diff(liked.indptr)
    chosen = rng.permutation(np.flatnonzero(counts >= protocol.AT_LEAST))
    fold = protocol.fold(liked[chosen], rng)
    others = np.setdiff1d(np.flatnonzero(counts), chosen)
    shown = Fold(fold.given[:MOST_LISTS], fold.hidden[:MOST_LISTS])
    return People(vstack([liked[others], fold.given]).tocsr(), shown, shown)


def scores(release: hr.Release, given: csr_matrix) -> np.ndarray:
    tensors = {name: tensor.astype(np.float64) for name, tensor in release.tensors.items()}
    if release.kind == "item scores":
        return np.tile(tensors["item_scores"], (given.shape[0], 1))
    factors, given = tensors["item_factors"], csr_matrix(given.multiply(tensors["input_weights"]))
    lengths = np.sqrt(given.multiply(given).sum(axis=1))
    people = given @ factors + np.outer(lengths, tensors["intercept"])
    return np.asarray(people @ factors.T * tensors["output_weights"])


def ours(split: People, public: Texts, options: argparse.Namespace, draw: int) -> Iterator[tuple]:
    """Unit, method, ε and scores of the test people: EASE and popularity without noise, then our models."""
    given = split.test.given
    yield "", "EASE", math.inf, given @ EASE(EASE_PENALTY).fit(split.train, seed=0)
    counts = np.asarray(split.train.sum(0)).ravel()
    yield "", "popularity", math.inf, np.tile(counts, (given.shape[0], 1))
    known = interactions(split.train, public)
    for epsilon in options.epsilon:
        if epsilon == math.inf:
            yield "", "PrivateEASE", epsilon, scores(hr.baseline(known, hr.PrivateEASE()), given)
            continue
        for unit in options.unit:
            budget = hr.Budget(epsilon=epsilon, delta=DELTA, unit=unit, adjacency="add-remove")
            for model in (hr.PrivateEASE(), hr.Popularity()):
                entropy = Seeded(1000 * draw + round(10 * epsilon))
                release = hr.testing.fit(known, model, budget, entropy=entropy)
                yield unit, type(model).__name__, epsilon, scores(release, given)


def peers(split: People, draw: int) -> Iterator[tuple]:
    """The same of the peers."""
    for method, epsilon, model, fit in methods():
        yield "", method, epsilon, model.scores(fit(split.train, seed=draw), split.test.given)


def lines(options: argparse.Namespace) -> Iterator[list[object]]:
    liked, public = likes(options.data, options.likes), texts(options.data, options.items)
    for draw in range(options.draws):
        split = (people if options.protocol == "people" else held_out)(liked, draw)
        made = peers(split, draw) if options.peers else ours(split, public, options, draw)
        start = perf_counter()
        for unit, method, epsilon, ranked in made:
            seconds = round(perf_counter() - start, 2)
            for metric, values in measured(ranked, split.test).items():
                error = values.std(ddof=1) / len(values) ** 0.5
                row = [epsilon, draw, metric, round(values.mean(), 5), round(error, 5)]
                if options.peers:
                    yield [method, *row]
                else:
                    yield [options.name, options.protocol, unit, method, *row, seconds]
            start = perf_counter()


def table(rows: pl.DataFrame) -> str:
    """A row for each method and unit, a column for each ε: recall@20 / nDCG@100, means over draws."""
    means = rows.group_by("method", "unit", "epsilon", "metric").agg(
        pl.mean("value"), draws=pl.len(), error=pl.std("value") / pl.len().sqrt()
    )
    found = {tuple(key): value for *key, value in means.select(means.columns[:5]).iter_rows()}
    epsilons = sorted(rows["epsilon"].unique())
    head = ["method", "unit", *(f"{epsilon:g}".replace("inf", "∞") for epsilon in epsilons)]
    text = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for method, unit in sorted({key[:2] for key in found}):
        cells = []
        for epsilon in epsilons:
            values = [found.get((method, unit, epsilon, metric)) for metric in SHOWN]
            shown = (f"{value:.3f}".replace("0.", ".") for value in values if value is not None)
            cells.append(" / ".join(shown))
        text.append(f"| {method} | {unit or '–'} | {' | '.join(cells)} |")
    largest = f"standard errors of these means are at most {means['error'].max():.3f}."
    return "\n".join([*text, "", f"Means of {means['draws'].max()} draws; {largest}"])


def page(text: str) -> str:
    """The page with its tables made anew: each stands between two marks."""
    for name, data, how in re.findall(r"<!-- table: (\S+?\.csv)(?:; (.+?); (\w+))? -->", text):
        rows = pl.read_csv(RESULTS.with_name(name), schema_overrides={"epsilon": pl.Float64})
        if data:
            rows = rows.filter(data=data, protocol=how).with_columns(pl.col("unit").fill_null(""))
        else:
            rows = rows.with_columns(unit=pl.lit(""))
        mark = f"<!-- table: {name}{f'; {data}; {how}' if data else ''} -->"
        text = placed(text, mark, table(rows))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="Parquet with user, item, rating")
    parser.add_argument("--items", type=Path, help="public list of the items, such as movies.dat")
    parser.add_argument("--name", default="MovieLens 1M, likes")
    parser.add_argument("--likes", type=float, default=4.0)
    parser.add_argument("--protocol", choices=["people", "interactions"], default="people")
    parser.add_argument("--unit", nargs="+", default=["user", "record"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--people", type=int, default=500, help="how many people each part holds out")
    parser.add_argument("--peers", action="store_true", help="the peers alone, of MovieLens 1M")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", action="store_true", help="write the tables")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
        return
    if not options.data.exists():
        raise SystemExit(f"there is no file {options.data}; name ratings as Parquet: --data")
    protocol.HELD_OUT = options.people
    usual = (PEERS, ("method", *MEASURED)) if options.peers else (RESULTS, COLUMNS)
    append(options.out or usual[0], usual[1], lines(options))


if __name__ == "__main__":
    main()
