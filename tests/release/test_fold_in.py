"""All predictors of ratings alike: lists, reasons and similar items are what the docstrings say."""

import numpy as np
import pytest

from hushrec.release.fold_in import predictor
from support.predictions import EVERYTHING, N, added_by_each, chosen, dense, people


def test_the_order_of_one_s_ratings_and_of_the_targets_does_not_matter(release, kind):
    made = predictor(release(kind, n=N))
    rng = np.random.default_rng(3)
    for rated, ratings in people():
        turn, targets = rng.permutation(len(rated)), rng.permutation(N)
        whole = made.predict(rated, ratings, EVERYTHING)
        found = made.predict(rated[turn], ratings[turn], targets)
        np.testing.assert_allclose(found, whole[targets], rtol=0, atol=1e-9)
        assert found.dtype == np.float64


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_contributions_add_up_to_the_prediction(release, kind, seed):
    made = release(kind, n=N, seed=seed)
    k = N if kind.startswith("factors") else int(made.constants["neighbours"])
    for rated, ratings in people(seed):
        start, wanted = added_by_each(made, rated, ratings, k)
        found = predictor(made).contributions(rated, ratings, EVERYTHING)
        assert found.shape == (len(rated), N)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
        predicted = predictor(made).predict(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(start + found.sum(axis=0), predicted, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(predictor(made).contributions(rated, ratings, EVERYTHING[:0]).size, 0)


def alike(release):
    """The cosines of the docstring, pair by pair."""
    if release.kind.startswith("factors"):
        products = dense(release, "item_factors", "covariance")
    else:
        products = dense(release, "similarity_factors", "similarity")
    noise = release.tensors["item_noise"].astype(np.float64)
    found = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if products[i, i] > 0 and products[j, j] > 0:
                cosine = products[i, j] / np.sqrt(products[i, i] * products[j, j])
                found[i, j] = min(max(cosine, -1), 1) * noise.min() ** 2 / (noise[i] * noise[j])
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_similarity_is_the_weighted_cosine(release, kind, seed):
    made = release(kind, n=N, seed=seed)
    whole = predictor(made).similarity(EVERYTHING, EVERYTHING)
    np.testing.assert_allclose(whole, alike(made), rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole, whole.T, rtol=0, atol=1e-12)
    some, others = np.array([5, 0]), np.array([3, 3, 1])
    found = predictor(made).similarity(some, others)
    np.testing.assert_allclose(found, whole[np.ix_(some, others)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["factors", "factors and people", "neighbours", "dense neighbours"])
def test_lists_are_ordered_by_popularity_and_taste(release, kind):
    made = release(kind, n=N)
    k = int(made.constants["neighbours"]) if "neighbours" in kind else None
    for rated, ratings in people():
        found = predictor(made).rank(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, chosen(made, rated, ratings, k), rtol=0, atol=1e-5)
    others = chosen(made, rated, ratings, k, raised=1.9)
    assert np.abs(found - others).max() > 1e-3, "a smaller absence would be seen"
