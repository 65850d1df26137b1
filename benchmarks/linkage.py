"""The linkage attack of Narayanan & Shmatikov 2008 on releases of MovieLens 1M.

    python benchmarks/linkage.py ../shared/data/ml-1m.parquet results/linkage.jsonl

Of 1,000 people the attacker knows 8 ratings each, 2 of them of items that the person never rated, and looks
for the person's row. All noise is seeded, and the shares are measured on real ratings: nothing of this is
private.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl

import hushrec as hr
from hushrec.audit.rehearsal import rehearse
from hushrec.local.groups import quantile_threshold

RESPONSES = {"corrected": (50, 500, 1000, 2000, 3000, 5000, 7000), "published": (50, 2000)}
KEPT = 0.97, 0.95, 0.9, 0.8, 0.5, 0.2


def loaded(path):
    """All of it, under a domain that names its items."""
    table = pl.read_parquet(path).select(
        pl.col("user", "item").cast(pl.String), pl.col("rating").cast(pl.Float64)
    )
    return hr.load(table, hr.Domain(sorted(table["item"].unique()), scale=(1, 5, 1), max_users=10_000))


def releases(ratings):
    """Name of each release, its method and budget, and ε of a person."""
    yield "raw", None, None, "∞"
    at = quantile_threshold(ratings, "squared", 0.1)
    for p in KEPT:
        method = hr.DistanceBased(keep_probability=p, group_probability=p, threshold=at, groups="ratings")
        each = method.plan(ratings.domain).events[0].per_slot
        yield (
            f"distance-based, p = p* = {p:g}",
            method,
            None,
            f"{each * np.median(ratings.counts):,.0f} (items only)",
        )
    for analysis, epsilons in RESPONSES.items():
        for epsilon in epsilons:
            method = hr.RandomizedResponse(analysis=analysis)
            budget = hr.Budget(epsilon=float(epsilon), delta=0.0, unit="user", adjacency="replace")
            true = method.plan(ratings.domain, budget).epsilon
            yield f"randomised response, {analysis}, ε = {epsilon:,}", method, budget, f"{true:,.0f}"


def main():
    """Attack every release."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ratings", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    ratings = loaded(asked.ratings)
    with asked.out.open("w") as file:
        for name, method, budget, epsilon in releases(ratings):
            found = rehearse(ratings, method, budget)
            print(f"{name}, true ε {epsilon}\n{found}\n", flush=True)
            for attack in found.attacks:
                line = {"release": name, "epsilon": epsilon, "attacker": attack.name}
                shares = {key: 1000 * getattr(attack, key) for key in ("first", "named", "misnamed")}
                file.write(json.dumps({**line, **shares}) + "\n")


if __name__ == "__main__":
    main()
