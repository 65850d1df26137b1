"""What the default takes where noise hides nearly everything: 10,000 items and 100,000 ratings.

    python -m lab bench sparse_catalogue

Whole fits on generated ratings, each in a process of its own: error, processor seconds, and the peak of
memory beyond the ratings, of the recommended model, of effects alone, and of the models of factors. The rows
go to lab/scoreboard/sparse.csv, which the page of every set shows.
"""

import argparse
import ctypes
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import polars as pl
from choice import budget, crowd

import hushrec as hr

RESULTS = Path(__file__).resolve().parents[1] / "scoreboard/sparse.csv"
USERS, ITEMS, RATINGS = 5_000, 10_000, 100_000
MODELS = "recommended", "GlobalEffects", "CovarianceSVD", "PosteriorMF"
SCHEMA = ["unit", "epsilon", "model", "chosen", "rmse", "seconds", "memory_gb"]


def held(field: str) -> float:
    """A line of /proc/self/status, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e9


def one(unit: str, epsilon: float, name: str) -> None:
    """Fit once, after a small fit that compiles what it needs."""
    terms, (train, test) = budget(unit, epsilon, USERS), crowd(USERS, ITEMS, RATINGS)
    config = hr.suggest_model(train.domain, terms) if name == "recommended" else getattr(hr, name)()
    hr.testing.fit(crowd(300, 60, 3_000)[0], config, terms, entropy=hr.testing.Seeded(0))
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before, start = held("VmRSS"), time.process_time()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    release = hr.testing.fit(train, config, terms, entropy=hr.testing.Seeded(0))
    seconds, memory = time.process_time() - start, held("VmHWM") - before
    rmse = hr.evaluate(release, train=train, test=test, metrics=["rmse"])["rmse"]
    print(unit, epsilon, name, type(config).__name__, f"{rmse:.5f} {seconds:.2f} {memory:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one[0], float(asked.one[1]), asked.one[2])
        return
    rows = []
    for unit, epsilon, name in product(("record", "user"), (0.5, 4.0), MODELS):
        if (name == "PosteriorMF") <= (unit == "user"):
            command = [sys.executable, __file__, "--one", unit, str(epsilon), name]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            rows.append(done.stdout.split())
            print(*rows[-1], flush=True)
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_csv(asked.out)


if __name__ == "__main__":
    main()
