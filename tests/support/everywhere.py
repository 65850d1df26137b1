"""Every model on the same people wherever their ratings are: what a release must not depend on."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec import models

SMALL = {"epochs": 2, "rank": 3, "rounds": 3, "chain": {"epochs": 20, "chains": 2}}
"""Settings that make a fit short, where a model has them."""
FORMS = {
    "CovarianceSVD of a head": {"covariance": {"pair_items": 12}},
}
"""Models that run otherwise with these settings."""
MODELS = (*models.MODELS, *FORMS)


def world(n_users, n_items, n_ratings, likes=None):
    """Ratings or likes of users on a roster, some of whom rate a lot and some nothing."""
    users, items = [f"u{k:06d}" for k in range(n_users)], [f"i{k:04d}" for k in range(n_items)]
    domain = hr.Domain(
        items, scale=(1, 5, 1), likes=likes, max_per_user=100, max_users=2 * n_users, users=users
    )
    rng = np.random.default_rng(7)
    raters = (n_users * 0.9 * rng.random(n_ratings) ** 2).astype(np.int64)
    table = pl.DataFrame(
        {
            "user_id": pl.Series(users).gather(raters),
            "item_id": pl.Series(items).gather(rng.integers(0, n_items, n_ratings)),
            "rating": rng.integers(1, 6, n_ratings),
        }
    )
    return hr.load(table, domain)


def class_of(name):
    """The class of a model or of a form of it."""
    return models.class_of(name.split()[0])


def configured(name):
    """A model with short settings."""
    kind = class_of(name)
    short = {key: value for key, value in SMALL.items() if key in kind.model_fields}
    return kind(**short, **FORMS.get(name, {}))


def fits():
    """Every model under everything that it protects, and without noise."""
    for name in MODELS:
        for pair in (None, *sorted(class_of(name).supports)):
            yield pytest.param(name, pair, id=f"{name}-{'-'.join(pair or ['exact'])}")


def made(name, pair, source):
    """The bytes of a release, of a baseline without the digest of its data, which the store determines."""
    if pair is None:
        baseline = hr.baseline(source, configured(name))
        return replace(baseline, statement=replace(baseline.statement, people=())).to_bytes()
    unit, adjacency = pair
    budget = hr.Budget(epsilon=4.0, delta=1e-7, unit=unit, adjacency=adjacency)
    return hr.testing.fit(source, configured(name), budget, entropy=hr.testing.Seeded(5)).to_bytes()
