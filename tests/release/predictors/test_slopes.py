"""Slopes are the posterior mean under a prior by which a user may not have any."""

import dataclasses
import math

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.fold_in import predictor
from hushrec.release.predictors.scores import slope_columns, solved_with_slopes
from support.predictions import EVERYTHING, N, conditional, dense, people

PRIOR = {"effect_slope": 0.4, "popularity_slope": 0.2, "slope_odds": 0.25}


def sloped(made, **changes):
    return dataclasses.replace(made, constants={**made.constants, **PRIOR, **changes})


def by_hand(release, rated, ratings):
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
        np.testing.assert_allclose(found, by_hand(made, rated, ratings), rtol=0, atol=1e-9)


def test_the_check_would_notice_slopes_that_everybody_has(release):
    made = release(n=N)
    rated, ratings = list(people())[6]
    found = predictor(sloped(made, slope_odds=1e9)).predict(rated, ratings, EVERYTHING)
    assert np.abs(found - by_hand(sloped(made), rated, ratings)).max() > 1e-3


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


def test_a_release_without_the_constants_has_no_slopes(release):
    made = release(n=N)
    assert slope_columns(made).shape == (N, 0)
    for rated, ratings in people():
        found = predictor(made).predict(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, conditional(made, rated, ratings), rtol=0, atol=1e-9)


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
