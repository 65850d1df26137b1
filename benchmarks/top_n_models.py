"""hushrec's rankers on real likes: recall and nDCG at several ε, with EASE and popularity beside every row.

    python benchmarks/top_n_models.py [--data FILE --likes 4 --name NAME] [--protocol people|interactions]
                                      [--unit user rating] [--epsilon 1 4 inf] [--draws 5]

``people`` is the protocol of ``top_n.protocol``; ``interactions`` trains on four fifths of everybody's items and
looks for the others. ``--likes 0`` takes all ratings as interactions. All settings are the defaults. Rows are
added to ``docs/results/top_n.csv``: the error is that over the people of a draw. Noise is seeded: not private.
"""

import argparse
import csv
import math
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from top_n import protocol
from top_n.protocol import Fold, People, likes, measured, people

import hushrec as hr
from hushrec.testing import Seeded

ROOT = Path(__file__).resolve().parents[1]
DATA, RESULTS = ROOT.parent / "shared/data/ml-1m.parquet", ROOT / "docs/results/top_n.csv"
EPSILONS, DELTA = (0.5, 1.0, 2.0, 4.0, 8.0, 20.0, math.inf), 1e-6
HEADER = "data,protocol,unit,method,epsilon,draw,metric,value,error,seconds"
PENALTY = 650.0


def interactions(train: csr_matrix) -> hr.Interactions:
    """The training rows as hushrec takes them; the declared crowd is the next of 1, 2, 5, 10, …"""
    n_users, n_items = train.shape
    crowd = next(n * 10**k for k in range(9) for n in (1, 2, 5) if n * 10**k >= n_users)
    domain = hr.Domain([str(item) for item in range(n_items)], max_users=crowd)
    users = pl.Series([f"u{user:07d}" for user in range(n_users)])
    train.sort_indices()
    given = np.flatnonzero(np.diff(train.indptr))
    return hr.Interactions(
        domain,
        users.gather(given),
        np.concatenate([[0], np.cumsum(np.diff(train.indptr)[given])]).astype(np.int64),
        train.indices.astype(np.int32),
    )


def held_out(liked: csr_matrix, draw: int) -> People:
    """Train on four fifths of everybody's items, and look for the others of a thousand people."""
    rng = np.random.default_rng(draw)
    eligible = np.flatnonzero(np.diff(liked.indptr) >= protocol.AT_LEAST)
    chosen = rng.permutation(eligible)
    fold = protocol._fold(liked[chosen], rng)
    shown = chosen[:1000]
    rest = np.setdiff1d(np.flatnonzero(np.diff(liked.indptr)), chosen)
    train = csr_matrix(np.ones(0))
    from scipy.sparse import vstack

    train = vstack([liked[rest], fold.given]).tocsr()
    test = Fold(fold.given[: len(shown)], fold.hidden[: len(shown)])
    return People(train, test, test)


def scores(release: hr.Release, given: csr_matrix) -> np.ndarray:
    tensors = {name: tensor.astype(np.float64) for name, tensor in release.tensors.items()}
    if release.kind == "item scores":
        return np.tile(tensors["item_scores"], (given.shape[0], 1))
    factors = tensors["item_factors"]
    return (given.multiply(tensors["input_weights"]) @ factors) @ factors.T * tensors["output_weights"]


def exact_ease(train: csr_matrix) -> np.ndarray:
    """Steck 2019, eq. 8, on the exact counts."""
    gram = (train.T @ train).toarray().astype(float)
    gram[np.diag_indices_from(gram)] += PENALTY
    inverse = np.linalg.inv(gram)
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return weights.astype(np.float32)


def run(options: argparse.Namespace, liked: csr_matrix) -> Iterator[tuple[object, ...]]:
    for draw in range(options.draws):
        split = (people if options.protocol == "people" else held_out)(liked, draw)
        known = interactions(split.train)
        found = {}

        def row(unit, method, epsilon, ranked, seconds):
            values = measured(ranked, split.test)  # noqa: B023
            line = "  ".join(f"{metric} {each.mean():.4f}" for metric, each in values.items())
            print(f"{options.name} draw {draw}  {unit:7} {method:12} ε {epsilon:4g}  {line}  {seconds:5.1f} s", flush=True)  # noqa: B023, E501
            for metric, each in values.items():
                error = each.std(ddof=1) / len(each) ** 0.5
                yield options.name, options.protocol, unit, method, epsilon, draw, metric, round(each.mean(), 5), round(error, 5), round(seconds, 2)  # noqa: B023, E501

        if not options.private_only:
            start = perf_counter()
            ranked = split.test.given @ exact_ease(split.train)
            yield from row("", "EASE", math.inf, ranked, perf_counter() - start)
            yield from row("", "popularity", math.inf, np.tile(np.asarray(split.train.sum(0)).ravel(), (split.test.given.shape[0], 1)), 0)  # noqa: E501
        for unit in options.unit:
            for epsilon in options.epsilon:
                budget = None
                if epsilon < math.inf:
                    budget = hr.Budget(epsilon=epsilon, delta=DELTA, unit=unit, adjacency="add-remove")
                elif unit != options.unit[-1]:
                    continue
                for model in (hr.PrivateEASE(), hr.Popularity()):
                    start = perf_counter()
                    seed = 1000 * draw + int(10 * min(epsilon, 99)) + (unit == "user")
                    release = hr.fit(known, model, budget, entropy=Seeded(seed) if budget else None)
                    took = perf_counter() - start
                    name, shown = type(model).__name__, unit if budget else ""
                    if budget is None and name == "Popularity":
                        continue
                    yield from row(shown, name, epsilon, scores(release, split.test.given), took)
        del found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="Parquet with user, item, rating")
    parser.add_argument("--name", default="MovieLens 1M, likes")
    parser.add_argument("--likes", type=float, default=4.0)
    parser.add_argument("--protocol", choices=["people", "interactions"], default="people")
    parser.add_argument("--unit", nargs="+", default=["user", "rating"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--people", type=int, default=500, help="how many people each part holds out")
    parser.add_argument("--private-only", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not options.data.exists():
        raise SystemExit(f"there is no file {options.data}; name ratings as Parquet (user, item, rating): --data")
    protocol.HELD_OUT = options.people
    liked = likes(options.data, options.likes)
    print(f"{liked.shape[0]:,} people, {liked.shape[1]:,} items, {liked.nnz:,} interactions")
    fresh = not options.out.exists()
    with options.out.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(HEADER.split(","))
        for line in run(options, liked):
            writer.writerow(line)
            file.flush()


if __name__ == "__main__":
    main()
