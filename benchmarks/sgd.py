"""Stochastic gradient descent beside LIBMF's, cornac's and Surprise's, on Netflix-like ratings.

    python benchmarks/sgd.py [--rounds 3]

First hushrec alone, at three sizes and five ranks, with the exponents of CPU seconds ~ ratings^x and
~ (ratings × rank)^y. Then every rank beside the peers: in each round one program after the other makes a few
passes over the same ratings, two threads each, and the medians count. From rank 256 on these are the ratings
of the first users, so that no round takes minutes; a rate depends on how many items there are, and they are
all there. Surprise has one thread and takes its ratings from a Python generator: it gets every 20th user. A
pass of LIBMF's is the difference between fits of many passes and of two, which leaves out its reading and
shuffling; so it is with Surprise.

hushrec reads and writes 8 × rank bytes of item factors a rating. The bandwidth beside it is that of two
threads that multiply the numbers of a large array in place. Items that many people rate come from a cache, so
that a share over 100 % is possible.

Last, RMSE on a held-out tenth after the same seconds of passes as LIBMF's, at rank 64. LIBMF fits no effects,
and only hushrec's rate and penalty were tuned, on the same tenth: a first look, no fair race.

A peer that is not installed is left out. LIBMF's binding on PyPI is built from source, by default without
vector instructions; with them: CFLAGS='-O3 -march=native -DUSEAVX' pip install libmf.
"""

import argparse
import ctypes
import io
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from time import perf_counter, process_time
from types import SimpleNamespace

THREADS = 2
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": str(THREADS)}

import numba  # noqa: E402  (reads how many threads to use)
import numpy as np  # noqa: E402

from hushrec.data.synthetic import netflix_like  # noqa: E402
from hushrec.kernels.sgd import descend  # noqa: E402

SIZES = {
    "1M": (6_040, 3_706, 1_000_000),
    "3M": (16_000, 6_000, 3_000_000),
    "10M": (48_000, 10_000, 10_000_000),
}
RANKS = 16, 64, 256, 1024, 2048
PASSES = {16: 20, 64: 10}  # others 4: of one program in a round
WORK = 2.56e9  # largest ratings × rank of a pass beside peers
RATE, REG = 0.005, 0.02


class Ratings:
    """Compressed rows, and the same as triplets."""

    def __init__(self, indptr, items, values, n_items):
        self.indptr, self.items, self.values, self.n_items = indptr, items, values, n_items
        self.n_users, self.n = len(indptr) - 1, len(items)

    @classmethod
    def made(cls, users, items, ratings):
        made = netflix_like(users, items, ratings, seed=0)
        return cls(made.indptr, made.items, made.steps.astype(np.float32) + 1, items)

    @property
    def users(self):
        return np.repeat(np.arange(self.n_users), np.diff(self.indptr))

    def first(self, ratings):
        """Those of the first users, about as many as asked."""
        users = max(int(np.searchsorted(self.indptr, ratings, side="right")) - 1, 1)
        n = self.indptr[users]
        return Ratings(self.indptr[: users + 1], self.items[:n], self.values[:n], self.n_items)

    def every(self, nth):
        """Those of every ``nth`` user."""
        return self.where(self.users % nth == 0)

    def where(self, chosen):
        indptr = np.concatenate([[0], np.cumsum(chosen)])[self.indptr]
        return Ratings(indptr, self.items[chosen], self.values[chosen], self.n_items)


def factors(n, rank, seed):
    return np.random.default_rng(seed).standard_normal((n, rank), np.float32) * np.float32(0.1 / rank**0.5)


def seconds(work):
    start = perf_counter()
    work()
    return perf_counter() - start


class Hushrec:
    def __init__(self, ratings, rank, reg=REG):
        self.ratings, self.mean = ratings, ratings.values.mean()
        self.rows = ratings.indptr, ratings.items, ratings.values - self.mean
        sizes = ratings.n_users, ratings.n_items
        self.p, self.q = (factors(n, rank, side) for side, n in enumerate(sizes))
        self.b_u, self.b_i = (np.zeros(n, np.float32) for n in sizes)
        self.regs = [np.full(n, reg, np.float32) for n in sizes]
        self.rng = np.random.default_rng(0)

    def passes(self, count, rate=RATE):
        """Seconds of a pass."""
        return seconds(lambda: [self._pass(rate) for _ in range(count)]) / count

    def _pass(self, rate):
        order = self.rng.permutation(self.ratings.n_users).astype(np.int32)
        changed = self.p, self.q, self.b_u, self.b_i
        descend(*self.rows, order, *changed, *self.regs, rate, threads=THREADS)

    def predict(self, users, items):
        found = self.mean + self.b_u[users] + self.b_i[items]
        for start in range(0, len(users), 1 << 16):
            part = slice(start, start + (1 << 16))
            found[part] += np.einsum("rf,rf->r", self.p[users[part]], self.q[items[part]])
        return found


class Libmf:
    name = "LIBMF"

    def __init__(self, ratings, rank, reg=REG, eta=0.1):
        with redirect_stdout(io.StringIO()):  # it tells where its library lies
            from libmf import mf
        self.library, self.model = mf, None
        self.settings = {"k": rank, "nr_threads": THREADS, "eta": eta, "quiet": True, "copy_data": False}
        self.settings |= {"lambda_p1": 0, "lambda_q1": 0, "lambda_p2": reg, "lambda_q2": reg}
        self.triplets = np.column_stack([ratings.users, ratings.items, ratings.values]).astype(np.float32)

    def fit(self, count):
        self.forget()
        self.model = self.library.MF(nr_iters=count, **self.settings)
        return seconds(lambda: self.model.fit(self.triplets))

    def passes(self, count):
        taken = [self.fit(n) for n in (2, 2 + count)]
        self.forget()
        return (taken[1] - taken[0]) / count

    def forget(self):
        """The binding does not free what it returns."""
        if self.model:
            self.library.mf.mf_destroy_model(ctypes.byref(ctypes.pointer(self.model.model)))
        self.model = None

    def predict(self, users, items):
        # The binding reads all users first and then all items.
        return self.model.predict(np.asfortranarray(np.column_stack([users, items])))


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
        return seconds(lambda: self.fit(*self.rows, *self.changed, *settings)) / count


class Surprise:
    name = "Surprise"
    nth = 20

    def __init__(self, ratings, rank):
        from surprise import SVD

        every = ratings.every(self.nth)
        self.make, self.rank = SVD, rank
        triplets = [column.tolist() for column in (every.users, every.items, every.values)]
        self.set = SimpleNamespace(
            n_users=every.n_users,
            n_items=every.n_items,
            global_mean=float(every.values.mean()),
            all_ratings=lambda: zip(*triplets, strict=True),
        )
        self.share = every.n / ratings.n

    def passes(self, _):
        taken = []
        for epochs in (1, 2):
            model = self.make(n_factors=self.rank, n_epochs=epochs)
            model.trainset = self.set
            taken.append(seconds(lambda model=model: model.sgd(self.set)))
        return (taken[1] - taken[0]) / self.share


@numba.njit(nogil=True)
def scale(array, factor):
    for i in range(array.size):
        array[i] *= factor


class Memory:
    """How fast two threads read, change and write."""

    def __init__(self, megabytes=512):
        self.halves = np.split(np.ones(megabytes << 18, np.float32), THREADS)
        self.bytes = 2 * megabytes << 20
        self.measure()

    def measure(self):
        """Gigabytes a second, read and written."""
        with ThreadPoolExecutor(THREADS) as pool:
            return self.bytes / 1e9 / seconds(lambda: list(pool.map(scale, self.halves, [1.0] * THREADS)))


def alone(sizes, rounds):
    """Hushrec at three sizes and all ranks, a pass each time; returns the largest ratings."""
    print("size  rank  s/pass M ratings/s  CPU s/pass")
    points = []
    for name, size in sizes.items():
        ratings = Ratings.made(*size)
        for rank in RANKS:
            part = ratings.first(4 * WORK / rank)
            ours = Hushrec(part, rank)
            ours.passes(1)
            taken, worked = [], []
            for _ in range(rounds):
                start = process_time()
                taken.append(ours.passes(1))
                worked.append(process_time() - start)
            took, work = np.median(taken), np.median(worked)
            points.append((rank, part.n, work))
            print(f"{name:>4} {rank:5} {took:7.3f} {part.n / took / 1e6:11.2f} {work:11.3f}", flush=True)
    ranks, n, work = np.log(np.array(points)).T
    at = np.exp(ranks).round() == 64
    print(f"rank 64: CPU seconds ~ ratings^{np.polyfit(n[at], work[at], 1)[0]:.2f}")
    print(f"all: CPU seconds ~ (ratings × rank)^{np.polyfit(n + ranks, work, 1)[0]:.2f}")
    return ratings


def beside_peers(ratings, peers, rounds):
    memory = Memory()
    titles = "".join(f"{peer.name:>10}" for peer in peers)
    print(f"\nM ratings/s, medians of {rounds} rounds")
    print(f" ratings  rank   hushrec{titles}   memory GB/s   hushrec's")
    for rank in RANKS:
        part, count = ratings.first(WORK / rank), PASSES.get(rank, 4)
        programs = [make(part, rank) for make in (Hushrec, *peers)]
        programs[0].passes(1)
        taken, bandwidth = [], []
        for _ in range(rounds):
            taken.append([program.passes(count) for program in programs])
            bandwidth.append(memory.measure())
        speeds = part.n / 1e6 / np.median(taken, axis=0)
        # Where a peer's passes are lost in its reading, their difference says nothing.
        line = "".join(f"{speed:10.2f}" if speed > 0 else f"{'–':>10}" for speed in speeds)
        limit, used = np.median(bandwidth), speeds[0] * 8 * rank / 1e3
        print(
            f"{part.n / 1e6:6.2f} M {rank:5}{line} {limit:10.1f} {used:8.1f} = {used / limit:.0%}", flush=True
        )


def after_equal_seconds(ratings, peer):
    """RMSE on a held-out tenth after as many seconds of passes."""
    held = np.random.default_rng(1).random(ratings.n) < 0.1
    train, test = ratings.where(~held), ratings.where(held)
    users, items = test.users, test.items

    def rmse(model):
        error = test.values - model.predict(users, items)
        return float(np.sqrt(np.mean(error.astype(np.float64) ** 2)))

    ours, curve, spent = Hushrec(train, 64, OURS["reg"]), [], 0.0
    for epoch in range(30):
        spent += ours.passes(1, OURS["rate"] * OURS["decay"] ** epoch)
        curve.append((spent, rmse(ours)))
    theirs = peer(train, 64, **THEIRS)
    each = np.median([theirs.passes(10) for _ in range(3)])
    print(f"\nrank 64, a tenth held out\nseconds   {peer.name} passes  RMSE   hushrec passes  RMSE")
    for count in (3, 6, 10, 15, 20):
        theirs.fit(count)
        done = [found for took, found in curve if took <= count * each]
        line = f"{count * each:7.2f} {count:14} {rmse(theirs):7.4f}"
        print(f"{line} {len(done):14} {done[-1] if done else np.nan:7.4f}", flush=True)
    theirs.forget()


OURS = {"rate": 0.02, "reg": 0.02, "decay": 0.85}
THEIRS = {"reg": 0.05, "eta": 0.1}


def installed(peers, ratings):
    found = []
    for peer in peers:
        try:
            peer(ratings.first(1000), 16)
            found.append(peer)
        except ImportError as error:
            print(f"{peer.name} is left out: {error}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.filterwarnings("ignore")
    ratings = alone(SIZES, rounds)
    peers = installed([Libmf, Cornac, Surprise], ratings)
    beside_peers(ratings, peers, rounds)
    if Libmf in peers:
        after_equal_seconds(ratings, Libmf)


if __name__ == "__main__":
    main()
