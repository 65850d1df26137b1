"""People who count their stars in other units get the same release in those units.

Ratings times 4^k lie on a grid times 4^k under noise times 4^k, without any rounding, so with the same noise
a release is the same to the last bit, in other units, unless somewhere a constant was taken for a number of
stars.
"""

import itertools
from functools import cache

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.models.liu_wang_smola.chain import ChainSettings
from hushrec.models.mcsherry_mironov.covariance_model import CovarianceSettings

RATING, STARS, USER = ("record", "add-remove"), ("record", "replace"), ("user", "add-remove")
POWERS = {  # of the unit that a part of a release is in
    "item_effects": 1,
    "item_noise": 2,
    "item_factors": 1,
    "similarity_factors": 0,
    "covariance": 2,
    "similarity": 0,
    "user_effects": 1,
    "user_factors": 0,
    "item_popularity": 0,
    "item_means": 1,
    "user_mean": 1,
    "user_variance": 2,
    "bias_noise": 2,
    "neighbours": 0,
    "effect_slope": 0,
    "popularity_slope": 2,
    "slope_odds": 0,
    "known_factors": 0,
}
SHORT = ChainSettings(chains=2, epochs=20)
MODELS = {
    "effects": hr.GlobalEffects(),
    "levels": hr.GlobalEffects(user_biases="released"),
    "knn": hr.CovarianceKNN(rank=3),
    "knn, as it is": hr.CovarianceKNN(covariance=CovarianceSettings(cleaning="none")),
    "adaptive": hr.AdaptiveFactors(),
    "svd": hr.CovarianceSVD(rank=3),
    "svd of a head": hr.CovarianceSVD(rank=3, covariance=CovarianceSettings(pair_items=9)),
    "svd, shrunk": hr.CovarianceSVD(rank=3, covariance=CovarianceSettings(cleaning="shrink")),
    "input": hr.InputPerturbationMF(rank=3, epochs=3),
    "input, sgd": hr.InputPerturbationMF(rank=3, epochs=3, solver="sgd"),
    "sgd": hr.PrivateSGD(rank=3, epochs=3),
    "user-level sgd": hr.UserLevelSGD(rank=3, epochs=3),
    "als": hr.PrivateALS(rank=3, epochs=3),
    "certified": hr.PosteriorMF(rank=3, epochs=4),
    "posterior": hr.PosteriorSampleMF(rank=3, chain=SHORT),
}
CASES = [
    (name, kind)
    for name, model in MODELS.items()
    for kind in (RATING, STARS, USER)
    if kind in model.supports and not (kind == USER and name == "levels")
]


@cache
def ratings(unit, shift=0.0, seed=1):
    """Ratings of one to five, times ``unit``, and ``shift`` units above that."""
    rng = np.random.default_rng(seed)
    people, items = [f"u{n:02}" for n in range(30)], [f"i{n:02}" for n in range(12)]
    rows, columns = np.nonzero(rng.random((30, 12)) < 0.5)
    stars = np.clip(np.rint(3 + rng.normal(0, 1, 12)[columns] + rng.normal(0, 1, rows.size)), 1, 5)
    lo, hi = unit * (1 + shift), unit * (5 + shift)
    domain = hr.Domain(items, scale=(lo, hi, unit), max_per_user=10, max_users=50, users=people)
    table = {"user_id": [people[r] for r in rows], "item_id": [items[c] for c in columns]}
    return hr.load(pl.DataFrame({**table, "rating": unit * (stars + shift)}), domain)


@cache
def fitted(name, kind, unit, shift=0.0):
    budget = hr.Budget(epsilon=8.0, delta=1e-6, unit=kind[0], adjacency=kind[1])
    return released(ratings(unit, shift), MODELS[name], budget)


def released(given, model, budget):
    """A seeded release; of published forms the laboratory's tests put their own here."""
    return hr.testing.fit(given, model, budget, entropy=hr.testing.Seeded(5))


def parts(release):
    return {**release.tensors, **release.constants}


@pytest.mark.parametrize(("case", "exponent"), [*zip(CASES, itertools.cycle([-19, 18]), strict=False)])
@pytest.mark.full
def test_other_units_give_the_same_release(case, exponent):
    require_same(*case, 4.0**exponent)


def require_same(name, kind, unit):
    usual, other = (parts(fitted(name, kind, c)) for c in (1.0, unit))
    assert usual.keys() == other.keys()
    for part, value in usual.items():
        expected = np.asarray(value, dtype=np.float64) * unit ** POWERS[part]
        least = 1e-30 * unit ** POWERS[part]  # what single precision has no room for
        np.testing.assert_allclose(other[part], expected, rtol=0, atol=least, err_msg=part)


@pytest.mark.parametrize(("name", "kind"), CASES)
@pytest.mark.full
def test_a_shift_of_the_scale_is_a_shift_of_the_items(name, kind):
    """Up to single precision, in which items' effects are released."""
    usual, other = (parts(fitted(name, kind, 1.0, shift)) for shift in (0.0, 64.0))
    for part, value in usual.items():
        expected = np.asarray(value) + (64.0 if part == "item_effects" else 0.0)
        np.testing.assert_allclose(other[part], expected, rtol=1e-4, atol=1e-4, err_msg=part)
