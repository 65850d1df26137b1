"""Stochastic gradient descent beside LIBMF's and cornac's, on Netflix-like ratings.

    python -m lab bench sgd [peers] [large] [--rounds 3]

peers: every rank beside the peers. In each round one program after the other makes a few passes over the
same ratings, two threads each, and the medians count. From rank 256 on these are the ratings of the first
users, so that no round takes minutes; a rate depends on how many items there are, and they are all there.
A pass of LIBMF's is the difference between fits of many passes and of two, which leaves out its reading and
shuffling. hushrec's items are relabelled by popularity, once and untimed.

large: one pass over 100.5 M ratings of 480,189 people for 17,770 items at rank 64, and the memory it takes.

A peer that is not installed is left out. LIBMF's binding on PyPI is built from source, by default without
vector instructions; with them: CFLAGS='-O3 -march=native -DUSEAVX' pip install libmf.
"""

import argparse
import ctypes
import io
import os
import resource
import warnings
from contextlib import redirect_stdout

THREADS = 2
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": str(THREADS)}

import numpy as np  # noqa: E402  (reads how many threads to use)
from bench import report, timed  # noqa: E402

from hushrec.data.synthetic import netflix_like  # noqa: E402
from hushrec.models.factorization.kernels.visits import descend, padded  # noqa: E402

SIZE = 48_000, 10_000, 10_000_000
LARGE = 480_189, 17_770, 100_480_507
RANKS = 16, 64, 256, 1024, 2048
PASSES = {16: 20, 64: 10}  # others 4: of one program in a round
WORK = 2.56e9  # largest ratings × rank of a pass beside peers
RATE, REG = 0.005, 0.02
KIND = "gradient descent"


class Ratings:
    """Compressed rows, and the same as triplets."""

    def __init__(self, indptr, items, values, n_items):
        self.indptr, self.items, self.values, self.n_items = indptr, items, values, n_items
        self.n_users, self.n = len(indptr) - 1, len(items)

    @classmethod
    def made(cls, users, items, ratings):
        made = netflix_like(users, items, ratings, seed=0)
        return cls(made.indptr, made.items, made.values.astype(np.float32) + 1, items)

    @property
    def users(self):
        return np.repeat(np.arange(self.n_users), np.diff(self.indptr))

    def first(self, ratings):
        """Those of the first users, about as many as asked."""
        users = max(int(np.searchsorted(self.indptr, ratings, side="right")) - 1, 1)
        n = self.indptr[users]
        return Ratings(self.indptr[: users + 1], self.items[:n], self.values[:n], self.n_items)


def factors(n, rank, seed):
    return np.random.default_rng(seed).standard_normal((n, rank), np.float32) * np.float32(0.1 / rank**0.5)


class Hushrec:
    def __init__(self, ratings, rank):
        self.n_users = ratings.n_users
        popular = np.argsort(-np.bincount(ratings.items, minlength=ratings.n_items), kind="stable")
        places = np.argsort(popular).astype(np.int32)  # of each item, the most rated first
        self.rows = ratings.indptr, places[ratings.items], ratings.values - ratings.values.mean()
        sizes = ratings.n_users, ratings.n_items
        self.p, self.q = factors(ratings.n_users, rank, 0), padded(ratings.n_items, rank)
        self.q[:] = factors(ratings.n_items, rank, 1)
        self.b_u, self.b_i = (np.zeros(n, np.float32) for n in sizes)
        self.regs = [np.full(n, REG, np.float32) for n in sizes]
        self.rng = np.random.default_rng(0)

    def passes(self, count):
        """Seconds of a pass."""
        return timed(lambda: [self._pass() for _ in range(count)])[0] / count

    def _pass(self):
        order = self.rng.permutation(self.n_users).astype(np.int32)
        changed = self.p, self.q, self.b_u, self.b_i
        descend(*self.rows, order, *changed, *self.regs, RATE, threads=THREADS)


class Libmf:
    name = "LIBMF"

    def __init__(self, ratings, rank):
        with redirect_stdout(io.StringIO()):  # it tells where its library lies
            from libmf import mf
        self.library, self.model = mf, None
        self.settings = {"k": rank, "nr_threads": THREADS, "eta": 0.1, "quiet": True, "copy_data": False}
        self.settings |= {"lambda_p1": 0, "lambda_q1": 0, "lambda_p2": REG, "lambda_q2": REG}
        self.triplets = np.column_stack([ratings.users, ratings.items, ratings.values]).astype(np.float32)

    def fit(self, count):
        self.forget()
        self.model = self.library.MF(nr_iters=count, **self.settings)
        return timed(lambda: self.model.fit(self.triplets))[0]

    def passes(self, count):
        taken = [self.fit(n) for n in (2, 2 + count)]
        self.forget()
        return (taken[1] - taken[0]) / count

    def forget(self):
        """The binding does not free what it returns."""
        if self.model:
            self.library.mf.mf_destroy_model(ctypes.byref(ctypes.pointer(self.model.model)))
        self.model = None


class Cornac:
    name = "cornac"

    def __init__(self, ratings, rank):
        from cornac.models.mf import backend_cpu

        self.fit = backend_cpu.fit_sgd
        sizes = ratings.n_users, ratings.n_items
        self.rows = ratings.users, ratings.items.astype(np.int64), ratings.values.copy()
        self.changed = [factors(n, rank, side) for side, n in enumerate(sizes)]
        self.changed += [np.zeros(n, np.float32) for n in sizes]
        self.mean = ratings.values.mean()

    def passes(self, count):
        settings = RATE, REG, self.mean, count, THREADS, True, False, False
        return timed(lambda: self.fit(*self.rows, *self.changed, *settings))[0] / count


def beside_peers(rounds):
    ratings = Ratings.made(*SIZE)
    peers = installed([Libmf, Cornac], ratings)
    for rank in RANKS:
        part, count = ratings.first(WORK / rank), PASSES.get(rank, 4)
        programs = [make(part, rank) for make in (Hushrec, *peers)]
        programs[0].passes(1)
        taken = [[program.passes(count) for program in programs] for _ in range(rounds)]
        speed, *speeds = part.n / 1e6 / np.median(taken, axis=0)
        size = f"{part.n / 1e6:.1f}M ratings × {part.n_items:,} items"
        for peer, its in zip(peers, speeds, strict=True):
            # Where a peer's passes are lost in its reading, their difference says nothing.
            beside = {"peer": peer.name, "theirs": its if its > 0 else None}
            if peer is Libmf:
                beside["mark"] = "≥ 0.8 ×" if rank == 16 else "≥ 1 ×"
            report(KIND, f"a pass beside peers, rank {rank}", size, "M ratings/s", speed, **beside)


def large(_):
    """A pass over as many ratings as Netflix's."""
    ours = Hushrec(Ratings.made(*LARGE), 64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first, second = ours.passes(1), ours.passes(1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n = len(ours.rows[1])
    note = f"{second:.2f} s, the first {first:.2f} s; peak memory {peak / 2**20:.2f} GiB"
    note += f", {before / 2**20:.2f} GiB of it before the passes"
    size = f"{n / 1e6:.1f}M ratings × {LARGE[1]:,} items"
    report(KIND, "a pass, rank 64", size, "M ratings/s", n / second / 1e6, note=note)


def installed(peers, ratings):
    found = []
    for peer in peers:
        try:
            peer(ratings.first(1000), 16)
            found.append(peer)
        except ImportError as error:
            print(f"{peer.name} is left out: {error}")
    return found


PARTS = {"peers": beside_peers, "large": large}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS) + "; all if none is named")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}")
    warnings.filterwarnings("ignore")
    for part in asked.parts or PARTS:
        PARTS[part](asked.rounds)


if __name__ == "__main__":
    main()
