"""Predictions are what the model of a rating says: r_i = μ_i + b + z_i + noise, all of it Gaussian."""

import dataclasses

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release import fold_in
from hushrec.release.fold_in import FactorPredictor, ListedPeople, NeighbourPredictor, predictor

N = 7


def dense(release, name, packed):
    """A symmetric item × item matrix of a release, cell by cell."""
    n = len(release.items)
    if name in release.tensors:
        factors = release.tensors[name].astype(np.float64)
        return factors @ factors.T
    matrix, cells = np.zeros((n, n)), iter(release.tensors[packed].tolist())
    for i in range(n):
        for j in range(i, n):
            matrix[i, j] = matrix[j, i] = next(cells)
    return matrix


def conditional(release, rated, ratings):
    """E[μ + b + z | r], by conditioning the joint normal law of all items on the rated ones."""
    constants = release.constants
    mean = release.tensors["item_effects"].astype(np.float64) + constants["user_mean"]
    law = dense(release, "item_factors", "covariance") + constants["user_variance"] * np.ones((N, N))
    seen = law[np.ix_(rated, rated)] + np.diag(release.tensors["item_noise"].astype(np.float64)[rated])
    return mean + law[:, rated] @ np.linalg.inv(seen) @ (ratings - mean[rated])


def kriged(release, rated, ratings, k):
    """The docstring's formula, target by target."""
    constants = release.constants
    mean = release.tensors["item_effects"].astype(np.float64) + constants["user_mean"]
    covariance = dense(release, "item_factors", "covariance")
    similarity = dense(release, "similarity_factors", "similarity")
    residuals = ratings - mean[rated]
    # b ~ N(0, user_variance), each residual b + N(0, bias_noise): the posterior mean of b.
    level = residuals.sum() / (len(rated) + constants["bias_noise"] / constants["user_variance"])
    found = []
    for target in range(N):
        nearest = sorted(range(len(rated)), key=lambda j: -similarity[target, rated[j]])[:k]
        items = [rated[j] for j in nearest]
        system = covariance[np.ix_(items, items)] + np.diag(release.tensors["item_noise"][items])
        weights = np.linalg.solve(system, covariance[items, target])
        found.append(mean[target] + level + weights @ (residuals[nearest] - level))
    return np.array(found)


def chosen(release, rated, ratings, k=None, raised=2.0):
    """log n + 2 z/span, with z = E[z | r + raised], the level left out; from k neighbours of each, or all."""
    residuals = ratings - release.tensors["item_effects"][rated] - release.constants["user_mean"] + raised
    law = dense(release, "item_factors", "covariance")
    similarity = law if k is None else dense(release, "similarity_factors", "similarity")
    found = np.log(release.tensors["item_popularity"].astype(np.float64))
    for target in range(N):
        near = sorted(range(len(rated)), key=lambda j: -similarity[target, rated[j]])[:k]
        items = [rated[j] for j in near]
        system = law[np.ix_(items, items)] + np.diag(release.tensors["item_noise"][items].astype(float))
        found[target] += 2 / 4 * law[target, items] @ np.linalg.solve(system, residuals[near])
    return found


def people(seed=0):
    """Who rated what, from nothing to everything, in any order."""
    rng = np.random.default_rng(seed)
    for count in range(N + 1):
        rated = rng.permutation(N)[:count]
        yield rated, rng.integers(1, 6, count).astype(np.float64)


EVERYTHING = np.arange(N)


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


@pytest.mark.parametrize("kind", ["neighbours", "dense neighbours"])
@pytest.mark.parametrize("k", [1, 2, 3, N, 40])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_neighbours_give_the_kriging_formula(release, kind, k, seed):
    made = release(kind, n=N, seed=seed)
    made = dataclasses.replace(made, constants={**made.constants, "neighbours": float(k)})
    for rated, ratings in people(seed):
        found = NeighbourPredictor(made).predict(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, kriged(made, rated, ratings, k), rtol=0, atol=1e-7)


def test_whom_one_asks_matters(release):
    made = release("neighbours", n=N)
    rated, ratings = list(people())[6]
    few, all_of_them = (kriged(made, rated, ratings, k) for k in (2, N))
    assert np.abs(few - all_of_them).max() > 1e-2


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


def test_the_order_of_one_s_ratings_and_of_the_targets_does_not_matter(release, kind):
    made = predictor(release(kind, n=N))
    rng = np.random.default_rng(3)
    for rated, ratings in people():
        turn, targets = rng.permutation(len(rated)), rng.permutation(N)
        whole = made.predict(rated, ratings, EVERYTHING)
        found = made.predict(rated[turn], ratings[turn], targets)
        np.testing.assert_allclose(found, whole[targets], rtol=0, atol=1e-9)
        assert found.dtype == np.float64


def test_who_rated_nothing_gets_the_mean(release, kind):
    made = release(kind, n=N)
    nothing = np.array([], dtype=np.int64), np.array([], dtype=np.float64)
    mean = made.tensors["item_effects"].astype(np.float64) + made.constants["user_mean"]
    np.testing.assert_array_equal(predictor(made).predict(*nothing, EVERYTHING), mean)
    assert predictor(made).predict(*nothing, nothing[0]).shape == (0,)


def test_each_kind_has_its_predictor(release, kind):
    wanted = FactorPredictor if kind.startswith("factors") else NeighbourPredictor
    assert type(predictor(release(kind))) is wanted


# -- people whom the release lists ------------------------------------------------------------------------


def pairs(made, count=40):
    rng = np.random.default_rng(5)
    return rng.integers(0, len(made.users), count), rng.integers(0, N, count)


def by_hand(made, person, item):
    t = {name: tensor.astype(np.float64) for name, tensor in made.tensors.items()}
    taste = sum(a * b for a, b in zip(t["item_factors"][item], t["user_factors"][person], strict=True))
    return t["item_effects"][item] + made.constants["user_mean"] + t["user_effects"][person] + taste


@pytest.mark.parametrize("rank", [0, 1, 3, N])
def test_a_listed_person_is_predicted_by_his_released_vector(release, rank, monkeypatch):
    made = release("factors and people", n=N, rank=rank)
    people, items = pairs(made)
    wanted = [by_hand(made, *pair) for pair in zip(people, items, strict=True)]
    found = ListedPeople(made).predict(people, items)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    monkeypatch.setattr(fold_in, "_PAIRS", 7)
    np.testing.assert_allclose(ListedPeople(made).predict(people, items), found, rtol=0, atol=1e-12)


def test_somebody_else_s_vector_would_be_noticed(release):
    made = release("factors and people", n=N)
    people, items = pairs(made)
    wrong = ListedPeople(made).predict((people + 1) % len(made.users), items)
    assert np.abs(wrong - ListedPeople(made).predict(people, items)).max() > 0.1


def test_people_are_found_by_their_ids(release):
    people = ListedPeople(release("factors and people"))
    assert people.find(["person 3 é", "nobody", "person 0 é"]).tolist() == [3, -1, 0]
    assert people.find([]).tolist() == []
    with pytest.raises(ReleaseError, match="lists no people"):
        ListedPeople(release())


def test_outsiders_fold_in_as_if_nobody_were_listed(release):
    made = release("factors and people", n=N)
    tensors = {name: tensor for name, tensor in made.tensors.items() if name.startswith("item_")}
    without = dataclasses.replace(made, kind="factors", tensors=tensors, users=())
    for rated, ratings in people():
        one, other = (predictor(r).predict(rated, ratings, EVERYTHING) for r in (made, without))
        np.testing.assert_array_equal(one, other)


def test_item_scores_are_the_same_for_everybody(ranker):
    """Negative ones and ties too; what somebody gave changes nothing but what is asked for."""
    rank = predictor(ranker(scores=[2, -1, 2, 0]))
    targets = np.array([3, 1, 0])
    for rated in ([], [0], [2, 1]):
        assert rank.predict(np.array(rated, dtype=np.int64), np.ones(len(rated)), targets).tolist() == [
            0,
            -1,
            2,
        ]


@pytest.mark.parametrize("kind", ["factors", "factors and people", "neighbours", "dense neighbours"])
def test_lists_are_ordered_by_popularity_and_taste(release, kind):
    made = release(kind, n=N)
    k = int(made.constants["neighbours"]) if "neighbours" in kind else None
    for rated, ratings in people():
        found = predictor(made).rank(rated, ratings, EVERYTHING)
        np.testing.assert_allclose(found, chosen(made, rated, ratings, k), rtol=0, atol=1e-5)
    others = chosen(made, rated, ratings, k, raised=1.9)
    assert np.abs(found - others).max() > 1e-3, "a smaller absence would be seen"


def test_listed_people_are_ranked_by_their_released_tastes(release):
    made = release("factors and people", n=N)
    tastes = made.tensors["item_factors"].astype(float) @ made.tensors["user_factors"][3].astype(float)
    wanted = np.log(made.tensors["item_popularity"].astype(float)) + tastes / 2
    found = ListedPeople(made).rank(np.full(N, 3), EVERYTHING)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
