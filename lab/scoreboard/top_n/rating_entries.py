"""What stands on the scoreboard of ratings: see ``entries`` for lists."""

import argparse
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from top_n.entries import Entry, Made, nearest, spent, true
from top_n.noisy import RatingsALS

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.data.synthetic import round_up
from hushrec.evaluation import baselines
from hushrec.evaluation.protocol import predictions
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu
from hushrec.testing import Seeded
from lab import published
from lab.published import PublishedModel, class_of

MODELS = (
    "AdaptiveFactors",
    "GlobalEffects",
    "CovarianceSVD",
    "PosteriorMF",
    "UserLevelSGD",
    "InputPerturbationMF",
    "PrivateSGD",
    "PrivateALS",
)
LISTED = "InputPerturbationMF", "PrivateSGD", "PrivateALS"
"""Models that publish a vector for every person: who takes part is public."""
PUBLISHED = "McSherrySVD", "FriedmanInputMF", "FriedmanBoundedSGD", "FriedmanUnboundedSGD", "FriedmanALS"
SYNTHETIC = 10_000
"""Rows that are drawn from a release."""
DP_ALS = {
    1.0: RatingsALS(1, 2, 1.0, 6.0, 0.1, 1.0, -0.1, 0.05, 0.9, 3.0),
    4.0: RatingsALS(2, 2, 10.0, 3.0, 0.3, 1.5, -0.25, 0.05, 0.7, 3.0),
    20.0: RatingsALS(4, 2, 3.0, 1.0, 0.3, 1.5, -0.25, 0.05, 0.7, 3.0),
}
"""Chosen by hand on another tenth of MovieLens 1M, which is not charged; another ε takes the nearest."""


class Split(NamedTuple):
    """Nine tenths of the ratings and the rest."""

    train: hr.People
    test: hr.People


class Held(NamedTuple):
    """One cell of the scoreboard."""

    split: Split
    unit: str
    epsilon: float
    delta: float
    draw: int


def held_out(table: pl.DataFrame, draw: int, options: argparse.Namespace) -> Split:
    """A random tenth is held out. Catalogue, scale, and about how many people and ratings are public."""
    crowd = table["user"].n_unique()
    items = [str(item) for item in table["item"].unique().sort()]
    expected = {"expected_users": crowd, "expected_records": len(table)}
    scale, bounds = tuple(options.scale), {"max_users": round_up(crowd), "max_per_user": len(items)}
    domain = hr.Domain(items, scale=scale, **bounds, **expected)
    return Split(*holdout(hr.load(table, domain), 0.1, draw))


def listed(split: Split) -> Split:
    """The same with a public list of people."""
    known = split.train.domain
    users, most = split.train.users.to_pylist(), known.max_users
    bounds = {"max_users": most, "max_per_user": known.max_per_user}
    domain = hr.Domain(known.items, scale=known.scale, users=users, **bounds)
    return Split(*(replace(part, domain=domain) for part in split))


def predicted(release: hr.Release, split: Split) -> np.ndarray:
    return predictions(release, train=split.train, test=split.test)


def of_rating_model(name: str) -> Entry:
    """A model, by its name in hushrec or in the laboratory, or as ``module:Class``."""
    kind = class_of(name)
    offered = dict(sorted(kind.supports, reverse=True))

    def run(asked: Held) -> Made:
        budget = spent(asked, asked.split.train.domain, offered[asked.unit])
        seed = 1000 * asked.draw + round(10 * asked.epsilon)
        split = listed(asked.split) if name.startswith(("Friedman", *LISTED)) else asked.split
        if issubclass(kind, PublishedModel):
            release = published.fit(split.train, kind(), budget, seed)
            cost = published.cost(kind(), split.train.domain, budget)
            return Made(predicted(release, split), cost.claimed, cost.true, budget.adjacency)
        release = hr.testing.fit(split.train, kind(), budget, entropy=Seeded(seed))
        return Made(predicted(release, split), None, true(release, asked.delta), budget.adjacency)

    return Entry(tuple(offered), run)


def dp_als(asked: Held) -> Made:
    method, (train, test) = nearest(DP_ALS, asked.epsilon), asked.split
    scale = train.domain.scale.lo, train.domain.scale.hi
    mu = gaussian_mu(asked.epsilon, asked.delta)
    # A part lists only those who have a rating in it.
    users = [part.users.to_pylist() for part in asked.split]
    places = {user: place for place, user in enumerate(sorted({*users[0], *users[1]}))}
    owners = [
        np.repeat([places[user] for user in each], part.counts)
        for each, part in zip(users, asked.split, strict=True)
    ]
    given = csr_matrix((train.numbers(), (owners[0], train.items)), (len(places), train.domain.n_items))
    items = method.fit(given, scale, mu, asked.draw)
    values = method.predicted(items, given, scale, owners[1], test.items)
    return Made(values, None, gaussian_epsilon(mu, asked.delta))


def synthetic_rows(asked: Held) -> Made:
    """A release's synthetic people, and ``CovarianceSVD`` without noise on their ratings."""
    train, seed = asked.split.train, 1000 * asked.draw + round(10 * asked.epsilon)
    release = hr.testing.fit(train, hr.CovarianceSVD(), spent(asked, train.domain), entropy=Seeded(seed))
    columns = pl.DataFrame(release.synthesize(SYNTHETIC, seed=asked.draw, mean_items=165).columns())
    domain = hr.Domain(
        release.items, scale=release.scale, max_users=SYNTHETIC, max_per_user=len(release.items)
    )
    again = hr.baseline(hr.load(columns, domain), hr.CovarianceSVD())
    return Made(predicted(again, asked.split), None, true(release, asked.delta))


def plain(name: str) -> Entry:
    """A prediction without noise, of ``hushrec.evaluation.baselines``."""
    made = getattr(baselines, name)
    return Entry((), lambda asked: Made(made(*asked.split), None, math.inf))


def exact(name: str) -> Entry:
    """A model without noise."""
    kind = class_of(name)
    fit = lambda asked: hr.baseline(asked.split.train, kind())  # noqa: E731
    return Entry((), lambda asked: Made(predicted(fit(asked), asked.split), None, math.inf))


ENTRIES = {
    "item average, no noise": plain("item_average"),
    "CovarianceSVD, no noise": exact("CovarianceSVD"),
    **{name: of_rating_model(name) for name in MODELS},
    "synthetic people + CovarianceSVD": Entry(("user", "record"), synthetic_rows),
    "DP-ALS": Entry(("user",), dp_als),
    **{f"{name}, as printed": of_rating_model(name) for name in PUBLISHED},
}
