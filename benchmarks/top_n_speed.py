"""Lists for many users at once, by kind of release, beside implicit's ``recommend``.

    python benchmarks/top_n_speed.py [--users 2000 --items 17770 --given 200 --n 100]

Made-up releases and users, each of whom gave the same number of items. Every row is a process of its own,
with one BLAS thread or two: users per second of the clock and of the CPU, best of three rounds after one that
warms up, and the memory that the rounds take beyond what there was before. On a busy machine, trust the CPU
seconds.

*Vectors given* ranks from a vector for each user that is there already, as implicit does, and *weighted sum*
from Σ x_i g_i of a user's items: both are predictors of this file. implicit with fold-in solves for each
user's vector, as *factors* does. Nearest neighbours predict one user at a time, so they rank few users here.
"""

import argparse
import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from time import perf_counter, process_time

import numpy as np

import hushrec as hr
from hushrec.release import top_n
from hushrec.release.artefact import Release
from hushrec.release.contents.kinds import RANKERS
from hushrec.release.predictors.block_scores import InnerProducts, Rows
from hushrec.release.statement import placeholder_statement

FEW = 10
ROUNDS = 3


def users(args, count):
    """What each user gave."""
    rng = np.random.default_rng(1)
    items = [np.sort(rng.choice(args.items, args.given, replace=False)) for _ in range(count)]
    values = rng.integers(1, 6, count * args.given).astype(float)
    return Rows(np.arange(count + 1) * args.given, np.concatenate(items).astype(np.int32), values)


def release(args, kind, rank):
    """A release of random numbers."""
    rng, n = np.random.default_rng(0), args.items
    tensors = {
        "item_effects": rng.uniform(2, 4, n),
        "item_noise": rng.uniform(0.5, 1.5, n),
        "item_popularity": rng.lognormal(3, 2, n),
        "item_factors": rng.standard_normal((n, rank)) / rank**0.5,
        "similarity_factors": rng.standard_normal((n, rank)),
    }
    if kind == "factors":
        del tensors["similarity_factors"]
    if kind == "item scores":
        tensors = {"item_scores": rng.lognormal(size=n)}
    if kind == "linear items":
        tensors = {
            "item_factors": rng.standard_normal((n, rank)) / rank**0.5,
            "input_weights": rng.uniform(0, 1, n),
            "output_weights": rng.uniform(0, 1, n),
            "item_scores": rng.lognormal(size=n),
        }
    constants = {"user_mean": 0.1, "user_variance": 0.2, "bias_noise": 0.8, "neighbours": 20.0}
    return Release(
        model="Generated",
        config={},
        kind=kind,
        items=tuple(f"i{k}" for k in range(n)),
        scale=None if kind in RANKERS else (1.0, 5.0, 1.0),
        constants=constants,
        tensors={name: tensor.astype(np.float32) for name, tensor in tensors.items()},
        statement=placeholder_statement(),
    )


class Vectors:
    """Vectors of the users are there already, or are weighted sums of their items' rows."""

    def __init__(self, args, rank, given):
        rng = np.random.default_rng(0)
        self.products = InnerProducts(rng.standard_normal((args.items, rank)))
        self.vectors = rng.standard_normal((args.users, rank)) if given else None

    def scores(self, rows):
        if self.vectors is not None:
            return self.products.scores(self.vectors[: rows.n_users])
        summed = [
            rows.values[first:last] @ self.products.rows[rows.items[first:last]]
            for first, last in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]
        return self.products.scores(np.array(summed))


def ours(args, kind, rank):
    """What ranks everybody once, and how many that is."""
    count = FEW if "neighbours" in kind or "rows" in kind else args.users
    rows = users(args, count)
    if kind in ("vectors given", "weighted sum"):
        made, found = release(args, "item scores", rank), Vectors(args, rank, kind == "vectors given")
        top_n.predictor = lambda release: found
    elif kind in ("people's rows", "item neighbours"):
        ratings = hr.synthetic.netflix_like(20_000, args.items, 1_000_000, 0)
        made = hr.fit(ratings, hr.UserKNN() if kind == "people's rows" else hr.ItemKNN())
    else:
        made = release(args, kind, rank)
    return lambda: sum(len(block.items) for block in top_n.top_n(made, rows, args.n)), count


def implicit(args, kind, rank):
    """The same by implicit."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    rng, rows = np.random.default_rng(0), users(args, args.users)
    model = AlternatingLeastSquares(rank, num_threads=args.threads)
    model.item_factors = rng.standard_normal((args.items, rank)).astype(np.float32)
    model.user_factors = rng.standard_normal((args.users, rank)).astype(np.float32)
    shape = args.users, args.items
    given = csr_matrix(
        (rows.values.astype(np.float32), rows.items, rows.indptr.astype(np.int32)), shape=shape
    )
    everybody, fold_in = np.arange(args.users), kind == "implicit, fold-in"
    return lambda: model.recommend(everybody, given, N=args.n, recalculate_user=fold_in), args.users


CASES = [
    ("factors", 20),
    ("factors", 64),
    ("linear items", 20),
    ("linear items", 64),
    ("weighted sum", 20),
    ("weighted sum", 64),
    ("vectors given", 20),
    ("vectors given", 64),
    ("implicit", 20),
    ("implicit", 64),
    ("implicit, fold-in", 20),
    ("implicit, fold-in", 64),
    ("item scores", 0),
    ("neighbours", 20),
    ("neighbours", 64),
    ("item neighbours", 0),
    ("people's rows", 0),
]


def one(args, kind, rank):
    """One row of the table."""
    rank_all, count = (implicit if "implicit" in kind else ours)(args, kind, rank)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(1 + ROUNDS):
        start, worked = perf_counter(), process_time()
        rank_all()
        times.append((perf_counter() - start, process_time() - worked))
    took, worked = np.min(times[1:], axis=0)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{kind:<18} {rank or '':>4} {args.threads:>7} {count / took:>10,.1f} {count / worked:>14,.1f} "
        f"{more:>6.0f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, size in (("users", 2000), ("items", 17_770), ("given", 200), ("n", 100)):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        one(args, *CASES[args.one])
        return
    sizes = [
        str(part) for name in ("users", "items", "given", "n") for part in (f"--{name}", getattr(args, name))
    ]
    print(f"{args.users:,} users of {args.given} items each, {args.items:,} items, n = {args.n}")
    print(f"{'kind':<18} rank threads    users/s  per CPU second    MiB")
    for threads in (1, 2):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        for number, (kind, _) in enumerate(CASES):
            if "implicit" in kind and not find_spec("implicit"):
                continue
            command = [sys.executable, __file__, *sizes, "--one", str(number), "--threads", str(threads)]
            subprocess.run(command, check=True, env=env)


if __name__ == "__main__":
    main()
