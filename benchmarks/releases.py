"""Recommendations from released data: Du, Leighton & Patel 2019 on real ratings, and what they left.

    python benchmarks/releases.py ../shared/data results/releases.jsonl --workers 2

The folder holds ml-1m.parquet, filmtrust.parquet and anime-5k-users.parquet, with columns user, item and
rating. Of each the 1,000 most rated items are taken, and of these the 1,000 users with most ratings (§IV.A).
One rating of every user is hidden; the rest is released; and each hidden rating is predicted by the person's
device from the release and his own ratings. The loss is the sum of squared errors over the users (§IV.B).

Runs are kept as lines of JSON, one a recommender; what is there is not run again. All noise is seeded, and
losses are measured on real ratings: nothing of this is private. A run is one release of one data set.
"""

import argparse
import hashlib
import itertools
import json
import math
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

import hushrec as hr
from hushrec.curator.release_data import reported
from hushrec.data.synthetic import netflix_like
from hushrec.evaluation.protocol import predictions
from hushrec.kernels.neighbours.knn import item_knn, user_knn
from hushrec.local.groups import quantile_threshold
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.testing import Seeded

SIDE = 1000
FILES = {
    "MovieLens 1M": ("ml-1m.parquet", (1, 5, 1)),
    "FilmTrust": ("filmtrust.parquet", (0.5, 4, 0.5)),
    "Anime": ("anime-5k-users.parquet", (1, 10, 1)),
}
FULL = "generated, nearly full"
KS = np.array([1, 3, 5, 10, 20, 30, 50, 100, 200, 1000])
DISTANCES = "squared", "cosine", "pearson"
SHARE = 0.1
"""Of all pairs of items that are within λ of each other, unless said otherwise."""
PAPER = 0.8, 0.9, 0.95, 0.97
RESPONSES = {
    "corrected": (50, 500, 1000, 2000, 3000, 5000, 7000, 10000),
    "published": (50, 500, 2000, 5000, 8000),
}
CAP, CAPPED = 50, (50, 100, 200, 300, 500, 1000)
"""A release of at most so many ratings of each user, whose rows differ in at most twice as many cells."""
CENTRAL = 0.5, 1, 2, 4, 8, 20
FEW = 5
"""Seeds of all but the paper's own table."""
REPLACE = {"unit": "user", "adjacency": "replace", "delta": 0.0}
AWAY = {"unit": "user", "adjacency": "add-remove", "delta": 1e-6}


def runs(seeds):
    """Every release of every data set, by its settings."""
    for seed, name in itertools.product(range(seeds), [*FILES, FULL]):
        about = {"data": name, "seed": seed}
        yield {**about, "release": "raw"}
        for p in PAPER:
            yield {**about, **alter_ego(p, p)}
        if name == FULL:
            continue
        if seed >= FEW:
            continue
        for analysis, epsilons in RESPONSES.items():
            for epsilon in epsilons:
                yield {**about, "release": "randomized response", "analysis": analysis, "epsilon": epsilon}
        for epsilon in CAPPED:
            yield {
                **{**about, "release": "randomized response", "analysis": "corrected"},
                **{"epsilon": epsilon, "cap": CAP},
            }
        for epsilon in CENTRAL:
            yield {**about, "release": "central", "epsilon": epsilon}
        for keep, group in itertools.product(PAPER, (0.0, 0.5, 0.9)):
            if keep != group:
                yield {**about, **alter_ego(keep, group)}
        for slot, group in itertools.product((9.0, 10.0, 11.4, 13.9), (0.0, 0.5, 0.9)):
            yield {**about, **alter_ego(kept_at(slot, group), group), "slot": slot}
        for p in (0.8, 0.9):
            for share in (0.01, 0.5):
                yield {**about, **alter_ego(p, p), "share": share}
            for distance in ("cosine", "pearson", "d2p"):
                yield {**about, **alter_ego(p, p), "distance": distance}
            yield {**about, **alter_ego(p, p), "groups": "charged"}


def alter_ego(keep, group):
    """Settings of a distance-based release, groups from exact ratings as published."""
    return {
        "release": "distance-based",
        "keep": keep,
        "group": group,
        "share": SHARE,
        "distance": "squared",
        "groups": "ratings",
    }


def kept_at(slot, group):
    """The p* at which a slot among SIDE items loses ε = ``slot``; more where (1 − p*) p is above p*."""
    odds = (math.exp(slot) - 1) * (1 - group) / SIDE
    return odds / (1 + odds)


@cache
def block(folder, name):
    """The densest SIDE × SIDE of a data set, under its domain."""
    if name == FULL:
        made = netflix_like(SIDE, SIDE, SIDE * SIDE * 99 // 100, seed=5)
        frame = hr.Domain(made.domain.items, scale=made.domain.scale, cap=SIDE, max_users=SIDE)
        return hr.load(made.to_polars(), frame)
    file, scale = FILES[name]
    table = pl.read_parquet(Path(folder) / file).select(
        pl.col("user").cast(pl.String), pl.col("item").cast(pl.String), pl.col("rating").cast(pl.Float64)
    )
    for side in ("item", "user"):
        counts = table.group_by(side).len().sort(["len", side], descending=[True, False])
        table = table.filter(pl.col(side).is_in(counts[side].head(SIDE).implode()))
    frame = hr.Domain(sorted(table["item"].unique()), scale=scale, cap=SIDE, max_users=SIDE)
    return hr.load(table, frame)


def hidden(ratings, seed):
    """Ratings without one of each user's, and that one."""
    rng = np.random.default_rng(seed)
    counts = np.diff(ratings.indptr)
    chosen = ratings.indptr[:-1] + (rng.random(counts.size) * counts).astype(np.int64)
    mask = np.zeros(ratings.n_ratings, np.bool_)
    mask[chosen[counts > 1]] = True
    return ratings.select(~mask), ratings.select(mask)


def released(train, run, entropy):
    """The rows that a recommender sees, whose they are, and the ε of a cell or slot and of a user."""
    if run["release"] == "raw":
        return train, np.arange(train.n_users), {}, None
    if run["release"] == "randomized response":
        budget = hr.Budget(epsilon=float(run["epsilon"]), **REPLACE)
        method = hr.RandomizedResponse(analysis=run["analysis"])
        frame, cap = train.domain, run.get("cap", SIDE)
        train = replace(train, domain=hr.Domain(frame.items, scale=frame.scale, cap=cap, max_users=SIDE))
    else:
        budget, method = (
            None,
            hr.DistanceBased(
                keep_probability=run["keep"], group_probability=run["group"], **grouped(train, run)
            ),
        )
    planned = method.plan(train.domain, budget)
    total = planned.budget.model_copy(update={"epsilon": max(planned.epsilon, planned.budget.epsilon)})
    made = reported(train, method, planned, Ledger.ephemeral(total).charge(planned, entropy=entropy))
    said = made.data.statement
    # A user of the median number of ratings, where a slot is what is counted.
    slots = float(np.median(np.diff(train.indptr))) if run["release"] == "distance-based" else 1
    mine = said.local.epsilon * slots if run["release"] == "distance-based" else said.epsilon
    cost = {"cell_epsilon": said.local.epsilon, "user_epsilon": mine, "changed": said.local.changed}
    return made.data.ratings, made.rows, cost, made.data


def grouped(train, run):
    """Groups and λ of a distance-based release."""
    source = "ratings"
    if run["groups"] == "charged":
        source = hr.fit(
            train, hr.CovarianceSVD(), hr.Budget(epsilon=4.0, **AWAY), entropy=Seeded(run["seed"])
        )
    at = quantile_threshold(train if source == "ratings" else source, run["distance"], run["share"])
    return {"distance": run["distance"], "threshold": at, "groups": source}


def measured(train, test, rows, own):
    """Loss of every recommender that learns from the rows, for people who ask with their own ratings."""
    values, mine, truth = (part.values().astype(np.float32) for part in (rows, train, test))
    asking = np.searchsorted(train.users.to_numpy(), test.users.to_numpy())
    level = np.add.reduceat(mine, train.indptr[:-1]) / np.diff(train.indptr)
    for number, distance in enumerate(DISTANCES):
        for query, parts in (("own", (train.indptr, train.items, mine)), ("released", None)):
            if parts is None:
                if distance != "squared":
                    continue
                parts = as_queries(
                    rows, values, own, dict(zip(asking.tolist(), test.items.tolist(), strict=True))
                )
            found = user_knn(rows.indptr, rows.items, values, *parts, asking, test.items, own, KS, number)
            for k, column in zip(KS.tolist(), found.T, strict=True):
                guess = np.where(np.isnan(column), level[asking], column)
                yield {"by": "users", "by_distance": distance, "k": k, "query": query}, guess, truth
    for distance in DISTANCES:
        made = hr.fit(rows, hr.ItemKNN(distance=distance)).tensors
        ask = train.indptr, train.items, mine, asking, test.items
        found = item_knn(made["similarity"], made["item_means"].astype(np.float64), *ask, KS)
        for k, guess in zip(KS.tolist(), found.T, strict=True):
            yield {"by": "items", "by_distance": distance, "k": k, "query": "own"}, guess, truth
    model = hr.fit(rows, hr.MatrixFactorization(rank=8, reg=3.0, epochs=15))
    guess = predictions(model, train=train, test=test, at_home=True)
    yield {"by": "factors", "k": 8, "query": "own"}, guess, truth


def unbiased(data, train, test):
    """Unbiased means of items, drawn to the overall one as far as they are noise, and people's own levels."""
    found = data.estimates()
    means, errors, counts = (found[name].to_numpy() for name in ("mean", "mean_error", "count"))
    lo, hi, _ = train.domain.scale
    known = np.isfinite(means) & np.isfinite(errors)
    weights = np.where(known, np.maximum(counts, 0), 0)
    overall = (
        float(np.average(np.where(known, means, 0), weights=weights)) if weights.any() else (lo + hi) / 2
    )
    spread = ((hi - lo) / 8) ** 2
    drawn = np.where(known, (means - overall) * spread / (spread + errors**2), 0)
    effects = np.clip(np.clip(overall, lo, hi) + drawn, lo, hi)
    residuals = train.values() - effects[train.items]
    levels = np.add.reduceat(residuals, train.indptr[:-1]) / (np.diff(train.indptr) + 5)
    asking = np.searchsorted(train.users.to_numpy(), test.users.to_numpy())
    return np.clip(effects[test.items] + levels[asking], lo, hi)


def as_queries(rows, values, own, asked):
    """Each person's own released row, empty where it is absent, without the item that he asks for."""
    counts = np.where(own >= 0, np.diff(rows.indptr)[own], 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    who = np.repeat(np.arange(own.size), counts)
    places = rows.indptr[:-1][own][who] - starts[:-1][who] + np.arange(starts[-1])
    wanted = np.array([asked.get(user, -1) for user in range(own.size)])
    left = rows.items[places] != wanted[who]
    starts = np.concatenate([[0], np.cumsum(np.bincount(who[left], minlength=own.size))])
    return starts, rows.items[places[left]], values[places[left]]


def holes(rows, own, train, test):
    """Loss of the mean over the K nearest of all users, where a missing rating counts as 0 stars."""
    dense = np.zeros((SIDE, SIDE))
    dense[rows.user_index(), rows.items] = rows.values()
    mine = dense[own]
    asking = np.searchsorted(train.users.to_numpy(), test.users.to_numpy())
    at = test.items
    mine[asking, at] = 0
    squares = (mine**2).sum(1)[:, None] + (dense**2).sum(1) - 2 * mine @ dense.T
    squares[asking] -= dense[:, at].T ** 2
    squares[np.arange(own.size), own] = np.inf
    nearest = np.argsort(squares, axis=1, kind="stable")
    for k in KS[KS < SIDE].tolist():
        guess = np.array([dense[nearest[u, :k], i].mean() for u, i in zip(asking, at, strict=True)])
        yield {"by": "users, holes as 0", "by_distance": "squared", "k": k, "query": "released"}, guess


def perform(folder, run):
    """Lines of one run."""
    train, test = hidden(block(folder, run["data"]), run["seed"])
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).digest()
    entropy = Seeded(int.from_bytes(digest[:8]))
    if run["release"] == "central":
        budget = hr.Budget(epsilon=float(run["epsilon"]), **AWAY)
        model = hr.fit(train, hr.CovarianceSVD(), budget, entropy=entropy)
        found = [({"by": "central"}, predictions(model, train=train, test=test), test.values())]
        cost = {"user_epsilon": model.statement.epsilon}
    else:
        rows, own, cost, data = released(train, run, entropy)
        found = list(measured(train, test, rows, own))
        if run["release"] == "randomized response":
            guess = unbiased(data, train, test)
            found.append(({"by": "means", "query": "own"}, guess, test.values()))
        if run["data"] == FULL:
            found += [(by, guess, test.values()) for by, guess in holes(rows, own, train, test)]
    return [
        {**run, **by, **cost, "n": truth.size, "loss": float(((guess - truth) ** 2).sum())}
        for by, guess, truth in found
    ]


def main():
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if asked.out.exists():
        done = {json.loads(line)["run"] for line in asked.out.read_text().splitlines()}
    missing = [run for run in runs(asked.seeds) if json.dumps(run, sort_keys=True) not in done]
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    with ProcessPoolExecutor(asked.workers) as pool, asked.out.open("a") as file:
        for number, (run, lines) in enumerate(
            zip(missing, pool.map(perform, itertools.repeat(asked.folder), missing), strict=True), start=1
        ):
            for line in lines:
                file.write(json.dumps({**line, "run": json.dumps(run, sort_keys=True)}) + "\n")
            file.flush()
            print(f"{number} of {len(missing)} releases", end="\r", flush=True)


if __name__ == "__main__":
    main()
