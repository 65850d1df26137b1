"""Recommendations from released data: Du, Leighton & Patel 2019 on real ratings, and what they left.

Of each data set the 1,000 most rated items are taken, and of these the 1,000 users with most ratings (§IV.A).
One rating of every user is hidden; the rest is released; and each hidden rating is predicted by the person's
device from the release and the person's own ratings. The loss is the sum of squared errors over the users
(§IV.B). A run is one release of one data set, with a row for every recommender.

Privacy: private. All noise is seeded, and losses are measured on real ratings.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.random import default_rng

import hushrec as hr
from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.data.synthetic import netflix_like
from hushrec.evaluation.parts import rows_of
from hushrec.evaluation.protocol import predictions
from hushrec.models.du_leighton_patel.estimate import METHOD, estimates
from hushrec.models.du_leighton_patel.groups import quantile_threshold
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.fixed_point import written_above
from hushrec.privacy.noise.entropy import Seeded
from hushrec.sums.kernels.neighbours import item_knn, user_knn
from lab.attacks.linkage import seeded
from lab.experiments import datasets
from lab.published import DuRepresentatives, DuResponse, PublishedMethod, cost
from lab.reproduction import Trial, Trials

SIDE = 1000
FILES = {
    "MovieLens 1M": "ml-1m",
    "FilmTrust": "filmtrust",
    "Anime": "anime",
}
"""What the page calls a data set → its name."""
FULL = "generated, nearly full"
SHARED = "shared representatives"
"""The paper's own release: an item is replaced by the same one for all (``DuRepresentatives``)."""
KS = np.array([1, 3, 5, 10, 20, 30, 50, 100, 200, 1000])
DISTANCES: tuple[Literal["squared", "cosine", "pearson"], ...] = "squared", "cosine", "pearson"
SHARE = 0.1
"""Of all pairs of items that are within λ of each other, unless said otherwise."""
PAPER = 0.8, 0.9, 0.95, 0.97
RESPONSES = {
    "corrected": (50, 500, 1000, 2000, 3000, 5000, 7000, 10000),
    "published": (50, 500, 2000, 5000, 8000),
}
RANDOMIZED = {"corrected": hr.RandomizedResponse, "published": DuResponse}
CAP, CAPPED = 50, (50, 100, 200, 300, 500, 1000)
"""A release of at most so many ratings of each user, whose rows differ in at most twice as many cells."""
CENTRAL = 0.5, 1, 2, 4, 8, 20
SEEDS, FEW = 10, 5
"""Seeds of the paper's own table, and of all else."""
REPLACE: dict[str, Any] = {"unit": "user", "adjacency": "replace", "delta": 0.0}
AWAY: dict[str, Any] = {"unit": "user", "adjacency": "add-remove", "delta": 1e-6}
UNSTATED = hr.Budget(epsilon=1.0, delta=0.0, unit="user", adjacency="replace-items")
"""Of ``DuRepresentatives``: it states no ε, and this one buys nothing."""
TYPES = {
    **dict.fromkeys(("data", "release", "analysis", "distance", "groups"), pl.String),
    **dict.fromkeys(("by", "by_distance", "query"), pl.String),
    **dict.fromkeys(("seed", "max_per_user", "k", "n"), pl.Int64),
    **dict.fromkeys(("epsilon", "keep", "group", "share", "slot"), pl.Float64),
    **dict.fromkeys(("loss", "cell_epsilon", "user_epsilon"), pl.Float64),
}
Found = tuple[dict[str, Any], Floats]
"""A recommender, and what it predicts of the hidden ratings."""


def work(folder: Path | None) -> Trials:
    """Every release of every data set."""
    return Trials([Trial(run["release"], run) for run in runs()], Recommenders(folder), TYPES)


def runs() -> Iterator[dict[str, Any]]:
    """Settings of every release."""
    for seed, name in itertools.product(range(SEEDS), [*FILES, FULL]):
        made = [{"release": "raw"}, *(alter_ego(p, p) for p in PAPER)]
        made += [alter_ego(p, p, release=SHARED) for p in PAPER]
        if name != FULL and seed < FEW:
            made += _others()
        yield from ({"data": name, "seed": seed, **run} for run in made)


def _others() -> Iterator[dict[str, Any]]:
    """Releases that the paper does not have."""
    response = {"release": "randomized response"}
    for analysis, epsilons in RESPONSES.items():
        yield from ({**response, "analysis": analysis, "epsilon": epsilon} for epsilon in epsilons)
    for epsilon in CAPPED:
        yield {**response, "analysis": "corrected", "epsilon": epsilon, "max_per_user": CAP}
    yield from ({"release": "central", "epsilon": epsilon} for epsilon in CENTRAL)
    yield from (alter_ego(kept_at(slot), 0.0, slot=slot) for slot in (9.0, 10.0, 11.4, 13.9))


def alter_ego(keep: float, group: float, **others: Any) -> dict[str, Any]:
    """Settings of a distance-based release: as in D2P, groups from exact ratings, unless said otherwise."""
    usual = {"share": SHARE, "distance": "squared", "groups": "ratings"}
    return {"release": "distance-based", "keep": keep, "group": group, **usual, **others}


def kept_at(slot: float) -> float:
    """The p* at which a slot among SIDE items, without groups, loses ε = ``slot``."""
    odds = (math.exp(slot) - 1) / SIDE
    return odds / (1 + odds)


@dataclass(frozen=True)
class Recommenders:
    """Where recommenders learn from released rows.

    Attributes:
        folder: of the data sets.
    """

    folder: Path | None

    @cached_property
    def _blocks(self) -> dict[str, hr.People]:
        return {}

    def open(self) -> None:
        """Nothing is loaded before its turn."""

    def measure(self, trial: Trial) -> list[dict[str, Any]]:
        """Loss of every recommender."""
        run = dict(trial.settings)
        if run["data"] not in self._blocks:
            self._blocks[run["data"]] = block(self.folder, run["data"])
        train, test = hidden(self._blocks[run["data"]], run["seed"])
        cost, found = predicted(run, train, test, Seeded(int.from_bytes(trial.digest[:8])))
        truth = test.numbers()
        return [
            {**by, **cost, "n": truth.size, "loss": float(((guess - truth) ** 2).sum())}
            for by, guess in found
        ]


def predicted(
    run: dict[str, Any], train: hr.People, test: hr.People, entropy: Seeded
) -> tuple[dict[str, Any], list[Found]]:
    """ε of one release, and every recommender's predictions from it."""
    if run["release"] == "central":
        budget = hr.Budget(epsilon=float(run["epsilon"]), **AWAY)
        model = hr.testing.fit(train, hr.CovarianceSVD(), budget, entropy=entropy)
        guess = predictions(model, train=train, test=test)
        return {"user_epsilon": model.statement.epsilon}, [({"by": "central"}, guess)]
    rows, own, cost, data = released(train, run, entropy)
    found = list(measured(train, test, rows, own))
    if data is not None and run["release"] == "randomized response":
        found.append(({"by": "means", "query": "own"}, unbiased(data, train, test)))
    if run["data"] == FULL:
        found += holes(rows, own, train, test)
    return cost, found


def block(folder: Path | None, name: str) -> hr.People:
    """The densest SIDE × SIDE of a data set, under its domain."""
    if name == FULL:
        made = netflix_like(SIDE, SIDE, SIDE * SIDE * 99 // 100, seed=5)
        frame = hr.Domain(made.domain.items, scale=made.domain.scale, max_per_user=SIDE, max_users=SIDE)
        return replace(made, domain=frame)
    table, scale = datasets.table(FILES[name], folder), datasets.SETS[FILES[name]].frame["scale"]
    for side in ("item", "user"):
        counts = table.group_by(side).len().sort(["len", side], descending=[True, False])
        table = table.filter(pl.col(side).is_in(counts[side].head(SIDE).implode()))
    frame = hr.Domain(sorted(table["item"].unique()), scale=scale, max_per_user=SIDE, max_users=SIDE)
    ratings: hr.People = hr.load(table, frame)
    return ratings


def hidden(ratings: hr.People, seed: int) -> tuple[hr.People, hr.People]:
    """Ratings without one of each user's, and that one."""
    rng = default_rng(seed)
    counts = np.diff(ratings.indptr)
    chosen = ratings.indptr[:-1] + (rng.random(counts.size) * counts).astype(np.int64)
    mask = np.zeros(ratings.n_entries, np.bool_)
    mask[chosen[counts > 1]] = True
    return ratings.select(~mask), ratings.select(mask)


def released(
    train: hr.People, run: dict[str, Any], entropy: Seeded
) -> tuple[hr.People, Ints, dict[str, Any], ReleasedData | None]:
    """The rows that a recommender sees, whose they are, and the ε of a cell or slot and of a user."""
    if run["release"] == "raw":
        return train, np.arange(train.n_users), {}, None
    method: Method
    budget: hr.Budget | None
    if run["release"] == "randomized response":
        budget = hr.Budget(epsilon=float(run["epsilon"]), **REPLACE)
        method = RANDOMIZED[run["analysis"]]()
        frame, cap = train.domain, run.get("max_per_user", SIDE)
        train = replace(
            train, domain=hr.Domain(frame.items, scale=frame.scale, max_per_user=cap, max_users=SIDE)
        )
    else:
        shared = run["release"] == SHARED
        form, budget = (DuRepresentatives, UNSTATED) if shared else (hr.DistanceBased, None)
        chances = {"keep_probability": run["keep"], "group_probability": run["group"]}
        method = form(**chances, **grouped(train, run))
    made = seeded(train, method, budget, entropy)
    return made.data.ratings, made.rows, worth(made.data, method, train, budget), made.data


def worth(data: ReleasedData, method: Method, train: hr.People, budget: hr.Budget | None) -> dict[str, float]:
    """True ε of a cell or slot, and of a user.

    Of a user of the median number of ratings, where a slot is what is counted.
    """
    if isinstance(method, PublishedMethod) and budget:
        whole = cost(method, train.domain, budget).true
        if isinstance(method, DuResponse):
            each = written_above(method.event(train.domain, budget).loss)
            return {"cell_epsilon": each, "user_epsilon": whole}
        return {"cell_epsilon": whole, "user_epsilon": whole}
    said = data.statement
    if said.local is None:
        raise TypeError("the statement of released data says nothing of cells")
    slots = float(np.median(train.counts)) * said.local.epsilon
    mine = slots if said.local.what == "slot" else said.epsilon
    return {"cell_epsilon": said.local.epsilon, "user_epsilon": mine}


def grouped(train: hr.People, run: dict[str, Any]) -> dict[str, Any]:
    """Groups and λ of a distance-based release."""
    at = quantile_threshold(train, run["distance"], run["share"])
    return {"distance": run["distance"], "threshold": at, "groups": run["groups"]}


def measured(train: hr.People, test: hr.People, rows: hr.People, own: Ints) -> Iterator[Found]:
    """Every recommender that learns from the rows, for people who ask with their own ratings."""
    values, mine = (part.numbers().astype(np.float32) for part in (rows, train))
    asking = rows_of(train, test)
    targets: Ints = test.items.astype(np.int64)
    level = np.add.reduceat(mine, train.indptr[:-1]) / np.diff(train.indptr)
    for number, distance in enumerate(DISTANCES):
        asks = {"own": (train.indptr, train.items, mine)}
        if distance == "squared":
            asked = dict(zip(asking.tolist(), test.items.tolist(), strict=True))
            asks["released"] = as_queries(rows, values, own, asked)
        for query, parts in asks.items():
            found = user_knn(rows.indptr, rows.items, values, *parts, asking, targets, own, KS, number)
            for k, column in zip(KS.tolist(), found.T, strict=True):
                guess = np.where(np.isnan(column), level[asking], column)
                yield {"by": "users", "by_distance": distance, "k": k, "query": query}, guess
    for distance in DISTANCES:
        made = hr.baseline(rows, hr.ItemKNN(distance=distance)).tensors
        similarity, means = made["similarity"], made["item_means"].astype(np.float64)
        found = item_knn(similarity, means, train.indptr, train.items, mine, asking, targets, KS)
        for k, guess in zip(KS.tolist(), found.T, strict=True):
            yield {"by": "items", "by_distance": distance, "k": k, "query": "own"}, guess
    model = hr.baseline(rows, hr.MatrixFactorization(rank=8, reg=3.0, epochs=15))
    guess = predictions(model, train=train, test=test, fold_in=True)
    yield {"by": "factors", "k": 8, "query": "own"}, guess


def unbiased(data: ReleasedData, train: hr.People, test: hr.People) -> Floats:
    """Unbiased means of items, drawn to the overall one as far as they are noise, and people's own levels."""
    found = estimates(data.ratings, data.n_people, METHOD, data.settings)  # of either law of answers
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
    residuals = train.numbers() - effects[train.items]
    levels = np.add.reduceat(residuals, train.indptr[:-1]) / (np.diff(train.indptr) + 5)
    asking = rows_of(train, test)
    guess: Floats = np.clip(effects[test.items] + levels[asking], lo, hi)
    return guess


def as_queries(
    rows: hr.People, values: Floats32, own: Ints, asked: dict[int, int]
) -> tuple[Ints, Ints32, Floats32]:
    """Each person's own released row, empty where it is absent, without the item that they ask for."""
    counts = np.where(own >= 0, np.diff(rows.indptr)[own], 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    who = np.repeat(np.arange(own.size), counts)
    places = rows.indptr[:-1][own][who] - starts[:-1][who] + np.arange(starts[-1])
    wanted = np.array([asked.get(user, -1) for user in range(own.size)])
    left = rows.items[places] != wanted[who]
    starts = np.concatenate([[0], np.cumsum(np.bincount(who[left], minlength=own.size))])
    return starts, rows.items[places[left]], values[places[left]]


def holes(rows: hr.People, own: Ints, train: hr.People, test: hr.People) -> Iterator[Found]:
    """Loss of the mean over the K nearest of all users, where a missing rating counts as 0 stars."""
    dense = np.zeros((SIDE, SIDE))
    dense[rows.user_index(), rows.items] = rows.numbers()
    mine = dense[own]
    asking = rows_of(train, test)
    at = test.items
    mine[asking, at] = 0
    squares = (mine**2).sum(1)[:, None] + (dense**2).sum(1) - 2 * mine @ dense.T
    squares[asking] -= dense[:, at].T ** 2
    squares[np.arange(own.size), own] = np.inf
    nearest = np.argsort(squares, axis=1, kind="stable")
    for k in KS[KS < SIDE].tolist():
        guess = np.array([dense[nearest[u, :k], i].mean() for u, i in zip(asking, at, strict=True)])
        yield {"by": "users, holes as 0", "by_distance": "squared", "k": k, "query": "released"}, guess
