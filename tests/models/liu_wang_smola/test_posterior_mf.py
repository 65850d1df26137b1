"""Langevin dynamics under noise, and people who each ask for an ε of their own."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu


def user(budget, epsilon=4.0):
    return budget(epsilon, unit="user")


def fitted(ratings, model, budget, seed=1):
    return hr.testing.fit(ratings, model, budget, entropy=hr.testing.Seeded(seed))


def same(one, other):
    return all(np.array_equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())


@pytest.mark.full
def test_steps_find_what_effects_leave(rmse, budget):
    config = hr.PosteriorMF(rank=4)
    assert rmse(config) < rmse(hr.GlobalEffects()) - 0.02
    assert rmse(config, user(budget, 20.0)) < rmse(hr.GlobalEffects(), user(budget, 20.0)) - 0.005
    errors = [rmse(config, user(budget, epsilon)) for epsilon in (0.3, 5.0, 1000.0)]
    assert errors[0] > errors[1] > errors[2] + 0.005


# -- an ε per user ----------------------------------------------------------------------------------


@pytest.fixture
def choosing(world):
    """A third asks for nothing, a third for a little, a third for more than there is."""
    return world[0].with_personal_epsilon(np.tile([0.0, 0.5, 9.0], world[0].n_users)[: world[0].n_users])


def test_who_asks_for_nothing_has_no_influence_at_all(choosing, budget):
    model = hr.PosteriorMF(rank=3, epochs=3)
    without = choosing.select(np.repeat(choosing.personal_epsilon > 0, choosing.counts))
    here, there = fitted(choosing, model, user(budget)), fitted(without, model, user(budget))
    assert here.to_bytes() == there.to_bytes()
    assert not same(
        here,
        fitted(
            choosing.select(np.repeat(choosing.personal_epsilon < 9, choosing.counts)), model, user(budget)
        ),
    )


def test_who_asks_for_nothing_has_none_without_noise_either(choosing):
    model = hr.PosteriorMF(rank=3, epochs=3)
    without = choosing.select(np.repeat(choosing.personal_epsilon > 0, choosing.counts))
    assert same(hr.baseline(choosing, model), hr.baseline(without, model))


def test_who_asks_for_a_little_counts_for_a_little(world, budget):
    """Under the same noise, the less people ask for the nearer the release is to that of nobody."""
    model, train = hr.PosteriorMF(rank=2, epochs=2), world[0]
    asked = 4.0, gaussian_epsilon(gaussian_mu(4.0, 1e-6) / 2, 1e-6), 0.1, 0.0
    full, half, little, nobody = (
        fitted(train.with_personal_epsilon(np.full(train.n_users, epsilon)), model, user(budget))
        for epsilon in asked
    )
    assert same(full, fitted(train, model, user(budget)))
    away = [
        np.linalg.norm(release.tensors["item_effects"] - nobody.tensors["item_effects"])
        for release in (little, half, full)
    ]
    assert 0 < away[0] < away[1] < away[2]
