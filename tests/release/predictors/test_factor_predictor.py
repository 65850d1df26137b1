"""Predictions from factors are what the model of a rating says: r_i = μ_i + b + z_i + noise, all Gaussian."""

import dataclasses

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.fold_in import predictor
from hushrec.release.predictors.factor_predictor import FactorPredictor
from support.predictions import EVERYTHING, N, conditional, people


@pytest.mark.parametrize("rank", [0, 1, 3, N])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_factors_give_the_gaussian_posterior_mean(release, rank, seed):
    made = release(n=N, rank=rank, seed=seed)
    for rated, ratings in people(seed):
        found = FactorPredictor(made).predict(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, conditional(made, rated, ratings), rtol=0, atol=1e-9)


def test_the_check_of_the_posterior_would_notice(release):
    """A predictor that forgot the level's variance, or the items' noise, differs by far more than 1e-9."""
    made = release(n=N)
    constants = {**made.constants, "user_variance": 0.1}
    tensors = {**made.tensors, "item_noise": made.tensors["item_noise"] * np.float32(1.1)}
    rated, ratings = list(people())[4]
    for other in (dataclasses.replace(made, constants=constants), dataclasses.replace(made, tensors=tensors)):
        found = FactorPredictor(other).predict(rated, ratings, EVERYTHING)
        assert np.abs(found - conditional(made, rated, ratings)).max() > 1e-3


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
