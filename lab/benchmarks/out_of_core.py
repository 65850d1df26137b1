"""Gradient descent over ratings in blocks, beside the same in memory: seconds a pass, and the peak of memory.

python -m lab bench out_of_core make FOLDER 10_000_000     generate and pack
python -m lab bench out_of_core blocks FOLDER 64 5         rank 64, 5 passes over the packed ratings
python -m lab bench out_of_core memory FOLDER 64 5         the same over ratings in memory
"""

import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.data.synthetic import netflix_like
from hushrec.solvers.descent import gradient_descent, scheduled, survey


def resident(which: str) -> int:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(which)]
    return int(line.split()[1]) >> 10


def make(folder: Path, n_ratings: int) -> None:
    ratings = netflix_like(max(n_ratings // 209, 1), 17_770, n_ratings, 1)
    folder.mkdir(exist_ok=True)
    ratings.domain.save(folder / "domain.json")
    Blocks.write(ratings, folder / "packed", ratings_per_block=1 << 20)


def whole(blocks: Blocks) -> Ratings:
    parts = list(blocks.blocks())
    counts = np.concatenate([part.counts for part in parts])
    return Ratings(
        blocks.domain,
        pl.concat([part.users for part in parts]),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.steps for part in parts]),
    )


def run(how: str, folder: Path, rank: int, passes: int) -> None:
    ratings: Blocks | Ratings = Blocks.open(folder / "packed", Domain.open(folder / "domain.json"))
    if how == "memory":
        ratings = whole(ratings)
    start = time.perf_counter()
    _, source = survey(ratings, 1.0)
    surveyed = time.perf_counter() - start
    one = {"regs": [0.05], "effects": True}
    gradient_descent(source, rank, rates=[0.02], **one)  # compiles, too
    start, busy = time.perf_counter(), time.process_time()
    gradient_descent(source, rank, rates=scheduled(0.02, 0.93, passes), **{**one, "regs": [0.05] * passes})
    each = (time.perf_counter() - start) / passes
    cpu = (time.process_time() - busy) / passes
    n = int(source.person_counts.sum())
    print(
        f"{how}: {n:,} ratings, rank {rank}: {each:.2f} s a pass ({cpu:.2f} s of processors), "
        f"{n / each / 1e6:.1f} M/s; survey {surveyed:.2f} s; peak {resident('VmHWM'):,} MB of memory"
    )


if __name__ == "__main__":
    if len(sys.argv) < 4:
        print(__doc__)
    elif sys.argv[1] == "make":
        make(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
