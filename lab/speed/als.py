"""Alternating least squares beside lenskit's and implicit's, on Netflix-like ratings.

    python -m lab bench als [--threads 2] [--rounds 3]

An epoch solves for all users and then for all items. At rank 64 and 10 M ratings, in every round each
program runs one epoch after the other in this process, and the medians count. lenskit's BiasedMF solves the
same problem: both begin with its first item factors, and the training losses after the rounds are compared.
implicit minimises another objective, over all pairs, by three steps of conjugate gradients a row (its
default) or by Cholesky. A peer that is not installed is left out. On a busy machine, trust the CPU seconds.
"""

import argparse
import os
import warnings

THREADS = argparse.ArgumentParser(add_help=False)
THREADS.add_argument("--threads", type=int, default=2)
threads = THREADS.parse_known_args()[0].threads
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": str(threads), "LK_NUM_THREADS": str(threads)}
os.environ |= {"RAYON_NUM_THREADS": str(threads), "LK_NUM_BACKEND_THREADS": "1"}

import numpy as np  # noqa: E402  (reads how many threads to use)
from bench import report, timed  # noqa: E402

from hushrec.data.synthetic import netflix_like  # noqa: E402
from hushrec.kernels.transpose import transpose  # noqa: E402
from hushrec.models.factorization.kernels.least_squares import solve_rows  # noqa: E402

SIZE, RANK = (48_000, 10_000, 10_000_000), 64
MARKS = {"lenskit": "≥ 3 ×", "implicit, CG": "≥ 1 ×"}
REG = 0.05


class Hushrec:
    """Both sides of the ratings, and factors that an epoch improves."""

    def __init__(self, indptr, items, values, item_factors):
        n_items, rank = item_factors.shape
        self.users = indptr, items, values
        starts, raters, order = transpose(indptr, items, n_items, threads=threads)
        self.items = starts, raters, values[order]
        self.p, self.q = np.empty((len(indptr) - 1, rank), np.float32), item_factors.copy()

    def epoch(self):
        for rows, known, wanted in ((self.users, self.q, self.p), (self.items, self.p, self.q)):
            solve_rows(*rows, known, REG * np.diff(rows[0]), wanted, threads=threads)


class Lenskit:
    """Its trainer, whose epochs can be called one by one."""

    def __init__(self, ratings, rank):
        import pandas
        from lenskit.als import BiasedMFScorer
        from lenskit.data import from_interactions_df
        from lenskit.training import TrainingOptions

        users = np.repeat(np.arange(len(ratings.counts)), ratings.counts)
        frame = pandas.DataFrame({"user_id": users, "item_id": ratings.items, "rating": ratings.values + 1.0})
        scorer = BiasedMFScorer(embedding_size=rank, epochs=1, regularization=REG)
        self.trainer = scorer.create_trainer(from_interactions_df(frame), TrainingOptions(rng=0))
        matrix = self.trainer.ui_rates.to_scipy()
        self.rows = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
        self.scorer, self.epoch = scorer, self.trainer.train_epoch


class Implicit:
    """Its solver, called as its ``fit`` calls it."""

    def __init__(self, ratings, rank, *, use_cg):
        from implicit.cpu.als import AlternatingLeastSquares
        from scipy.sparse import csr_matrix

        arrays = ratings.values + np.float32(1), ratings.items.copy(), ratings.indptr.copy()  # to be writable
        self.users = csr_matrix(arrays, shape=(len(ratings.counts), len(ratings.domain.items)))
        self.items = self.users.T.tocsr()
        self.solver = AlternatingLeastSquares(rank, REG, use_cg=use_cg, num_threads=threads).solver
        self.p, self.q = (0.01 * first_factors(n, rank) for n in self.users.shape)

    def epoch(self):
        self.solver(self.users, self.p, self.q, REG, num_threads=threads)
        self.solver(self.items, self.q, self.p, REG, num_threads=threads)


def loss(rows, p, q):
    """What both minimise: Σ (r − ⟨p_u, q_i⟩)² + λ (n_u |p_u|² + n_i |q_i|²)."""
    indptr, items, values = rows
    total = 0.0
    for start in range(0, len(indptr) - 1, 4096):
        part = indptr[start : start + 4097]
        users = np.repeat(np.arange(start, start + len(part) - 1), np.diff(part))
        here = slice(part[0], part[-1])
        predicted = np.einsum("rf,rf->r", p[users], q[items[here]])
        total += float(((values[here] - predicted).astype(np.float64) ** 2).sum())
    raters = np.bincount(items, minlength=len(q))
    total += REG * float(np.diff(indptr) @ (p.astype(np.float64) ** 2).sum(axis=1))
    return total + REG * float(raters @ (q.astype(np.float64) ** 2).sum(axis=1))


def first_factors(n_items, rank):
    return np.random.default_rng(0).standard_normal((n_items, rank), np.float32) / np.float32(rank**0.5)


def centred(ratings):
    values = ratings.values.astype(np.float32)
    return ratings.indptr, ratings.items, values - values.mean()


def beside_peers(ratings, rank, rounds):
    peers = {}
    for name, make in (
        ("lenskit", lambda: Lenskit(ratings, rank)),
        ("implicit, CG", lambda: Implicit(ratings, rank, use_cg=True)),
        ("implicit, Cholesky", lambda: Implicit(ratings, rank, use_cg=False)),
    ):
        try:
            peers[name] = make()
        except ImportError as error:
            print(f"{name} is left out: {error}")
    peer = peers.get("lenskit")
    rows = peer.rows if peer else centred(ratings)
    start = peer.scorer.item_embeddings if peer else first_factors(len(ratings.domain.items), rank)
    ours = Hushrec(*rows, start)
    times = {name: [] for name in ("hushrec", *peers)}
    for _ in range(rounds):
        for name, program in (("hushrec", ours), *peers.items()):
            times[name].append(timed(program.epoch))
    n = len(ratings.items)
    medians = {name: np.median(taken, axis=0) for name, taken in times.items()}
    own, own_cpu = medians.pop("hushrec")
    for name, (took, worked) in medians.items():
        report(
            "ALS",
            f"an epoch, rank {rank}, {threads} threads",
            f"{n / 1e6:g}M ratings",
            "M ratings/s",
            n / own / 1e6,
            peer=name,
            theirs=n / took / 1e6,
            mark=MARKS.get(name, ""),
            note=f"{worked / own_cpu:.1f} × per CPU second",
        )
    if peer:
        theirs = loss(rows, peer.scorer.user_embeddings, peer.scorer.item_embeddings)
        print(f"training loss after {rounds} epochs: {loss(rows, ours.p, ours.q) / theirs:.6f} of lenskit's")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, parents=[THREADS], formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.filterwarnings("ignore")
    one = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), np.ones((1, 1), np.float32)
    solve_rows(*one, np.ones(1), np.empty((1, 1), np.float32))  # compiles
    beside_peers(netflix_like(*SIZE, seed=0), RANK, rounds)


if __name__ == "__main__":
    main()
