"""Langevin dynamics beside gradient descent: what the noise costs, on Netflix-like ratings.

    python -m lab bench langevin [--rounds 5] [--intervals 8]

Passes of both over the same ratings, two threads each, one after the other in every round: the medians, and
their ratios in seconds and in CPU seconds. Normals are timed by themselves, as many at a time as pay an item.
"""

import argparse
import os
from time import perf_counter, process_time

THREADS = 2
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": str(THREADS)}

import numba  # noqa: E402  (reads how many threads to use)
import numpy as np  # noqa: E402
from rows import report  # noqa: E402

from hushrec.data.synthetic import netflix_like  # noqa: E402
from hushrec.kernels.noise.gaussian import draw, room  # noqa: E402
from hushrec.kernels.solvers.langevin import langevin  # noqa: E402
from hushrec.kernels.solvers.langevin_pass import LangevinPass  # noqa: E402
from hushrec.kernels.solvers.sgd import descend  # noqa: E402

USERS, ITEMS, RATINGS = 70_000, 10_700, 10_000_000
RANKS = 16, 64, 256
RATE, REG = 0.005, 0.02


def seconds(work):
    """Seconds, and CPU seconds."""
    start = perf_counter(), process_time()
    work()
    return perf_counter() - start[0], process_time() - start[1]


class Passes:
    def __init__(self, made, rank, noise_intervals):
        rng = np.random.default_rng(0)
        values = made.steps.astype(np.float32) + 1
        self.mean, self.noise_intervals, self.epochs = values.mean(), noise_intervals, 0
        self.rows = made.indptr, made.items, values - self.mean
        self.sizes = USERS, ITEMS
        self.start = [rng.standard_normal((n, rank), np.float32) * np.float32(0.1) for n in self.sizes]
        self.start += [np.zeros(n, np.float32) for n in self.sizes]
        self.order = rng.permutation(USERS).astype(np.int32)
        self.regs = [np.full(n, REG, np.float32) for n in self.sizes]
        self.scales = np.full(USERS, 0.5, np.float32)  # so that both take the same steps
        # Predictions of the prior vary by ½, whatever the rank.
        self.priors = [np.full(rank, 2 * rank**0.5, np.float32) for _ in self.sizes]
        self.descending, self.sampling = ([a.copy() for a in self.start] for _ in range(2))

    def descend(self):
        descend(*self.rows, self.order, *self.descending, *self.regs, RATE, threads=THREADS)

    def langevin(self):
        epoch = LangevinPass(bytes(32), self.epochs, USERS, ITEMS, self.noise_intervals)
        self.epochs += 1
        law = *self.priors, (4.0, 4.0), RATE, 1.0, 1 - self.mean, 5 - self.mean
        langevin(*self.rows, self.order, *self.sampling, self.scales, *law, epoch, threads=THREADS)


@numba.njit(nogil=True)
def payments(count, z, n, key):
    for name in range(count):
        draw(z, n, key, (np.uint32(name), np.uint32(0), np.uint32(0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--intervals", type=int, default=8)
    asked = parser.parse_args()
    made = netflix_like(USERS, ITEMS, RATINGS, seed=0)
    key = np.zeros(8, np.uint32)
    for rank in RANKS:
        passes = Passes(made, rank, asked.intervals)
        passes.descend(), passes.langevin()
        taken = [(seconds(passes.descend), seconds(passes.langevin)) for _ in range(asked.rounds)]
        (without, cpu_without), (with_noise, cpu_with) = np.median(taken, axis=0)
        z, count = np.zeros(room(rank + 1), np.float32), 100_000
        payments(1, z, rank + 1, key)
        rate = count * (rank + 1) / seconds(lambda: payments(count, z, rank + 1, key))[0] / 1e6  # noqa: B023
        report(
            "Langevin",
            f"a pass with noise, rank {rank}",
            "10M ratings",
            "s",
            with_noise,
            peer="a pass of gradient descent",
            theirs=without,
            mark="≥ 0.667 ×" if rank == 64 else "",
            note=f"{cpu_with / cpu_without:.2f} × its CPU seconds; {rate:.0f} M normals/s a thread",
        )


if __name__ == "__main__":
    main()
