"""hushrec's rankers on real likes: recall and nDCG at several ε, with EASE and popularity beside every row.

    python -m lab bench top_n_models [--data FILE --likes 4 --name NAME] [--items FILE]
                                      [--protocol people|interactions] [--unit user record]
                                      [--epsilon 1 4 inf] [--draws 5]

``people`` is the protocol of ``top_n.protocol``; ``interactions`` trains on four fifths of everybody's items
and looks for the others. ``--likes 0`` takes all ratings as interactions. Models have their default settings.
``--items`` names the public list of the items, whose titles and features models may then use. Rows are added
to ``lab/scoreboard/top_n.csv``; the error is that over the people of a draw. Noise is seeded: no release here
is private.
"""

import argparse
import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix, vstack
from top_n import protocol
from top_n.protocol import Fold, People, likes, measured, people
from top_n_peers import EASE, EASE_PENALTY

import hushrec as hr
from hushrec.testing import Seeded

ROOT = Path(__file__).resolve().parents[2]
DATA, RESULTS = ROOT.parent / "shared/data/ml-1m.parquet", ROOT / "lab/scoreboard/top_n.csv"
EPSILONS, DELTA = (0.5, 1.0, 2.0, 4.0, 8.0, 20.0, math.inf), 1e-6
COLUMNS = "data", "protocol", "unit", "method", "epsilon", "draw", "metric", "value", "error", "seconds"
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


@dataclass
class Draw:
    """One draw of people, and what is measured on it."""

    name: str
    protocol: str
    number: int
    split: People
    public: Texts

    def rows(self, units: list[str], epsilons: list[float], *, references: bool) -> Iterator[list[object]]:
        if references:
            yield from self.references()
        known = interactions(self.split.train, self.public)
        for epsilon in epsilons:
            for unit in units if epsilon < math.inf else units[-1:]:
                yield from self.models(known, unit, epsilon)

    def references(self) -> Iterator[list[object]]:
        """EASE and popularity without noise."""
        start = perf_counter()
        weights = EASE(EASE_PENALTY).fit(self.split.train, seed=0)
        took = perf_counter() - start
        yield from self.row("", "EASE", math.inf, self.split.test.given @ weights, took)
        counts = np.asarray(self.split.train.sum(0)).ravel()
        yield from self.row("", "popularity", math.inf, np.tile(counts, (self.people, 1)), 0.0)

    def models(self, known: hr.People, unit: str, epsilon: float) -> Iterator[list[object]]:
        """hushrec's rankers at one ε."""
        budget = None
        if epsilon < math.inf:
            budget = hr.Budget(epsilon=epsilon, delta=DELTA, unit=unit, adjacency="add-remove")
            seed = 1000 * self.number + round(10 * epsilon)
        for model in (hr.PrivateEASE(), hr.Popularity()) if budget else (hr.PrivateEASE(),):
            start = perf_counter()
            if budget is None:
                release = hr.baseline(known, model)
            else:
                release = hr.testing.fit(known, model, budget, entropy=Seeded(seed))
            took = perf_counter() - start
            ranked = scores(release, self.split.test.given)
            yield from self.row(unit if budget else "", type(model).__name__, epsilon, ranked, took)

    @property
    def people(self) -> int:
        return self.split.test.given.shape[0]

    def row(
        self, unit: str, method: str, epsilon: float, ranked: np.ndarray, seconds: float
    ) -> Iterator[list[object]]:
        found = measured(ranked, self.split.test)
        line = "  ".join(f"{metric} {values.mean():.4f}" for metric, values in found.items())
        title = f"{self.name} draw {self.number}  {unit:7} {method:12} ε {epsilon:4g}"
        print(f"{title}  {line}  {seconds:5.1f} s", flush=True)
        for metric, values in found.items():
            error = values.std(ddof=1) / len(values) ** 0.5
            numbers = round(values.mean(), 5), round(error, 5), round(seconds, 2)
            yield [self.name, self.protocol, unit, method, epsilon, self.number, metric, *numbers]


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
    parser.add_argument("--models-only", action="store_true", help="without EASE and exact popularity")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not options.data.exists():
        raise SystemExit(f"there is no file {options.data}; name ratings as Parquet: --data")
    protocol.HELD_OUT = options.people
    liked = likes(options.data, options.likes)
    print(f"{liked.shape[0]:,} people, {liked.shape[1]:,} items, {liked.nnz:,} interactions")
    public = texts(options.data, options.items)
    fresh = not options.out.exists()
    with options.out.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(COLUMNS)
        for number in range(options.draws):
            split = (people if options.protocol == "people" else held_out)(liked, number)
            draw = Draw(options.name, options.protocol, number, split, public)
            writer.writerows(draw.rows(options.unit, options.epsilon, references=not options.models_only))
            file.flush()


if __name__ == "__main__":
    main()
