"""Lists for everybody, beside implicit's ``recommend`` and a plain product of NumPy.

    python -m lab bench recommend_all [--users 4000]

Made-up releases at rank 20 and users who gave 100 items each, at three sizes of the catalogue. Users per
second of the CPU, because other work split the machine: with one core, and with two. What is measured has a
process of its own. Only the speed of neighbours depends on the numbers, because a bound on their scores
leaves most items out where popularity says more than taste: so a release that was fitted to made-up ratings
is measured as well.

Ours begin with what users gave and end with tables of ids, exact. *NumPy* begins with vectors of the users:
a product in single precision, ``argpartition``, and a sort of what is left; *implicit* does as well, and with
fold-in it solves for the vectors first, as we do for *factors*. Neither looks ids up.
"""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rows import report

import hushrec as hr
from hushrec.release.artefact import Release
from hushrec.release.kinds import RANKERS
from hushrec.release.statement import placeholder_statement

RANK, GIVEN, ROUNDS = 20, 100, 3
CASES = (
    (10, 1, 1_780),
    (10, 1, 17_770),
    (10, 1, 100_000),
    (100, 1, 17_770),
    (10, 2, 17_770),
)  # n, cores, items
KINDS = "linear items", "item scores", "neighbours", "neighbours, fitted"
PEERS = "NumPy", "implicit", "implicit, fold-in"
FEW = 100  # users whom a release of neighbours ranks for


def release(kind: str, n: int) -> Release:
    """A release of random numbers."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n, RANK)) / RANK**0.5
    rated = {
        "item_effects": rng.uniform(2, 4, n),
        "item_noise": rng.uniform(0.5, 1.5, n),
        "item_popularity": rng.lognormal(3, 2, n),
        "item_factors": factors,
    }
    linear = {"input_weights": rng.uniform(0, 1, n), "output_weights": rng.uniform(0, 1, n)}
    scores = {"item_scores": rng.lognormal(size=n)}
    tensors = {
        "factors": rated,
        "neighbours": rated | {"similarity_factors": rng.standard_normal((n, RANK))},
        "linear items": linear | scores | {"item_factors": factors, "intercept": np.zeros(RANK)},
        "item scores": scores,
    }[kind]
    return Release(
        model="Generated",
        settings={},
        kind=kind,
        items=tuple(f"item-{i}" for i in range(n)),
        scale=None if kind in RANKERS else (1.0, 5.0, 1.0),
        constants={"user_mean": 0.1, "user_variance": 0.2, "bias_noise": 0.8, "neighbours": 20.0},
        tensors={name: tensor.astype(np.float32) for name, tensor in tensors.items()},
        statement=placeholder_statement(),
    )


def people(kind: str, n_items: int, n_users: int):
    """Ratings or interactions of made-up users."""
    rng = np.random.default_rng(1)
    items = np.sort(rng.integers(0, n_items - GIVEN, (n_users, GIVEN)), axis=1) + np.arange(GIVEN)
    users = [f"user-{user:07d}" for user in range(n_users)]
    ids = [f"item-{item}" for item in range(n_items)]
    rows = users, np.arange(n_users + 1) * GIVEN, items.ravel().astype(np.int32)
    if kind in RANKERS:
        return hr.People(hr.Domain(ids, max_users=n_users), *rows)
    domain = hr.Domain(ids, scale=(1, 5, 1), max_users=n_users)
    return hr.People(domain, *rows, rng.integers(0, 5, n_users * GIVEN).astype(np.uint8))


def fitted(n_items: int, n_users: int):
    """A release of neighbours without noise, and some users whom it was fitted to."""
    data = hr.synthetic.netflix_like(20_000, n_items, 4_000_000, seed=1)
    return hr.baseline(data, hr.CovarianceKNN()), data.slice(0, n_users)


def ours(kind: str, n_items: int, n_users: int, n: int):
    if kind == "neighbours, fitted":
        made, given = fitted(n_items, n_users)
    else:
        made, given = release(kind, n_items), people(kind, n_items, n_users)
    return lambda: sum(table.num_rows for table in hr.recommend_all(made, given, n))


def numpy(n_items: int, n_users: int, n: int):
    rng, given = np.random.default_rng(0), people("factors", n_items, n_users)
    factors = rng.standard_normal((n_items, RANK)).astype(np.float32)
    vectors = rng.standard_normal((n_users, RANK)).astype(np.float32)
    size = max((1 << 21) // n_items, 1)

    def rank():
        for start in range(0, n_users, size):
            scores = vectors[start : start + size] @ factors.T
            block = given.slice(start, start + len(scores))
            scores[block.user_index(), block.items] = -np.inf
            best = np.argpartition(-scores, n, axis=1)[:, :n]
            np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, axis=1)), axis=1)

    return rank


def implicit(n_items: int, n_users: int, n: int, threads: int, fold_in: bool):
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    rng, given = np.random.default_rng(0), people("factors", n_items, n_users)
    model = AlternatingLeastSquares(RANK, num_threads=threads)
    model.item_factors = rng.standard_normal((n_items, RANK)).astype(np.float32)
    model.user_factors = rng.standard_normal((n_users, RANK)).astype(np.float32)
    cells = np.ones(len(given.items), np.float32), given.items.copy(), given.indptr.astype(np.int32)
    matrix = csr_matrix(cells, shape=(n_users, n_items))
    return lambda: model.recommend(np.arange(n_users), matrix, N=n, recalculate_user=fold_in)


def one(work: str, n_items: int, n_users: int, n: int, threads: int) -> tuple[float, float]:
    """Users a second of the clock, and of the CPU: the best of some rounds after one that warms up."""
    os.sched_setaffinity(0, [*os.sched_getaffinity(0)][:threads])
    if work == "NumPy":
        rank = numpy(n_items, n_users, n)
    elif work.startswith("implicit"):
        rank = implicit(n_items, n_users, n, threads, "fold-in" in work)
    else:
        n_users = FEW if work.startswith("neighbours") else n_users
        rank = ours(work, n_items, n_users, n)
    found = []
    for _ in range(1 + ROUNDS):
        start, worked = perf_counter(), process_time()
        rank()
        found.append((perf_counter() - start, process_time() - worked))
    took, worked = np.min(found[1:], axis=0)
    return n_users / took, n_users / worked


def measured(work: str, n_items: int, n_users: int, n: int, threads: int) -> tuple[float, float] | None:
    """``one``, in a process of its own; None without what it needs."""
    if "implicit" in work and not find_spec("implicit"):
        return None
    env = os.environ | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, "--one", work, *map(str, (n_items, n_users, n, threads))]
    printed = subprocess.run(command, check=True, env=env, capture_output=True, text=True).stdout
    clock, cpu = map(float, printed.split()[-2:])
    return clock, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=4000)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(*one(args.one[0], *map(int, args.one[1:])))
        return
    for n, threads, n_items in CASES:
        users = min(args.users, args.users * 17_770 // n_items)
        case = n_items, users, n, threads
        told = f"n = {n}, {threads} core{'s' * (threads > 1)}"
        figures = measured("factors", *case)
        for peer in PEERS:
            if theirs := measured(peer, *case):
                beside = {"peer": peer, "theirs": theirs[1]}
                tell(f"factors, {told}, beside {peer}", n_items, figures, **beside)
        for kind in KINDS if n_items == 17_770 and threads == 1 else ():
            tell(f"{kind}, {told}", n_items, measured(kind, *case))


def tell(work: str, n_items: int, figures: tuple[float, float], **more: Any) -> None:
    """A row of the table."""
    clock, cpu = figures
    mark = "≥ 2000 users/s" if n_items == 17_770 else ""
    note = f"{clock:,.0f} a second of the clock"
    report("recommend all", work, f"{n_items:,} items", "users/s", cpu, mark=mark, note=note, **more)


if __name__ == "__main__":
    main()
