"""Writes the tables of lab/speed/scale.md from the fits in lab/speed/scale.csv.

``python -m lab bench scale_costs``, and once more with ``--check``, measures the fits.
"""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy.optimize import nnls

import hushrec as hr
from hushrec.kernels.csr import packed_size

LAB = Path(__file__).resolve().parents[1]
PAGE, ROWS = LAB / "speed/scale.md", LAB / "speed/scale.csv"
_TABLE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
UNITS = ("a fit", 1.0), ("a million ratings", 1e6), ("a million users", 1e6), ("a thousand items", 1e3)
"""In what seconds are counted: once, and by ratings, users and items."""
EFFECTS, ROUND = "item effects", "a round of PosteriorMF, rank 5"
RANK, ROUNDS = 5, 32
BLOCK, MOST = 1 << 17, 1 << 12
"""Records of a block on Spark, about, and the most blocks: as ``hushrec.load`` cuts people."""
"""Ratings of a block at most."""


@dataclass(frozen=True)
class Target:
    """A size, and the cluster that it is for."""

    ratings: float = 1e9
    users: float = 1e8
    items: int = 10**6
    tasks: int = 128
    """As many as cores."""


def rows(purpose):
    """The measured fits: the small ones, or those at a tenth."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["purpose"] == purpose]


def sizes(row):
    """Once, ratings, users and items, in the units of the costs."""
    return np.array([1.0, *(float(row[name]) for name in ("ratings", "users", "items"))]) / [
        u for _, u in UNITS
    ]


def unit_costs(measured):
    """CPU seconds by unit, none negative, that fit the measured seconds best in relative error; by work."""
    found = {}
    for work in dict.fromkeys(row["work"] for row in measured):
        own = [row for row in measured if row["work"] == work]
        seconds = np.array([float(row["seconds"]) for row in own])
        found[work] = nnls(np.array([sizes(row) for row in own]) / seconds[:, None], np.ones(len(own)))[0]
    return found


def predicted(costs, work, size):
    """CPU seconds of a work at a size."""
    return float(costs[work] @ sizes(size))


def shown(number):
    """Two digits."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def in_bytes(number):
    power = min(int(np.log10(number) / 3), 4)
    return f"{shown(number / 1000**power)} {('bytes', 'kB', 'MB', 'GB', 'TB')[power]}"


def table(head, body):
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def costs_table(costs):
    head = ["CPU seconds", *(unit for unit, _ in UNITS)]
    return table(head, [[work, *(f"{cost:.3f}" for cost in each)] for work, each in costs.items()])


def checks_table(costs):
    """Foretold and measured at a tenth of one number at a time."""
    body = []
    for row in rows("check"):
        foretold, seconds = predicted(costs, row["work"], row), float(row["seconds"])
        planned, memory = (in_bytes(float(row[name])) for name in ("planned", "memory"))
        counts = [f"{int(row[name]):,}" for name in ("ratings", "users", "items")]
        ratio = f"{seconds / foretold:.2f}"
        body.append([row["work"], *counts, f"{foretold:.1f}", f"{seconds:.1f}", ratio, planned, memory])
    names = "ratings", "users", "items", "foretold, s", "measured, s", "ratio", "planned", "held at most"
    return table(["", *names], body)


def footprint(items):
    """Bytes that the driver holds for a fit of ``PosteriorMF``, by the model's own estimate."""
    domain = SimpleNamespace(n_items=items, users=None)
    budget = hr.Budget(epsilon=4, delta=1e-10, unit="user", adjacency="add-remove")
    return hr.PosteriorMF(rank=RANK, epochs=ROUNDS).footprint(domain, budget)


def target_rows(costs, target):
    """What a fit of PosteriorMF takes at the target: name, how it is computed, number."""
    size = {"ratings": target.ratings, "users": target.users, "items": target.items}
    effects, one = (predicted(costs, work, size) for work in (EFFECTS, ROUND))
    sums, estimate = 8 * target.items * RANK, footprint(target.items)
    ids = 20 * target.users
    packed = 5 * target.ratings + ids
    blocks = min(target.ratings // BLOCK + 1, MOST)
    each = target.ratings / blocks * (5 + estimate.each_rating) + 2 * sums
    return [
        ("ratings in the cluster", "5 bytes a rating, 20 a user", in_bytes(packed)),
        ("blocks", f"about {BLOCK:,} records each, {MOST:,} at most", shown(blocks)),
        ("CPU time of the item effects", "above", f"{shown(effects)} s"),
        ("CPU time of the rounds", f"above, {ROUNDS} rounds", f"{ROUNDS * one / 3600:.1f} h"),
        (
            "the same on each core",
            f"{target.tasks} cores, Spark's own work aside",
            f"{ROUNDS * one / target.tasks:,.0f} s",
        ),
        ("broadcast a round, to each executor", "8 bytes × items × rank", in_bytes(sums)),
        (
            "sums sent a round",
            f"the same × {target.tasks} tasks",
            in_bytes(sums * target.tasks),
        ),
        ("the same in a whole fit", f"{ROUNDS} rounds", in_bytes(sums * target.tasks * ROUNDS)),
        (
            "the same with a task a block",
            f"{shown(blocks)} tasks",
            in_bytes(sums * blocks * ROUNDS),
        ),
        ("memory of an executor, a core", "a block, its residuals, two sums", in_bytes(each)),
        ("memory of the driver", "the plan's", in_bytes(estimate.memory)),
        ("release, rank 5", "4 bytes × items × (rank + 3)", in_bytes(4 * target.items * (RANK + 3))),
        ("release, rank 20", "the same", in_bytes(4 * target.items * 23)),
    ]


def triangles_table():
    """What a covariance of the n most popular items takes, by n."""
    body = []
    for n in (10_000, 17_770, 20_000, 1_000_000):
        cells = packed_size(n)
        sent = in_bytes(16 * cells * Target().tasks)
        body.append([f"{n:,}", f"{cells:.1e}", in_bytes(16 * cells), sent, f"{2 * cells / 2e8:,.0f} s"])
    head = [
        "items",
        "cells of a triangle",
        "two sums of int64",
        f"sent by {Target().tasks} tasks",
        "noise",
    ]
    return table(head, body)


def written(text):
    """The page's text with its tables as the rows make them."""
    costs = unit_costs(rows("unit costs"))
    target = table(["", "computed as", ""], target_rows(costs, Target()))
    made = {"unit costs": costs_table(costs), "checks": checks_table(costs), "target": target}
    made["triangles"] = triangles_table()
    return _TABLE.sub(lambda found: found[1] + made[found[2]] + found[3], text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
