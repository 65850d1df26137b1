"""Friedman, Berkovsky & Kaafar 2016, §5.4: the parts of ε, the covariance and predictions by hand, its Δ."""

import math

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.kernels.csr import unpack
from lab.friedman_berkovsky_kaafar.published_neighbours import listed_predictions
from lab.published import FriedmanEffects, FriedmanKNN, cost, fit
from support.runs import exact


def rows(ratings):
    """Every rating's place on the roster, item and value."""
    people = np.repeat(np.arange(ratings.domain.n_users), np.diff(ratings.roster_indptr()))
    return people, ratings.items, ratings.numbers()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_epsilon_is_divided_as_section_5_4_prints(listed, budget, adjacency):
    """0.02 global averages, 0.44 items, 0.44 users, 0.1 neighbours; not 0.02, 0.19 and 0.79."""
    domain, allowed = listed[0].domain, budget(2.0, adjacency=adjacency, delta=0.0)
    split = FriedmanKNN().budget_split(domain, allowed)
    parts = {
        "global": ("global sum", "global count", "residual sum"),
        "items": ("item sums", "item counts"),
        "users": ("user sums", "user counts"),
        "neighbours": ("covariance", "co-rating weights"),
    }
    found = {part: math.fsum(split.get(name, 0.0) for name in names) for part, names in parts.items()}
    assert found == pytest.approx({"global": 0.02, "items": 0.44, "users": 0.44, "neighbours": 0.1})
    noises = FriedmanKNN().printed(domain, allowed)
    assert all(noise.norm == "l1" for noise in noises.values())
    b = {name: bound / (split[name] * 2.0) for name, bound in (("covariance", 11), ("user sums", 4))}
    assert {name: noises[name].noise for name in b} == pytest.approx(b, rel=1e-6)


def test_its_averages_are_those_of_the_private_global_effects(listed, budget):
    train, config = listed[0], FriedmanKNN(rank=3)
    made = hr.baseline(train, config)
    effects = FriedmanEffects()._biases(train, exact(adjacency="replace"))
    assert list(made.averages) == list(train.domain.users)
    np.testing.assert_allclose([*made.averages.values()], effects.user_effects)
    noisy = fit(train, config, budget(0.05, adjacency="replace", delta=0.0), 1)
    assert {min(noisy.averages.values()), max(noisy.averages.values())} == {-2, 2}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_its_covariance_is_of_residuals_of_released_averages(listed, adjacency):
    """Σ_u x xᵀ/n with x = clamp(r − μ − b, ±1), in NumPy."""
    train, config, run = listed[0], FriedmanKNN(rank=3), exact(adjacency=adjacency)
    biases = config._biases(train, run)
    sums = config._covariance(train.domain, run.terms, biases.user_effects)
    (query, covariance), (_, weights) = sums.measure(train, biases.item_effects, 0.0)
    people, items, values = rows(train)
    dense, rated = np.zeros((2, train.domain.n_users, train.domain.n_items))
    left = values - biases.item_effects[items] - biases.user_effects[people]
    dense[people, items], rated[people, items] = np.clip(left, -1, 1), 1
    n = np.maximum(rated.sum(axis=1, keepdims=True), 1)
    size = train.domain.n_items
    np.testing.assert_allclose(
        unpack(covariance() * query.step, size, np.float64), (dense / n).T @ dense, atol=1e-2
    )
    np.testing.assert_allclose(
        unpack(weights() * sums.weights.step, size, np.float64), (rated / n).T @ rated, atol=1e-2
    )


def test_a_prediction_by_hand(listed):
    """μ + b + Σ w (r − μ − b), of the k rated items of largest Wgt, with (C_NN + diag σ²) w = C_Ni."""
    train, test = listed
    made = hr.baseline(train, FriedmanKNN(rank=3, n_neighbours=4))
    predicted = listed_predictions(made, train=train, test=test)
    factors, alike = (made.tensors[name].astype(float) for name in ("item_factors", "similarity_factors"))
    covariance, similarity = factors @ factors.T, alike @ alike.T
    effects, noise = made.tensors["item_effects"].astype(float), made.tensors["item_noise"].astype(float)
    given, users = train.users.to_pylist(), test.users.to_pylist()
    for at in (0, 17, test.n_entries - 1):
        user, item = users[test.user_index()[at]], test.items[at]
        own = slice(*train.indptr[given.index(user) : given.index(user) + 2])
        average = made.averages[user]
        rated, left = train.items[own], train.numbers()[own] - effects[train.items[own]] - average
        near = np.argsort(-similarity[item, rated], kind="stable")[:4]
        system = covariance[np.ix_(rated[near], rated[near])] + np.diag(noise[rated[near]])
        w = np.linalg.solve(system, covariance[rated[near], item])
        by_hand = np.clip(effects[item] + average + w @ left[near], 1, 5)
        assert predicted[at] == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize(("adjacency", "norm"), [("replace", 4.0), ("add-remove", 3.0)])
def test_one_rating_moves_one_residual(listed, adjacency, norm):
    """So Δ is far below the 11 of Theorem 5: the printed part of ε costs less than it claims."""
    domain, allowed = listed[0].domain, hr.Budget(epsilon=1, delta=0, unit="record", adjacency=adjacency)
    found = FriedmanKNN().printed(domain, allowed)["covariance"]
    assert 0.9 * norm < found.sensitivity < 1.01 * norm
    assert cost(FriedmanKNN(), domain, allowed).claimed == 1
    if adjacency == "replace":
        assert cost(FriedmanKNN(), domain, allowed).true < 1


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_no_neighbour_moves_the_covariance_by_more_than_its_bound(adjacency):
    """All residuals at ±B, one of them added, removed or turned: for each count of ratings."""
    rng, n = np.random.default_rng(0), 12
    domain = hr.Domain(range(n), scale=(1, 5, 1), max_users=10, users=["u"])
    config, run = FriedmanKNN(rank=1), exact(adjacency=adjacency)
    sums = config._covariance(domain, run.terms, np.zeros(1))
    bound = next(sums.queries()).sensitivity
    largest = 0.0

    def measured(values):
        kept = [(i, v) for i, v in enumerate(values) if v]
        given = [("u", str(item), float(value)) for item, value in kept]
        ratings = hr.load(pl.DataFrame(given, schema=["user_id", "item_id", "rating"], orient="row"), domain)
        (query, values), _ = sums.measure(ratings, np.full(n, 3.0), 0.0)
        return unpack(values() * query.step, n, np.float64)

    for c in range(1, n):
        ratings = np.zeros(n)
        ratings[:c] = rng.choice([1, 5], c)
        neighbour = ratings.copy()
        if adjacency == "replace":
            neighbour[0] = 6 - ratings[0]
        else:
            neighbour[c] = rng.choice([1, 5])
        largest = max(largest, float(np.abs(measured(ratings) - measured(neighbour)).sum()))
    assert largest <= bound
    assert largest > 0.85 * bound
