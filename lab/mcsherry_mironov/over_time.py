"""McSherry & Mironov 2009, Fig. 2: what privacy costs over time, as ratings arrive.

A run is one fit to what had arrived by a day, of ratings with timestamps. Of each user's 9 latest ratings by
then, each is held out with probability 1/3 (§5.2).

Privacy: private. All noise is seeded, and errors are measured on real ratings.
"""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.random import default_rng

import hushrec as hr
from hushrec.data.people import People
from hushrec.errors import ConfigError
from hushrec.evaluation.compare import METRICS
from hushrec.evaluation.protocol import predictions
from hushrec.privacy.noise.entropy import Seeded
from lab.experiments.source import Data, Place
from lab.experiments.tables import markdown
from lab.published import McSherryKNN, cost, fit
from lab.reproduction import OnRatings, Trial, Trials, mean

DAYS, THETAS, SEEDS = (30, 90, 150, 210), (0.15, 1.0, 5.0), 4
DELTA, MEASUREMENTS = 1e-6, 6
TYPES = {
    **dict.fromkeys(("day", "seed", "ratings", "users"), pl.Int64),
    **dict.fromkeys(("theta", "rmse", "true_epsilon"), pl.Float64),
    "model": pl.String,
}
DATA = {"name": "ml-100k", "domain": {"max_users": 10_000, "max_per_user": 1682}}
MODELS: dict[str, Any] = {"published": McSherryKNN, "corrected": hr.CovarianceKNN}


def claimed(theta: float, measurements: int = MEASUREMENTS) -> float:
    """The paper's ε of noise σ = Δ/θ_i: by its Theorem 3, θ √(2 ln(2/δ_i)), with δ_i an equal part of δ."""
    return theta * math.sqrt(2 * math.log(2 * measurements / DELTA))


def budget(epsilon: float) -> hr.Budget:
    """Of single ratings, as in the paper's figures."""
    return hr.Budget(epsilon=epsilon, delta=DELTA, unit="record", adjacency="add-remove")


def work(folder: Path | None) -> Trials:
    """Every fit: at each θ as published, corrected at the same true ε, and both without noise."""
    thetas = (*THETAS, None)
    settings = [
        {"day": day, "seed": seed, "model": model, "theta": theta}
        for seed, day, model, theta in itertools.product(range(SEEDS), DAYS, MODELS, thetas)
    ]
    data = Data.model_validate(DATA, context=Place(Path(), folder))
    return Trials([Trial(f"{s['model']}, day {s['day']}", s) for s in settings], Growth(data), TYPES)


def probe(ratings: People, seed: int) -> tuple[People, People]:
    """Hold out each of a user's 9 latest ratings with probability 1/3."""
    times = np.asarray(ratings.timestamps)
    order = np.lexsort((ratings.items, times, ratings.user_index()))
    latest = np.empty(ratings.n_entries, dtype=np.bool_)
    latest[order] = np.repeat(ratings.indptr[1:], ratings.counts) - np.arange(ratings.n_entries) <= 9
    test = latest & (default_rng(seed).random(ratings.n_entries) < 1 / 3)
    return ratings.select(~test), ratings.select(test)


class Growth(OnRatings):
    """Where models are fitted to what had arrived by a day."""

    def open(self) -> None:
        """Load the ratings."""
        if self.ratings.timestamps is None:
            raise ConfigError("loss over time needs ratings with timestamps; take the publisher's file")

    def measure(self, trial: Trial) -> list[dict[str, Any]]:
        """RMSE on what is held out by that day."""
        return [self._of(**trial.settings)]

    def _of(self, day: int, seed: int, model: str, theta: float | None) -> dict[str, Any]:
        times = np.asarray(self.ratings.timestamps)
        arrived = self.ratings.select(times < times.min() + day * 86_400)
        train, test = probe(arrived, seed)
        config = MODELS[model](covariance={"threads": 1})
        if theta is None:
            release, true = hr.baseline(train, config), math.inf
        else:
            spent = budget(claimed(theta))
            true, number = cost(McSherryKNN(), train.domain, spent).true, 1000 * day + seed
            if model == "published":
                release = fit(train, config, spent, number)
            else:
                release = hr.testing.fit(train, config, budget(true), entropy=Seeded(number))
        error = METRICS["rmse"](test.numbers(), predictions(release, train=train, test=test))
        return {"rmse": error, "ratings": arrived.n_entries, "users": arrived.n_users, "true_epsilon": true}


def losses(rows: pl.DataFrame) -> pl.DataFrame:
    """Loss against the same model without noise, in percent of its RMSE: a line per model, θ and day.

    Returns:
        ``model, theta, day, ratings, users, true_epsilon, rmse, exact, loss, half``, the last half the 95 %
        interval of the loss over seeds.
    """
    exact = rows.filter(pl.col("theta").is_null()).select("model", "day", "seed", exact="rmse")
    noisy = rows.filter(pl.col("theta").is_not_null()).join(exact, on=["model", "day", "seed"])
    noisy = noisy.with_columns(loss=100 * (pl.col("rmse") / pl.col("exact") - 1))
    half = pl.col("loss").map_batches(lambda x: mean(x)[1], pl.Float64, returns_scalar=True)
    lines = noisy.group_by("model", "theta", "day").agg(
        pl.first("ratings", "users", "true_epsilon"), pl.mean("rmse", "exact", "loss"), half.alias("half")
    )
    return lines.sort("day", "model", "theta")


def table(rows: pl.DataFrame) -> str:
    """Loss by day."""
    body = []
    for (day,), lines in losses(rows).group_by("day", maintain_order=True):
        by = {(line["model"], line["theta"]): line for line in lines.iter_rows(named=True)}
        first = by["published", THETAS[0]]
        cells = [f"{by[model, theta]['loss']:.1f}" for theta in THETAS for model in MODELS]
        body.append(
            [str(day), f"{first['users']:,}", f"{first['ratings']:,}", f"{first['exact']:.4f}", *cells]
        )
    header = ["day", "users", "ratings", "kNN, no noise"]
    header += [f"θ = {theta:g}, {model}, %" for theta in THETAS for model in MODELS]
    return markdown(header, body)
