"""Randomized response on generated ratings of a million people × 17,770 items, where 1 % of cells flip.

    python -m lab bench randomized_response [--users 1000000] [--each 100] [--flipped 0.01] [--folder DIR]

Prints seconds, the largest resident size and sizes of files, at three numbers of users, and the exponent with
which seconds grow. Noise is seeded: nothing here is private, and nobody's ratings are in it.
"""

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import hushrec as hr
from hushrec.testing import Seeded

ITEMS = 17_770


def one(users, each, flipped, folder):
    """One release, in a process of its own."""
    small = hr.synthetic.netflix_like(100, 100, 1000, seed=0)
    cell = math.log(5 * (1 - flipped) / flipped)
    method = hr.RandomizedResponse()
    hr.testing.randomize(small, method, of(cell * 100), entropy=Seeded(0)).to_bytes()  # compiles
    ratings = hr.synthetic.netflix_like(users, ITEMS, users * each, seed=1)
    before = peak()
    start = time.perf_counter()
    budget = of(cell * min(ITEMS, 2 * ratings.domain.max_per_user))
    data = hr.testing.randomize(ratings, method, budget, entropy=Seeded(1))
    released, after = time.perf_counter(), peak()
    path = Path(folder) / "released.parquet"
    data.save(path)
    saved = time.perf_counter()
    found = data.estimates()
    counted = time.perf_counter()
    kept = ratings.capped(ratings.domain.max_per_user)
    truth = np.bincount(kept.items, minlength=ITEMS)
    off = (found["count"].to_numpy() - truth) / found["count_error"].to_numpy()
    cells, size = data.ratings.n_entries, path.stat().st_size
    print(
        f"{users:>9,} people  {kept.n_entries / 1e6:6.1f} M ratings  {cells / 1e6:6.1f} M cells out  "
        f"ε of a cell {data.statement.epsilon_per_cell:.3f}, of a person {data.statement.epsilon:,.0f}\n"
        f"          release {released - start:6.1f} s   save {saved - released:6.1f} s   "
        f"estimates {counted - saved:5.1f} s\n"
        f"          resident {before:.2f} GB before, {after:.2f} GB at most in the release, {peak():.2f} GB "
        f"at the end\n"
        f"          file {size / 1e6:,.0f} MB, {size / cells:.2f} bytes a cell; root mean square error of "
        f"counts {math.sqrt((off**2).mean()):.3f} standard errors",
        flush=True,
    )
    print(f"seconds {released - start}", file=sys.stderr)


def of(epsilon):
    """A budget for whole people."""
    return hr.Budget(epsilon=epsilon, delta=0.0, unit="user", adjacency="replace")


def peak():
    """Largest resident size so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main():
    """Three sizes, and the exponent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--flipped", type=float, default=0.01)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.users, asked.each, asked.flipped, asked.folder)
        return
    points = []
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for users in (asked.users // 100, asked.users // 10, asked.users):
            sizes = ["--users", users, "--each", asked.each, "--flipped", asked.flipped, "--folder", folder]
            command = [sys.executable, __file__, "--one", *map(str, sizes)]
            ran = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
            points.append((users, float(ran.stderr.split("seconds ")[1])))
    (small, fast), (large, slow) = points[-2:]
    print(f"seconds grow as people^{math.log(slow / fast) / math.log(large / small):.2f}")


if __name__ == "__main__":
    main()
