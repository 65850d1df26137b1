"""A small check that nothing became slow: CPU seconds of peers over ours, in one run, against floors.

    python -m lab bench ratios [--rounds 15] [--runs 1]

Every round runs ours and the peer one after the other on one thread; the median of their ratios counts. Both
meet the same machine, and CPU seconds leave out what other processes took, so that a busy machine changes a
ratio little. A floor is the usual ratio over √2: a work that takes twice as long falls as far below it as it
lies above otherwise.

The usual ratios are medians of 20 runs on two cores (AMD EPYC, AVX-512) that had 8 to 13 other processes to
run. Their logarithms had standard deviations of 0.044, 0.014, 0.020 and 0.030, and the floor is 0.347 away,
so a false alarm needs 7.9 standard deviations. Another kind of processor has other ratios, so the floors
there are the usual ones over 4: only what became much slower is found. ``--runs 20`` takes them anew.
"""

import os

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median, stdev
from time import process_time

import llvmlite.binding
import numpy as np
from scipy.sparse import csr_array

from hushrec.data.synthetic import netflix_like
from hushrec.kernels.csr import packed_size
from hushrec.models.factorization.kernels import least_squares, visits
from hushrec.models.factorization.kernels.visits import padded
from hushrec.privacy.noise import sampler
from hushrec.privacy.noise.distributions import GAUSSIAN
from hushrec.sums.kernels import gram

RANK, REG = 64, 0.05
MEASURED_ON = "znver5"
"""The kind of processor that had the usual ratios, as LLVM calls it."""
HERE, ELSEWHERE = math.sqrt(2), 4.0
Run = Callable[[], object]


@dataclass(frozen=True)
class Work:
    """What is timed beside whom.

    Args:
        name, peer: in words.
        usual: the peer's CPU seconds over ours, the median of many runs.
        make: the two programs.
        slack: by how much the ratio may fall short of the usual one.
    """

    name: str
    peer: str
    usual: float
    make: Callable[[], tuple[Run, Run]]
    slack: float = HERE

    @property
    def floor(self) -> float:
        return self.usual / self.slack


def covariance() -> tuple[Run, Run]:
    """Both matrices. Items ascend by their raters, as those of a head do."""
    made, places = netflix_like(2_000, 1_500, 300_000, seed=0), np.empty(1_500, np.int32)
    places[np.argsort(np.bincount(made.items, minlength=1_500), kind="stable")] = np.arange(1_500)
    entries, weights = made.values.astype(np.int32), np.full(2_000, 1 << 20)
    x = csr_array((made.values.astype(np.float64), made.items, made.indptr), shape=(2_000, 1_500))
    rows = made.indptr, places[made.items], entries, weights, 1_500
    ones = csr_array((np.ones(len(made.items)), made.items, made.indptr), shape=(2_000, 1_500))
    co_rating = np.zeros(packed_size(1_500), np.int64)
    ours = lambda: gram.weighted_gram(*rows, threads=1, co_rating=co_rating)  # noqa: E731
    return ours, lambda: (x.T @ x, ones.T @ ones)


def noise() -> tuple[Run, Run]:
    key, rng, size = bytes(range(32)), np.random.default_rng(0), 2_000_000
    ours = lambda: sampler.rounded(GAUSSIAN, size, 1e3, key, threads=1)  # noqa: E731
    return ours, lambda: rng.standard_normal(size)


def descent() -> tuple[Run, Run]:
    """The peer only predicts the ratings of which ours learns."""
    made, rng = netflix_like(4_000, 2_000, 1_000_000, seed=0), np.random.default_rng(0)
    p, q = (rng.standard_normal((n, RANK), np.float32) * np.float32(0.01) for n in (4_000, 2_000))
    learned = p.copy(), padded(2_000, RANK), np.zeros(4_000, np.float32), np.zeros(2_000, np.float32)
    learned[1][:] = q
    values = made.values.astype(np.float32) - np.float32(2)
    order, regs = np.arange(4_000, dtype=np.int32), [np.full(n, REG, np.float32) for n in (4_000, 2_000)]
    rows, users = (made.indptr, made.items, values), np.repeat(np.arange(4_000), np.diff(made.indptr))

    def predict():
        for start in range(0, len(users), 1 << 14):
            part = slice(start, start + (1 << 14))
            np.einsum("rf,rf->r", p[users[part]], q[made.items[part]])

    return lambda: visits.descend(*rows, order, *learned, *regs, 0.005, threads=1), predict


def factors() -> tuple[Run, Run]:
    made = netflix_like(1_000, 2_000, 200_000, seed=0)
    q = np.random.default_rng(0).standard_normal((2_000, RANK)).astype(np.float32)
    values, p = made.values.astype(np.float32), np.empty((1_000, RANK), np.float32)
    rows = made.indptr, made.items, values
    penalties, ridge = REG * np.diff(made.indptr), REG * np.eye(RANK, dtype=np.float32)

    def solve():
        for user, (first, last) in enumerate(zip(made.indptr[:-1], made.indptr[1:], strict=True)):
            known = q[made.items[first:last]]
            p[user] = np.linalg.solve(known.T @ known + (last - first) * ridge, known.T @ values[first:last])

    return lambda: least_squares.solve_rows(*rows, q, penalties, p, threads=1), solve


WORKS = (
    Work("covariance", "scipy X.T @ X", 7.91, covariance),
    Work("exact noise", "NumPy's unsafe normals", 1.47, noise),
    Work("gradient descent", "NumPy's predictions alone", 3.06, descent),
    Work("least squares", "NumPy, row by row", 5.00, factors),
)


def ratio(work: Work, rounds: int) -> float:
    """The peer's CPU seconds over ours, the median of the rounds."""
    ours, theirs = work.make()
    ours(), theirs()  # compiles, and fills the caches
    found = []
    for _ in range(rounds):
        start = process_time()
        ours()
        middle = process_time()
        theirs()
        found.append((process_time() - middle) / (middle - start))
    return median(found)


def works_on(processor: str) -> tuple[Work, ...]:
    """The works with the floors of a kind of processor."""
    return tuple(replace(work, slack=HERE if processor == MEASURED_ON else ELSEWHERE) for work in WORKS)


def below(works: tuple[Work, ...] = WORKS, rounds: int = 15) -> list[str]:
    """The works that are too slow; a line of each work is printed."""
    slow = []
    for work in works:
        found = ratio(work, rounds)
        said = "" if found >= work.floor else "  TOO SLOW"
        print(f"{work.name:<18} {found:7.2f} × {work.peer:<28} floor {work.floor:6.2f}{said}", flush=True)
        if said:
            slow.append(work.name)
    return slow


def spread(rounds: int, runs: int) -> None:
    """Print how far the ratios of many runs lie apart."""
    for work in WORKS:
        found = [ratio(work, rounds) for _ in range(runs)]
        deviation = stdev(map(math.log, found))
        far = math.log(median(found) / work.floor) / deviation
        print(
            f"{work.name:<18} {min(found):7.3f} to {max(found):7.3f}, median {median(found):7.3f}; standard "
            f"deviation of the logarithm {deviation:.3f}, of which the floor is {far:.1f} below",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runs", type=int, default=1)
    asked = parser.parse_args()
    if asked.runs > 1:
        spread(asked.rounds, asked.runs)
    elif slow := below(works_on(llvmlite.binding.get_host_cpu_name()), asked.rounds):
        sys.exit(f"slower than before, beside the peer of the same run: {', '.join(slow)}")


if __name__ == "__main__":
    main()
