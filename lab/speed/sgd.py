"""Stochastic gradient descent beside LIBMF's, cornac's and Surprise's, on Netflix-like ratings.

    python -m lab bench sgd [alone] [peers] [race] [large] [--rounds 3]

alone: hushrec at three sizes and five ranks.

peers: every rank beside the peers. In each round one program after the other makes a few passes over the
same ratings, two threads each, and the medians count. From rank 256 on these are the ratings of the first
users, so that no round takes minutes; a rate depends on how many items there are, and they are all there.
Surprise has one thread and takes its ratings from a Python generator: it gets every 20th user, to rank 64. A
pass of LIBMF's is the difference between fits of many passes and of two, which leaves out its reading and
shuffling; so it is with Surprise. hushrec's items are relabelled by popularity, once and untimed.

hushrec reads and writes 2 · 4 · rank bytes of item factors a rating. The last column is the share of the
bandwidth of two threads that multiply the numbers of a large array in place, measured in the same rounds.
Items that many people rate come from a cache, so that a share over 100 % is possible.

race: RMSE on a held-out tenth after the same seconds of passes as LIBMF's, at rank 64. Each side's learning
rate and penalty are the best of nine pairs on another held-out tenth, after the passes that take as long as
ten of LIBMF's; then both learn from all but the first tenth.

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
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from itertools import product
from time import perf_counter, process_time
from types import SimpleNamespace

THREADS = 2
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": str(THREADS)}

import numba  # noqa: E402  (reads how many threads to use)
import numpy as np  # noqa: E402
from rows import report  # noqa: E402

from hushrec.data.synthetic import netflix_like  # noqa: E402
from hushrec.models.factorization.kernels.visits import descend, padded  # noqa: E402

SIZES = {
    "1M": (6_040, 3_706, 1_000_000),
    "3M": (16_000, 6_000, 3_000_000),
    "10M": (48_000, 10_000, 10_000_000),
}
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
        popular = np.argsort(-np.bincount(ratings.items, minlength=ratings.n_items), kind="stable")
        self.places = np.argsort(popular).astype(np.int32)  # of each item, the most rated first
        self.rows = ratings.indptr, self.places[ratings.items], ratings.values - self.mean
        sizes = ratings.n_users, ratings.n_items
        self.p, self.q = factors(ratings.n_users, rank, 0), padded(ratings.n_items, rank)
        self.q[:] = factors(ratings.n_items, rank, 1)
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

    def forget(self):
        """As LIBMF's, which keeps what Python does not count."""

    def predict(self, users, items):
        items = self.places[items]
        found = self.mean + self.b_u[users] + self.b_i[items]
        for start in range(0, len(users), 1 << 16):
            part = slice(start, start + (1 << 16))
            found[part] += np.einsum("rf,rf->r", self.p[users[part]], self.q[items[part]])
        return found


class Libmf:
    name = "LIBMF"
    ranks = RANKS

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
    ranks = RANKS

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
    ranks = RANKS[:2]
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
        self.split = every.n / ratings.n

    def passes(self, _):
        taken = []
        for epochs in (1, 2):
            model = self.make(n_factors=self.rank, n_epochs=epochs)
            model.trainset = self.set
            taken.append(seconds(lambda model=model: model.sgd(self.set)))
        return (taken[1] - taken[0]) / self.split


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


def alone(rounds):
    """Hushrec at three sizes and all ranks, a pass each time."""
    for name, size in SIZES.items():
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
            note = f"{work:.2f} CPU s a pass"
            if part.n < ratings.n:
                note += f", of the first {part.n / 1e6:.1f}M"
            speed = part.n / took / 1e6
            report(
                KIND,
                f"a pass, rank {rank}",
                f"{name} ratings",
                "M ratings/s",
                speed,
                amount=part.n,
                note=note,
            )


def beside_peers(rounds):
    ratings, memory = Ratings.made(*SIZES["10M"]), Memory()
    peers = installed([Libmf, Cornac, Surprise], ratings)
    for rank in RANKS:
        part, count = ratings.first(WORK / rank), PASSES.get(rank, 4)
        here = [peer for peer in peers if rank in peer.ranks]
        programs = [make(part, rank) for make in (Hushrec, *here)]
        programs[0].passes(1)
        taken, bandwidth = [], []
        for _ in range(rounds):
            taken.append([program.passes(count) for program in programs])
            bandwidth.append(memory.measure())
        speed, *speeds = part.n / 1e6 / np.median(taken, axis=0)
        theirs = dict(zip(here, speeds, strict=True))
        size = f"{part.n / 1e6:.1f}M ratings × {part.n_items:,} items"
        for peer, its in theirs.items():
            # Where a peer's passes are lost in its reading, their difference says nothing.
            beside = {"peer": peer.name, "theirs": its if its > 0 else None}
            if peer is Libmf:
                beside["mark"] = "≥ 0.8 ×" if rank == 16 else "≥ 1 ×"
            report(KIND, f"a pass beside peers, rank {rank}", size, "M ratings/s", speed, **beside)
        limit, used = np.median(bandwidth), speed * 8 * rank / 1e3
        beside = {"peer": "a large array, changed in place", "theirs": limit}
        if rank >= 1024:
            beside["mark"] = "≥ 0.8 ×"
        report(KIND, f"memory, rank {rank}", size, "GB/s", used, **beside)


def race(rounds):
    """RMSE on a held-out tenth after as many seconds of passes."""
    ratings = Ratings.made(*SIZES["10M"])
    if Libmf not in installed([Libmf], ratings):
        return
    part = np.random.default_rng(1).integers(0, 10, ratings.n)
    learn, validate = ratings.where(part > 1), ratings.where(part == 1)
    train, test = ratings.where(part > 0), ratings.where(part == 0)
    ours, theirs = Hushrec(learn, 64), Libmf(learn, 64)
    ours.passes(1)
    pairs = np.array([(ours.passes(PASSES[64]), theirs.passes(PASSES[64])) for _ in range(rounds)])
    pace = np.median(pairs[:, 1] / pairs[:, 0])  # our passes in the time of one of LIBMF's
    print(f"rank 64, a pass takes LIBMF {pace:.2f} times as long as hushrec")

    def ended(make, rating_set, held, count, rate, reg):
        return rmse(make(rating_set, 64, reg, rate, count), held)

    best = []
    for name, make, count, grid in (
        ("hushrec", descended, round(10 * pace), OURS),
        ("LIBMF", libmf_fitted, 10, THEIRS),
    ):
        found = {pair: ended(make, learn, validate, count, *pair) for pair in product(*grid.values())}
        rate, reg = min(found, key=found.get)
        best.append((rate, reg))
        print(f"{name}: rate {rate:g}, penalty {reg:g}; RMSE from {min(found.values()):.4f}", end=" ")
        print(f"to {max(found.values()):.4f} on the validation part", flush=True)
    for count in (2, 4, 6, 10, 15, 20):
        counts = int(count * pace), count
        curve = [
            ended(make, train, test, n, *pair)
            for make, n, pair in zip((descended, libmf_fitted), counts, best, strict=True)
        ]
        work = f"after the time of {count} passes of LIBMF, rank 64"
        report(
            KIND,
            work,
            "10M ratings",
            "RMSE",
            curve[0],
            peer="LIBMF",
            theirs=curve[1],
            note=f"{counts[0]} passes",
        )


OURS = {"rate": (0.01, 0.02, 0.03), "reg": (0.01, 0.02, 0.05)}
THEIRS = {"eta": (0.02, 0.05, 0.1), "reg": (0.01, 0.02, 0.05)}


def descended(ratings, rank, reg, rate, count):
    """Hushrec after ``count`` passes, of a learning rate that falls evenly to a twentieth."""
    ours = Hushrec(ratings, rank, reg)
    for turn in range(count):
        ours.passes(1, rate * (1 - 0.95 * turn / max(count - 1, 1)))
    return ours


def libmf_fitted(ratings, rank, reg, eta, count):
    theirs = Libmf(ratings, rank, reg, eta)
    theirs.fit(count)
    return theirs


def rmse(model, held):
    error = held.values - model.predict(held.users, held.items)
    model.forget()
    return float(np.sqrt(np.mean(error.astype(np.float64) ** 2)))


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


PARTS = {"alone": alone, "peers": beside_peers, "race": race, "large": large}


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
