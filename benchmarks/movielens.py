"""Accuracy on MovieLens 1M: every model against ε, unit and analysis, over several 90/10 splits.

    python benchmarks/movielens.py --out docs/results/movielens-1m.csv

A row is appended as soon as its run is done, and runs that the file already holds are skipped. The ratings
are read from ``--ratings``, by default ml-1m.parquet in $HUSHREC_DATA or ../shared/data. Noise is seeded, so
nothing that is printed here is private, and the held-out RMSE is not private either.
"""

import argparse
import csv
import itertools
import math
import os
import time
from pathlib import Path

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.models.phases.covariance import CovarianceSettings

RATING = [0.2, 0.5, 1, 2, 4, 8, 20, math.inf]
USER = [0.5, 1, 4, 8]
COLUMNS = [
    "model",
    "cleaning",
    "unit",
    "adjacency",
    "analysis",
    "noise",
    "epsilon",
    "split",
    "rmse",
    "mae",
    "true_epsilon",
    "fit_seconds",
]


def settings(model, cleaning, analysis, noise):
    if model == "GlobalEffects":
        return hr.GlobalEffects(analysis=analysis, noise=noise)
    chosen = {"analysis": analysis, "noise": noise}
    if cleaning:
        chosen["covariance"] = CovarianceSettings(cleaning=cleaning)
    return getattr(hr, model)(**chosen)


def grid():
    """(model, cleaning, unit, adjacency, analysis, noise, ε), the most wanted first."""
    usual = ("rating", "add-remove")
    for model in ("CovarianceSVD", "GlobalEffects"):
        yield from ((model, "", *usual, "corrected", "gaussian", e) for e in RATING)
        yield from ((model, "", "user", "add-remove", "corrected", "gaussian", e) for e in USER)
    for model in ("CovarianceSVD", "GlobalEffects"):
        yield from ((model, "", *usual, "published", "gaussian", e) for e in RATING)
        yield from ((model, "", "rating", "replace", "corrected", "gaussian", e) for e in (0.5, 1, 4, 8))
    yield from (("CovarianceKNN", "", *usual, "corrected", "gaussian", e) for e in RATING)
    yield from (("CovarianceKNN", "", *usual, "published", "gaussian", e) for e in (1, 4, 20, math.inf))
    for cleaning in ("shrink", "none"):
        yield from (
            ("CovarianceSVD", cleaning, *usual, "corrected", "gaussian", e) for e in (1, 4, 20, math.inf)
        )
    yield from (("CovarianceKNN", "none", *usual, "corrected", "gaussian", e) for e in (4, 20))
    yield from (("CovarianceSVD", "", *usual, "corrected", "laplace", e) for e in (1, 4, 20))
    yield from (("CovarianceSVD", "", "user", "add-remove", "published", "gaussian", e) for e in (1, 8))


def run(case, split, train, test):
    model, cleaning, unit, adjacency, analysis, noise, epsilon = case
    budget, entropy = None, None
    if math.isfinite(epsilon):
        budget = hr.Budget(epsilon=float(epsilon), delta=1e-6, unit=unit, adjacency=adjacency)
        entropy = hr.testing.Seeded(split)
    start = time.perf_counter()
    release = hr.fit(train, settings(model, cleaning, analysis, noise), budget, entropy=entropy)
    seconds = time.perf_counter() - start
    found = hr.evaluate(release, train=train, test=test)
    return [
        *case,
        split,
        f"{found['rmse']:.5f}",
        f"{found['mae']:.5f}",
        f"{release.statement.epsilon:.6g}",
        f"{seconds:.2f}",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    beside = Path(os.environ.get("HUSHREC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--ratings", type=Path, default=beside / "ml-1m.parquet")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "movielens-1m.csv")
    parser.add_argument("--splits", type=int, default=5)
    arguments = parser.parse_args()
    if not arguments.ratings.exists():
        print(f"skipped: {arguments.ratings} is not here")
        return
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    # Public: MovieLens 1M numbers its films from 1 to 3,952. Nobody is capped: weights bound each person.
    domain = hr.Domain(items=range(1, 3953), scale=(1, 5, 1), cap=3952, max_users=10_000)
    ratings = hr.load(arguments.ratings, domain)
    splits = [holdout(ratings, 0.1, seed=seed) for seed in range(arguments.splits)]
    done = set()
    if arguments.out.exists():
        with arguments.out.open() as file:
            done = {tuple(row[:8]) for row in csv.reader(file)}
    with arguments.out.open("a", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        if not done:
            table.writerow(COLUMNS)
        for case, split in itertools.product(grid(), range(arguments.splits)):
            if tuple(map(str, [*case, split])) in done:
                continue
            row = run(case, split, *splits[split])
            table.writerow(row)
            file.flush()
            print(*row, flush=True)


if __name__ == "__main__":
    main()
