"""How often a pass of gradient descent misses the caches, in two orders of the ratings.

    python -m lab bench cache [--ranks 16 256 2048] [--ratings 200000]

After Liu, Wang & Smola 2015, Table 1. The counts are those of valgrind's cachegrind, which models two levels
only: D1 of 48 KiB, 12 ways, and LL of 2 MiB, 16 ways, which stands for a core's second level here. It knows
of no prefetching: these are the misses that prefetching has to hide.

Both orders, on the same generated ratings of 17,770 items, by the compiled ``dot`` and ``step`` of hushrec
on rows of users and items that start at a cache line:

- random: rating by rating, as they come to a program that keeps no users together;
- users: all of a user's ratings together, as hushrec does.

Valgrind knows no AVX-512. The loops are compiled for x86-64-v3, eight numbers a vector, so that reading a
line of a cache is two references. Python, numba and the making of arrays are counted too: a pass is the
difference between a run of two passes and a run of one, both of code that was compiled before. One thread.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np

from hushrec.models.factorization.kernels.simd import TILE
from hushrec.models.factorization.kernels.visits import dot, padded, padded_width, step

ITEMS, EACH = 17_770, 209  # as Netflix's: items, and ratings of a person
D1, LL = (48 << 10, 12, 64), (2 << 20, 16, 64)
EVENTS = ("Dr", "Dw"), ("D1mr", "D1mw"), ("DLmr", "DLmw")
ORDERS = "random", "users"
REG, RATE = np.float32(0.02), np.float32(0.005)


def prepare(folder, ratings):
    """Write the ratings in either order; how many users and ratings there are."""
    from hushrec.data.synthetic import netflix_like  # under valgrind it would take its time

    made = netflix_like(ratings // EACH, ITEMS, ratings, seed=0)
    owners = np.repeat(np.arange(ratings // EACH), np.diff(made.indptr))
    values = made.values - np.float32(made.values.mean())
    for order in ORDERS:
        shuffled = order == "random"
        taken = np.random.default_rng(0).permutation(ratings) if shuffled else np.arange(ratings)
        users = owners[taken]
        starts = np.r_[0, np.flatnonzero(np.diff(users)) + 1, ratings]
        runs = {"users": users[starts[:-1]].astype(np.int32), "starts": starts, "items": made.items[taken]}
        np.savez(folder / order, values=values[taken].astype(np.float32), **runs)
    return int(owners[-1]) + 1


@numba.njit(cache=True)
def visit(users, starts, items, values, p, q, width, lanes, b_u, b_i):
    keep = np.float32(1) - RATE * REG
    for run in range(len(users)):
        user = np.uint64(users[run])
        for at in range(np.uint64(starts[run]), np.uint64(starts[run + 1])):
            item = np.uint64(items[at])
            row = np.int64(item) * width
            error = values[at] - dot(p[user], q, row, width, lanes) - b_u[user] - b_i[item]
            step(p[user], q, row, width, lanes, keep, keep, RATE * error)
            b_u[user] = keep * b_u[user] + RATE * error
            b_i[item] = keep * b_i[item] + RATE * error


def passes(folder, order, rank, count):
    """What is run under valgrind."""
    with np.load(folder / f"{order}.npz") as file:
        rows = [file[name] for name in ("users", "starts", "items", "values")]
    n_users, width = int(rows[0].max()) + 1, padded_width(rank)
    p, q = padded(n_users, width), padded(ITEMS, width)
    p[:, :rank], q[:, :rank] = 0.1 / rank**0.5, 0.1 / rank**0.5
    b_u, b_i = np.zeros(n_users, np.float32), np.zeros(ITEMS, np.float32)
    lanes = (0,) * min(4, width // TILE)
    for _ in range(count):
        visit(*rows, p, q.reshape(-1), width, lanes, b_u, b_i)


def counts(folder, order, rank):
    """References, misses of D1 and misses of LL of a pass."""
    environment = os.environ | {
        "NUMBA_CPU_NAME": "x86-64-v3",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(folder / "compiled"),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }

    def run(count, *before):
        child = [sys.executable, __file__, "--child", str(folder), order, str(rank), str(count)]
        subprocess.run([*before, *child], env=environment, check=True, capture_output=True)

    run(1)
    found = []
    for count in (1, 2):
        out = folder / f"{order}-{rank}-{count}.out"
        sizes = (f"--{name}={','.join(map(str, size))}" for name, size in (("D1", D1), ("LL", LL)))
        run(count, "valgrind", "--tool=cachegrind", f"--cachegrind-out-file={out}", *sizes)
        text = dict(line.split(": ", 1) for line in out.read_text().splitlines() if ": " in line)
        total = dict(zip(text["events"].split(), map(int, text["summary"].split()), strict=True))
        found.append([total[read] + total[written] for read, written in EVENTS])
    return np.diff(found, axis=0)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=(16, 256, 2048))
    parser.add_argument("--ratings", type=int, default=200_000)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        folder, order, rank, count = asked.child
        passes(Path(folder), order, int(rank), int(count))
        return
    if shutil.which("valgrind") is None:
        print("Left out: valgrind is not installed.")
        return
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        people = prepare(folder, asked.ratings)
        print(f"{asked.ratings} ratings of {people} people for {ITEMS} items")
        print("rank  order    D1 misses  LL misses   lines a rating: D1     LL", flush=True)
        cases = [(rank, order) for rank in asked.ranks for order in ORDERS]
        found = pool.map(lambda case: counts(folder, case[1], case[0]), cases)
        for (rank, order), (every, first, last) in zip(cases, found, strict=True):
            line = f"{rank:4}  {order:8} {first / every:9.2%} {last / every:10.2%}"
            print(f"{line} {first / asked.ratings:19.2f} {last / asked.ratings:6.2f}", flush=True)


if __name__ == "__main__":
    main()
