"""Predictions from factors are what the model of a rating says: Gaussian; at home, listed, with slopes."""

import dataclasses
import math

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.fold_in import predictor
from hushrec.release.predictors import scores
from hushrec.release.predictors.factor_predictor import FactorPredictor, ListedPeople
from hushrec.release.predictors.scores import slope_columns, solved_with_slopes
from support.predictions import EVERYTHING, N, conditional, dense, people


@pytest.mark.parametrize("rank", [0, 1, 3, N])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_factors_give_the_gaussian_posterior_mean(release, rank, seed):
    made = release(n=N, rank=rank, seed=seed)
    for rated, ratings in people(seed):
        found = FactorPredictor(made).predict(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, conditional(made, rated, ratings), rtol=0, atol=1e-9)


def test_the_person_s_vector_is_his_level_and_his_factors(release):
    made = release(n=N)
    rated, ratings = list(people())[5]
    vector = FactorPredictor(made).fold_in(rated, ratings)
    mean = made.tensors["item_effects"] + made.constants["user_mean"]
    level = np.sqrt(made.constants["user_variance"]) * vector[0]
    by_hand = mean + level + made.tensors["item_factors"] @ vector[1:]
    np.testing.assert_allclose(
        FactorPredictor(made).predict(rated, ratings, EVERYTHING), by_hand, rtol=0, atol=1e-5
    )
    assert vector.shape == (1 + 2,)
    np.testing.assert_array_equal(
        FactorPredictor(made).fold_in(np.array([], dtype=np.int64), np.array([])), np.zeros(3)
    )


def test_outsiders_fold_in_as_if_nobody_were_listed(release):
    made = release("factors and people", n=N)
    tensors = {name: tensor for name, tensor in made.tensors.items() if name.startswith("item_")}
    without = dataclasses.replace(made, kind="factors", tensors=tensors, users=())
    for rated, ratings in people():
        one, other = (predictor(r).predict(rated, ratings, EVERYTHING) for r in (made, without))
        np.testing.assert_array_equal(one, other)


def test_the_order_of_own_ratings_changes_no_bit(release):
    made, rng = release(n=200, rank=20), np.random.default_rng(0)
    rated, ratings = rng.permutation(200)[:60], rng.integers(1, 6, 60).astype(np.float64)
    other = rng.permutation(60)
    found = FactorPredictor(made).predict(rated, ratings, np.arange(200))
    assert (found == FactorPredictor(made).predict(rated[other], ratings[other], np.arange(200))).all()


def test_an_item_of_which_little_is_known_is_less_alike(release):
    made = release(n=N)
    noise = made.tensors["item_noise"].copy()
    noise[3] = 2 * noise.max()
    known, unknown = (
        predictor(m).similarity(np.array([0]), EVERYTHING)[0]
        for m in (made, dataclasses.replace(made, tensors={**made.tensors, "item_noise": noise}))
    )
    others = EVERYTHING != 3
    np.testing.assert_allclose(unknown[others], known[others])
    assert unknown[3] == pytest.approx(known[3] * made.tensors["item_noise"][3] / noise[3])


def test_items_without_factors_are_like_nothing(release):
    made = release(n=N)
    factors = made.tensors["item_factors"].copy()
    factors[2] = 0
    found = predictor(dataclasses.replace(made, tensors={**made.tensors, "item_factors": factors}))
    assert (found.similarity(np.array([2]), EVERYTHING) == 0).all()
    with pytest.raises(ReleaseError, match="does not tell which items are alike"):
        predictor(release(n=N, rank=0)).similarity(EVERYTHING, EVERYTHING)


# -- users whom a release lists are predicted from the vectors that it holds ------------------------------


def some_pairs(made, count=40):
    rng = np.random.default_rng(5)
    return rng.integers(0, len(made.users), count), rng.integers(0, N, count)


def by_hand(made, person, item):
    t = {name: tensor.astype(np.float64) for name, tensor in made.tensors.items()}
    taste = sum(a * b for a, b in zip(t["item_factors"][item], t["user_factors"][person], strict=True))
    return t["item_effects"][item] + made.constants["user_mean"] + t["user_effects"][person] + taste


@pytest.mark.parametrize("rank", [0, 1, 3, N])
def test_a_listed_person_is_predicted_by_his_released_vector(release, rank, monkeypatch):
    made = release("factors and people", n=N, rank=rank)
    listed, items = some_pairs(made)
    wanted = [by_hand(made, *pair) for pair in zip(listed, items, strict=True)]
    found = ListedPeople(made).predict(listed, items)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    monkeypatch.setattr(scores, "_PAIRS", 7)
    np.testing.assert_allclose(ListedPeople(made).predict(listed, items), found, rtol=0, atol=1e-12)


def test_people_are_found_by_their_ids(release):
    listed = ListedPeople(release("factors and people"))
    assert listed.find(["person 3 é", "nobody", "person 0 é"]).tolist() == [3, -1, 0]
    assert listed.find([]).tolist() == []
    with pytest.raises(ReleaseError, match="lists no people"):
        ListedPeople(release())


def test_listed_people_are_ranked_by_their_released_tastes(release):
    made = release("factors and people", n=N)
    tastes = made.tensors["item_factors"].astype(float) @ made.tensors["user_factors"][3].astype(float)
    wanted = np.log(made.tensors["item_popularity"].astype(float)) + tastes / 2
    found = ListedPeople(made).rank(np.full(N, 3), EVERYTHING)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


# -- slopes are the posterior mean under a prior by which a user may not have any -------------------------


PRIOR = {"effect_slope": 0.4, "popularity_slope": 0.2, "slope_odds": 0.25}


def sloped(made, **changes):
    return dataclasses.replace(made, constants={**made.constants, **PRIOR, **changes})


def posterior_mean(release, rated, ratings):
    """The prediction and the density of the ratings under each joint law, with slopes and without."""
    effects = release.tensors["item_effects"].astype(np.float64)
    popularity = release.tensors["item_popularity"].astype(np.float64)
    likely = np.array([math.log1p(n) for n in popularity])
    slopes = np.zeros((N, N))
    for name, column in (("effect_slope", effects), ("popularity_slope", likely)):
        centred = column - sum(popularity * column) / sum(popularity)
        slopes += release.constants[name] * np.outer(centred, centred)
    mean = effects + release.constants["user_mean"]
    law = release.constants["user_variance"] + dense(release, "item_factors", "covariance")
    noise = np.diag(release.tensors["item_noise"].astype(np.float64)[rated])
    found, densities = [], []
    for whole in (law, law + slopes):
        seen, apart = whole[np.ix_(rated, rated)] + noise, ratings - mean[rated]
        found.append(mean + whole[:, rated] @ np.linalg.solve(seen, apart))
        densities.append(math.exp(-apart @ np.linalg.solve(seen, apart) / 2) / math.sqrt(np.linalg.det(seen)))
    odds = release.constants["slope_odds"] * densities[1] / densities[0]
    return found[0] + odds / (1 + odds) * (found[1] - found[0])


@pytest.mark.parametrize("rank", [0, 2, N])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_factors_give_the_posterior_mean_over_users_with_slopes_and_without(release, rank, seed):
    made = sloped(release(n=N, rank=rank, seed=seed))
    for rated, ratings in people(seed):
        found = predictor(made).predict(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, posterior_mean(made, rated, ratings), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["neighbours", "dense neighbours"])
def test_neighbours_start_from_the_same_slopes(release, kind):
    """Without covariance, and with the same noise for each item, both predictors are one."""
    made = release(kind, n=N)
    nothing = {
        name: np.zeros_like(made.tensors[name])
        for name in ("item_factors", "covariance")
        if name in made.tensors
    }
    even = np.full(N, 0.75, np.float32)
    alike = dataclasses.replace(made, tensors={**made.tensors, **nothing, "item_noise": even})
    one = sloped(alike, bias_noise=0.75)
    tensors = {name: one.tensors[name] for name in ("item_effects", "item_noise", "item_popularity")}
    tensors["item_factors"] = np.zeros((N, 0), np.float32)
    other = dataclasses.replace(one, kind="factors", tensors=tensors)
    for rated, ratings in people():
        found = [predictor(m).predict(rated, ratings, EVERYTHING) for m in (one, other)]
        np.testing.assert_allclose(*found, rtol=0, atol=1e-9)


def test_who_exaggerates_what_all_think_is_followed(release):
    """Twice the item effects, from enough ratings; and from few the prediction stays near the usual."""
    n = 400
    made = release(n=n, rank=0)
    rng = np.random.default_rng(5)
    effects = made.tensors["item_effects"].astype(np.float64)
    columns = slope_columns(sloped(made))
    ratings = effects + made.constants["user_mean"] + columns[:, 0] / math.sqrt(0.4) + rng.normal(size=n) / 2
    own, others = np.arange(200), np.arange(200, n)
    errors = [
        np.abs(predictor(m).predict(own, ratings[own], others) - ratings[others]).mean()
        for m in (made, sloped(made))
    ]
    assert errors[1] < 0.9 * errors[0]
    few = [predictor(m).predict(own[:1], ratings[:1], others) for m in (made, sloped(made))]
    assert np.abs(few[1] - few[0]).max() < 0.1


def test_what_a_list_is_ordered_by_does_not_depend_on_slopes(release, kind):
    made = release(kind, n=N)
    for rated, ratings in people():
        one, other = (predictor(m).rank(rated, ratings, EVERYTHING) for m in (made, sloped(made)))
        np.testing.assert_array_equal(one, other)


def test_numbers_at_the_edge_give_finite_slopes():
    for size in (1e-200, 1.0, 1e5):
        rows = np.outer(np.arange(1.0, 5), [size, size, size])
        normal, right = rows.T @ rows + np.eye(3), rows.T @ np.ones(4)
        assert np.isfinite(solved_with_slopes(normal + np.diag([0, size, size]), right, 2, 1e30)).all()


@pytest.mark.parametrize("missing", PRIOR)
def test_part_of_a_prior_is_refused(release, missing):
    made = release(n=N)
    part = {**made.constants, **{name: value for name, value in PRIOR.items() if name != missing}}
    with pytest.raises(ReleaseError, match=f"the constant {missing} is missing or out of range"):
        dataclasses.replace(made, constants=part)
    with pytest.raises(ReleaseError, match="out of range"):
        sloped(made, **{missing: 0.0})
