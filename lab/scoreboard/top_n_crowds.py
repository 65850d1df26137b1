"""What privacy costs a crowd, by its size, and what a fit of PrivateEASE takes.

    python -m lab bench top_n_crowds crowds [--users 6000 60000 300000]
    python -m lab bench top_n_crowds copies [--data FILE] [--items FILE] [--times 1 4 12 22]
    python -m lab bench top_n_crowds cost

``crowds`` are generated people, whose tastes have low rank, which flatters such a model. ``copies`` are
real people, each several times: a crowd c times as large has the same matrix of pairs, with c times less
noise. ``--items`` names a public list, whose titles and features are then used. Losses are those of nDCG@100
at ε = 1 per user (δ = 1e-7) against the same model without noise, for 500 people who were held out. ``cost``
gives seconds, memory, the size of the file and milliseconds per list.
"""

import argparse
import ctypes
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from scipy.sparse import csr_matrix, vstack
from top_n import protocol
from top_n.protocol import People, likes, measured, people
from top_n_models import DATA, Texts, interactions, scores, texts

import hushrec as hr
from hushrec.data import synthetic
from hushrec.testing import Seeded

ITEMS, EACH = 2_000, 60
SIZES = {
    "1 M": (10_000, 3_700, 1_000_000),
    "10 M": (70_000, 10_000, 10_000_000),
    "20,000 items": (70_000, 20_000, 10_000_000),
}
BUDGET = hr.Budget(epsilon=1.0, delta=1e-7, unit="user", adjacency="add-remove")


def generated(users: int) -> csr_matrix:
    made = synthetic.interactions(users + 2 * protocol.HELD_OUT, ITEMS, EACH * users, seed=users)
    ones = np.ones(len(made.items), np.float32)
    return csr_matrix((ones, made.items, made.indptr), (made.n_users, ITEMS))


def quality(split: People, copies: int, label: str, public: Texts | None = None) -> None:
    """One line: nDCG@100 without noise and at ε = 1, and that of popularity at ε = 1."""
    known = interactions(vstack([split.train] * copies).tocsr(), public or {})
    line = []
    for model, budget in ((hr.PrivateEASE(), None), (hr.PrivateEASE(), BUDGET), (hr.Popularity(), BUDGET)):
        if budget is None:
            release = hr.baseline(known, model)
        else:
            release = hr.testing.fit(known, model, budget, entropy=Seeded(1))
        line.append(measured(scores(release, split.test.given), split.test)["nDCG@100"].mean())
    best, private, popular = line
    print(
        f"{label:>10} {known.n_users:9,} people  without noise {best:.4f}  ε = 1 {private:.4f} "
        f"({private / best - 1:+.1%})  popularity {popular:.4f}",
        flush=True,
    )


def resident(field: str) -> float:
    """GB that this process holds (VmRSS) or has held at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e9


def cost(size: str) -> None:
    """Fit once, alone in this process, and recommend on the device."""
    users, items, count = SIZES[size]
    hr.testing.fit(synthetic.interactions(300, 60, 3000, seed=0), hr.PrivateEASE(), BUDGET, entropy=Seeded(0))
    made = synthetic.interactions(users, items, count, seed=0)
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before, start = resident("VmRSS"), perf_counter()
    release = hr.testing.fit(made, hr.PrivateEASE(), BUDGET, entropy=Seeded(0))
    took, peak = perf_counter() - start, resident("VmHWM") - before
    plan = hr.plan(made.domain, hr.PrivateEASE(), BUDGET)
    client = hr.Client(hr.Release.from_bytes(release.to_bytes()))
    own, times = list(release.items[:100]), []
    for _ in range(20):
        start = perf_counter()
        client.recommend(own, 20)
        times.append(perf_counter() - start)
    rank = release.tensors["item_factors"].shape[1] if release.kind == "linear items" else 0
    print(
        f"{size:>13}  {users:,} people  {items:,} items  {len(made.items):,} interactions  fit {took:.1f} s  "
        f"added {peak:.2f} GB  file {len(release.to_bytes()) / 1e6:.1f} MB  rank {rank}  "
        f"list {1000 * median(times):.1f} ms\n{plan.needs}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["crowds", "copies", "cost"], nargs="?", default="cost")
    parser.add_argument("--users", type=int, nargs="+", default=[6_000, 60_000, 300_000])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--items", type=Path, help="public list of the items, such as movies.dat")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 4, 12, 22])
    parser.add_argument("--size", choices=SIZES)
    options = parser.parse_args()
    if options.what == "crowds":
        for users in options.users:
            quality(people(generated(users), 0), 1, "generated")
    elif options.what == "copies":
        if not options.data.exists():
            raise SystemExit(f"there is no file {options.data}; name ratings as Parquet: --data")
        split = people(likes(options.data, 4.0), 0)
        for times in options.times:
            quality(split, times, f"× {times}", texts(options.data, options.items))
    elif options.size:
        cost(options.size)
    else:
        for size in SIZES:  # each in a process of its own, for its peak
            subprocess.run([sys.executable, __file__, "cost", "--size", size], check=True)


if __name__ == "__main__":
    main()
