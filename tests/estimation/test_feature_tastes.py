"""Tastes for public features have the covariance that the docstring names, and help who has them."""

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.estimation.priors import feature_tastes
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior

SPAN = 4.0


def known(n=40, columns=(5, 3), seed=0):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n, sum(columns))) * rng.uniform(0.1, 10, sum(columns))
    return ItemPrior(design=design, groups=np.repeat(np.arange(len(columns)), columns))


def test_each_kind_of_feature_explains_as_much():
    prior, popularity = known(), np.arange(1.0, 41)
    found = feature_tastes(prior, popularity, SPAN)
    wanted = np.zeros((40, 40))
    for k in (0, 1):
        own = prior.design[:, prior.groups == k]
        wanted += 0.002 * SPAN**2 * own @ own.T / np.average((own**2).sum(axis=1), weights=popularity)
    np.testing.assert_allclose(found @ found.T, wanted, rtol=1e-9, atol=1e-12)
    total = np.average((found**2).sum(axis=1), weights=popularity)
    assert total == pytest.approx(2 * 0.002 * SPAN**2)


def test_without_features_there_is_nothing():
    assert feature_tastes(NOTHING_KNOWN, np.ones(4), SPAN).shape == (4, 0)
    silent = ItemPrior(design=np.zeros((4, 2)), groups=np.zeros(2, dtype=np.int64))
    assert not feature_tastes(silent, np.ones(4), SPAN).any()


@pytest.mark.parametrize("model", [hr.GlobalEffects(), hr.CovarianceSVD(rank=2)])
def test_a_user_who_dislikes_a_genre_is_told_so_even_at_a_small_epsilon(model):
    """And nobody is, where the domain does not name genres."""
    rng = np.random.default_rng(2)
    genres = ["war" if i % 2 else "comedy" for i in range(60)]
    rows = [
        (u, i, int(np.clip(np.rint(3 + (1 if (u + i) % 2 else -1) + rng.normal() / 2), 1, 5)))
        for u in range(200)
        for i in rng.permutation(60)[:20]
    ]
    errors = []
    for features in ({"genres": genres}, None):
        domain = hr.Domain(range(60), scale=(1, 5, 1), max_users=500, features=features)
        ratings = hr.load(pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row"), domain)
        train, test = holdout(ratings, 0.2, seed=1)
        budget = hr.Budget(epsilon=0.5, delta=1e-6, unit="user", adjacency="add-remove")
        release = hr.testing.fit(train, model, budget, entropy=hr.testing.Seeded(1))
        errors.append(hr.evaluate(release, train=train, test=test)["rmse"])
        assert release.personal == bool(features)
        assert "survived" not in release.taste.replace("no taste survived", "")
    assert errors[0] < 0.8 * errors[1]
