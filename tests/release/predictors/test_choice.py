"""The order of lists: the likelier choice first."""

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.synthetic import netflix_like
from hushrec.release.fold_in import predictor
from hushrec.release.predictors.scores import choice

LIKE = 4


def test_a_choice_is_as_likely_as_the_item_is_popular_and_liked():
    """Twice as popular is twice as likely; a rating higher by the scale's width is e² times as likely."""
    likelihood = np.exp(choice(np.array([1.0, 2.0, 1.0]), np.array([0.0, 0.0, 4.0]), span=4.0))
    np.testing.assert_allclose(likelihood, [1, 2, np.exp(2)])


def test_a_scale_may_have_any_unit():
    popularity, taste = np.array([3.0, 0.1]), np.array([0.7, -0.2])
    np.testing.assert_allclose(choice(popularity, taste, 4.0), choice(popularity, 10 * taste, 40.0))


# -- lists of people who were held out --------------------------------------------------------------------


def choosing(users=1200, items=200, seed=0):
    """Ratings of users who choose what is popular and what they will like."""
    rng = np.random.default_rng(seed)
    tastes, factors = rng.normal(size=(users, 4)), 0.4 * rng.normal(size=(items, 4))
    fame, quality = 1.5 * rng.normal(size=items), 0.4 * rng.normal(size=items)
    ratings = 3.3 + quality + tastes @ factors.T + 0.8 * rng.normal(size=(users, items))
    keys = fame + quality + 1.5 * tastes @ factors.T + rng.gumbel(size=(users, items))
    rows = [
        (f"u{u:04d}", f"i{i:03d}", float(np.clip(np.rint(ratings[u, i]), 1, 5)))
        for u in range(users)
        for i in np.argsort(-keys[u])[: rng.integers(15, 60)]
    ]
    schema = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64}
    domain = hr.Domain([f"i{i:03d}" for i in range(items)], scale=(1, 5, 1), max_users=users)
    return hr.load(pl.DataFrame(rows, schema=schema, orient="row"), domain)


def hits(given, model):
    """Mean share of held-out likes in a list of 20: ordered by stars, by popularity, and by default.

    A fifth of the users is held out whole. They fold in four fifths of their ratings.
    """
    row = given.user_index()
    release = hr.baseline(given.select(row % 5 > 0), model)
    counts = np.bincount(given.items[row % 5 > 0], minlength=given.domain.n_items).astype(float)
    rank, every, values = predictor(release), np.arange(given.domain.n_items), given.numbers()
    rng, found = np.random.default_rng(1), []
    for user in range(0, given.n_users, 5):
        own = slice(given.indptr[user], given.indptr[user + 1])
        items, ratings = given.items[own].astype(np.int64), values[own]
        seen = rng.permutation(len(items)) < 0.8 * len(items)
        liked = items[~seen & (ratings >= LIKE)]
        if len(liked):
            orders = [method(items[seen], ratings[seen], every) for method in (rank.predict, rank.rank)]
            for scores in (orders[0], counts, orders[1]):
                scores = np.where(np.isin(every, items[seen]), -np.inf, scores)
                found.append(np.isin(np.argsort(-scores)[:20], liked).sum() / min(20, len(liked)))
    return np.reshape(found, (-1, 3)).mean(axis=0)


@pytest.fixture(scope="module")
def chosen():
    return choosing()


@pytest.mark.parametrize("model", [hr.CovarianceSVD(rank=4), hr.PosteriorMF()], ids=["svd", "posterior"])
def test_lists_by_default_beat_popularity_where_users_choose_by_taste(chosen, model):
    stars, popularity, default = hits(chosen, model)
    print(f"hits by stars {stars:.3f}, by popularity {popularity:.3f}, by default {default:.3f}")
    assert default > popularity + 0.03
    assert popularity > stars + 0.03, "a list by stars would be seen"


def test_lists_are_as_good_as_popularity_where_users_choose_by_nothing_else():
    """The generated ratings of the demo: tastes decide how users rate, and not what."""
    stars, popularity, default = hits(netflix_like(1500, 300, 60_000, seed=0), hr.CovarianceSVD(rank=4))
    assert default > popularity - 0.02
    assert stars < popularity - 0.2
