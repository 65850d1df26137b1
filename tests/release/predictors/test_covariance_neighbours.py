"""Neighbours with weights from a covariance: the kriging formula, for factors and for a dense matrix."""

import dataclasses

import numpy as np
import pytest

from hushrec.release.predictors.neighbours import NeighbourPredictor, _largest
from support.predictions import EVERYTHING, N, kriged, people


@pytest.mark.parametrize("kind", ["neighbours", "dense neighbours"])
@pytest.mark.parametrize("k", [1, 2, 3, N, 40])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_neighbours_give_the_kriging_formula(release, kind, k, seed):
    made = release(kind, n=N, seed=seed)
    made = dataclasses.replace(made, constants={**made.constants, "neighbours": float(k)})
    for rated, ratings in people(seed):
        found = NeighbourPredictor(made).predict(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, kriged(made, rated, ratings, k), rtol=0, atol=1e-7)


def packed(factors):
    product = factors.astype(np.float64) @ factors.astype(np.float64).T
    return product[np.triu_indices(len(factors))].astype(np.float32)


@pytest.mark.parametrize("k", [1, 3, N])
def test_factors_and_a_packed_covariance_predict_alike(release, k):
    made = release("neighbours", n=N)
    made = dataclasses.replace(made, constants={**made.constants, "neighbours": float(k)})
    tensors = dict(made.tensors)
    tensors["covariance"] = packed(tensors.pop("item_factors"))
    tensors["similarity"] = packed(tensors.pop("similarity_factors"))
    filled = dataclasses.replace(made, kind="dense neighbours", tensors=tensors)
    for rated, ratings in people():
        one, other = (NeighbourPredictor(r).predict(rated, ratings, EVERYTHING) for r in (made, filled))
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-5)


@pytest.mark.parametrize("decimals", [0, 1, 9])
@pytest.mark.parametrize("k", [1, 2, 7, 30])
def test_the_largest_are_those_of_a_stable_sort(k, decimals):
    values = np.round(np.random.default_rng(0).standard_normal((500, 30)), decimals)
    expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
    assert (_largest(values, k) == expected).all()
    assert _largest(values[:0], k).shape == (0, k)


def test_it_does_not_matter_what_is_given_first(release):
    """Most similarities are 0, and so many are tied at the last neighbour."""
    made = release("dense neighbours", n=N)
    tensors = dict(made.tensors)
    tensors["similarity"] = np.round(tensors["similarity"])
    made = dataclasses.replace(made, tensors=tensors, constants={**made.constants, "neighbours": 3.0})
    predictor, rng = NeighbourPredictor(made), np.random.default_rng(0)
    rated, ratings = np.arange(0, N - 2), rng.uniform(1, 5, N - 2)
    for _ in range(10):
        order = rng.permutation(len(rated))
        for ask in (predictor.predict, predictor.rank):
            found, expected = (ask(rated[o], ratings[o], EVERYTHING) for o in (order, np.sort(order)))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
