"""Predicting from a release at rank 20: one user's list by the client, and many users' lists beside implicit.

    python benchmarks/prediction.py

Made-up releases of three catalogues. The user rated 200 items; the client solves for their vector and ranks
the whole catalogue for ten items. In batch, implicit solves for the vectors too. One thread.
"""

import os

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

from argparse import Namespace  # NumPy, below, reads how many threads to use
from importlib.util import find_spec
from statistics import median
from time import perf_counter, process_time

from rows import report
from top_n_speed import implicit, release, users

import hushrec as hr
from hushrec.release.top_n import top_n

CATALOGUES, RANK = (4_000, 17_770, 80_000), 20


def seconds(work, repeats):
    """Medians by the clock and of the CPU, after one run that is not counted."""
    taken = []
    for _ in range(repeats + 1):
        start, worked = perf_counter(), process_time()
        work()
        taken.append((perf_counter() - start, process_time() - worked))
    walls, processors = zip(*taken[1:], strict=True)
    return median(walls), median(processors)


def one_user(items):
    args = Namespace(items=items, given=200, users=1, n=10, threads=1)
    made, rows = release(args, "factors", RANK), users(args, 1)
    client = hr.Client(made)
    own = {made.items[item]: value for item, value in zip(rows.items, rows.values, strict=True)}
    ten = made.items[:10]
    taken, worked = seconds(lambda: client.recommend(own, 10), 30)
    size, note, mark = f"{items:,} items", f"{worked * 1e3:.2f} CPU ms", "≤ 5 ms" if items == 17_770 else ""
    report(
        "prediction",
        "one user: fold-in, ten best",
        size,
        "ms",
        1e3 * taken,
        amount=items,
        mark=mark,
        note=note,
    )
    taken, _ = seconds(lambda: client.predict(own, ten), 30)
    report("prediction", "one user: fold-in, ten ratings", size, "ms", 1e3 * taken, amount=items)


def batch(count=2000):
    args = Namespace(items=17_770, given=200, users=count, n=10, threads=1)
    made, rows = release(args, "factors", RANK), users(args, count)
    beside = {}
    ours, worked = seconds(lambda: list(top_n(made, rows, args.n)), 3)
    if find_spec("implicit"):
        theirs, _ = implicit(args, "implicit, fold-in", RANK)
        beside = {"peer": "implicit's recommend with fold-in", "theirs": count / seconds(theirs, 3)[0]}
    note = f"{count / worked:,.0f} per CPU second"
    work, size = "many users: fold-in, ten best", f"{count:,} users × {args.items:,} items"
    report("prediction", work, size, "users/s", count / ours, **beside, mark="≥ 2,000 users/s", note=note)


if __name__ == "__main__":
    for items in CATALOGUES:
        one_user(items)
    batch()
