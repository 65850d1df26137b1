"""What a fit costs per rating, per user and per item, and whether that foretells fits at a tenth of a target.

    python -m lab bench scale_costs [--check]

Whole fits on generated ratings, unit user, each in a process of its own: CPU seconds, and the peak of memory
beyond the ratings beside the footprint that a plan prints. Four small fits that differ in one number give the
unit costs; ``--check`` adds three, each with a tenth of 1e9 ratings, 1e6 items or 1e8 users. A round of
``PosteriorMF`` is taken from the difference between fits of more rounds and of fewer. The rows go to
lab/speed/scale.csv, from which ``python -m lab.pages.scale`` writes lab/speed/scale.md.
"""

import argparse
import csv
import ctypes
import json
import subprocess
import sys
import time
from pathlib import Path

import hushrec as hr

RESULTS = Path(__file__).resolve().with_name("scale.csv")
COLUMNS = "purpose", "ratings", "users", "items", "work", "seconds", "planned", "memory"
SMALL = (
    (2_000_000, 20_000, 10_000),
    (8_000_000, 80_000, 10_000),
    (2_000_000, 500_000, 10_000),
    (2_000_000, 20_000, 80_000),
)
"""Ratings, users and items."""
TENTHS = (100_000_000, 500_000, 17_770), (10_000_000, 100_000, 100_000), (20_000_000, 10_000_000, 10_000)
ROUNDS = {"unit costs": (2, 6), "check": (1, 3)}
EFFECTS, ROUND = "item effects", "a round of PosteriorMF, rank 5"


def held(field: str) -> float:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def fitted(data, config):
    """CPU seconds, bytes planned, and bytes beyond the ratings."""
    budget = hr.Budget(epsilon=4, delta=1e-10, unit="user", adjacency="add-remove")
    data.domain.digest  # noqa: B018  (cached, as by whoever has made a plan)
    planned = config.footprint(data.domain, budget).bytes_held(data.n_entries, data.n_users)
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = held("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    start = time.process_time()
    hr.testing.fit(data, config, budget, entropy=hr.testing.Seeded(1))
    return time.process_time() - start, planned, held("VmHWM") - before


def one(purpose, ratings, users, items):
    """In a process of its own; compiled code is there before."""
    small = hr.synthetic.netflix_like(200, 140, 5_000, seed=0)
    fewer, more = ROUNDS[purpose]
    configs = hr.GlobalEffects(), hr.PosteriorMF(epochs=fewer), hr.PosteriorMF(epochs=more)
    for config in configs:
        fitted(small, config)
    made = hr.synthetic.netflix_like(users, items, ratings, seed=1)
    data = made.capped(made.domain.max_per_user)
    del made
    effects, short, long = (fitted(data, config) for config in configs)
    counted = {"ratings": data.n_entries, "users": users, "items": items}
    rows = [
        {"work": EFFECTS, "seconds": effects[0], "planned": effects[1], "memory": effects[2]},
        {
            "work": ROUND,
            "seconds": (long[0] - short[0]) / (more - fewer),
            "planned": long[1],
            "memory": long[2],
        },
    ]
    print(json.dumps([counted | row for row in rows]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one[0], *map(int, asked.one[1:]))
        return
    kept = []
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8", newline="") as file:
            kept = list(csv.DictReader(file))
    purpose = "check" if asked.check else "unit costs"
    kept = [row for row in kept if row["purpose"] != purpose]
    for sizes in TENTHS if asked.check else SMALL:
        command = [sys.executable, __file__, "--one", purpose, *map(str, sizes)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for row in json.loads(done.stdout):
            print(row, flush=True)
            kept.append({"purpose": purpose, **row})
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)


if __name__ == "__main__":
    main()
