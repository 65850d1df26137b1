"""Friedman, Berkovsky & Kaafar 2016 as printed: averages, noisy ratings and least squares, by hand."""

import math

import numpy as np
import pytest

from hushrec.errors import ConfigError
from hushrec.privacy.accounting.measurement import EVERY_RATING
from lab.paper import PaperRun
from lab.published import (
    FriedmanALS,
    FriedmanBoundedSGD,
    FriedmanEffects,
    FriedmanInputMF,
    FriedmanUnboundedSGD,
    cost,
)
from support.runs import exact

KINDS = [
    FriedmanEffects,
    FriedmanInputMF,
    FriedmanALS,
    FriedmanBoundedSGD,
    FriedmanUnboundedSGD,
]
each_kind = pytest.mark.parametrize("kind", KINDS)


def configured(kind):
    return kind(**{name: 3 for name in ("rank", "epochs") if name in kind.model_fields})


def averages(config, ratings, run):
    return config._biases(ratings, run)


# -- the averages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("item_reg", "user_reg"), [(15.0, 20.0), (10.0, 100.0), (0.0, 0.0)])
def test_without_noise_they_are_algorithms_1_and_2(listed, item_reg, user_reg):
    train, _ = listed
    users = np.repeat(np.arange(train.domain.n_users), np.diff(train.roster_indptr()))
    values = train.numbers()
    n = np.bincount(train.items, minlength=150)
    level = values.mean()
    sums = np.bincount(train.items, values, minlength=150) + item_reg * level
    items = np.clip(sums / np.maximum(n + item_reg, 1), 1, 5)
    left = values - items[train.items]
    counts = np.bincount(users, minlength=train.domain.n_users)
    sums = np.bincount(users, left, minlength=train.domain.n_users) + user_reg * left.mean()
    people = np.clip(sums / np.maximum(counts + user_reg, 1), -2, 2)
    config = FriedmanEffects(item_reg=item_reg, user_reg=user_reg)
    found = averages(config, train, exact())
    rated = n > 0
    np.testing.assert_allclose(found.item_effects[rated], items[rated], atol=1e-3)
    np.testing.assert_allclose(found.user_effects, people, atol=1e-3)
    np.testing.assert_array_equal(found.user_counts, counts)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_the_global_means_get_a_fiftieth(listed, budget, adjacency):
    split = FriedmanEffects().budget_split(listed[0].domain, budget(adjacency=adjacency))
    if adjacency == "replace":
        expected = {"global sum": 0.01, "residual sum": 0.01, "item sums": 0.54, "user sums": 0.44}
    else:
        halves = {"item": 0.27, "user": 0.22}
        expected = {f"{side} {what}": part for side, part in halves.items() for what in ("sums", "counts")}
        expected |= {"global sum": 0.005, "global count": 0.005, "residual sum": 0.01}
    assert split == pytest.approx(expected)


@each_kind
def test_all_of_the_averages_noise_is_laplace(listed, budget, kind):
    for unit, adjacency in kind.supports:
        domain, allowed = listed[0].domain, budget(2.0, unit, adjacency, delta=0.0)
        noises, split = (
            configured(kind).printed(domain, allowed),
            configured(kind).budget_split(domain, allowed),
        )
        averages = [name for name in noises if "epoch" not in name]
        assert all(noises[name].norm == "l1" for name in averages)
        part = 1.0 if kind is FriedmanEffects else 0.3
        own = math.fsum(split[name] for name in averages if name not in ("ratings", "cells"))
        assert own == pytest.approx(part, abs=0.01)


# -- input perturbation -----------------------------------------------------------------------------------


def test_cells_are_released_clamped_and_thresholded(listed, budget):
    """Nothing between −α and α is listed where a rating may be new, nothing beyond ±B."""
    train, _ = listed
    for adjacency in ("add-remove", "replace"):
        config, allowed = FriedmanInputMF(), budget(4.0, adjacency=adjacency)
        cells, run = config._cells(train.domain, allowed), PaperRun.of(config, train.domain, allowed, 1)
        levels = np.full(train.domain.n_items, 3.4), np.zeros(train.domain.n_users)
        noisy = cells.measure(run, cells.residuals.entries(train, *levels))
        sizes = np.abs(noisy.values)
        assert sizes.max() <= 1 + 1e-6
        if adjacency == "replace":
            assert len(noisy.values) == train.n_entries
            np.testing.assert_array_equal(noisy.columns, train.items)
        else:
            assert sizes.min() >= 0.6 - 1e-3
            # α = 0.6 and b = 1/2.8: e^(−0.6 · 2.8) of 150,000 empty cells pass.
            empty = train.domain.n_users * train.domain.n_items - train.n_entries
            assert len(noisy.values) > 0.15 * empty


def test_under_replace_every_rating_gets_noise_and_its_claim_is_true(listed, budget):
    domain, allowed = listed[0].domain, budget(2.0, adjacency="replace", delta=0.0)
    event = FriedmanInputMF().printed(domain, allowed)["ratings"]
    assert (event.size, event.sensitivity) == (EVERY_RATING, 2)
    assert FriedmanInputMF().budget_split(domain, allowed)["ratings"] == 0.7
    worth = cost(FriedmanInputMF(), domain, allowed)
    assert worth.true == pytest.approx(worth.claimed, rel=1e-6)


def test_a_threshold_without_effect_is_refused(listed, budget):
    with pytest.raises(ConfigError, match="threshold has no effect with adjacency 'replace'"):
        FriedmanInputMF(threshold=0.2).printed(listed[0].domain, budget(adjacency="replace"))


# -- alternating least squares ----------------------------------------------------------------------------


def test_noise_is_worth_its_claim_only_where_bounds_are_not_exchanged(listed, budget):
    for exchanged, epsilon in ((True, 4.0 * 1.0175), (False, 4.0)):
        config = FriedmanALS(exchanged_bounds=exchanged)
        worth = cost(config, listed[0].domain, budget(adjacency="replace"))
        assert worth.true == pytest.approx(epsilon, rel=1e-9)
        assert worth.claimed == 4
    with pytest.raises(ConfigError, match="exchanged_bounds has no effect with adjacency 'add-remove'"):
        FriedmanALS(exchanged_bounds=False).printed(listed[0].domain, budget())


def test_without_noise_it_is_weighted_least_squares(listed_rmse):
    assert listed_rmse(FriedmanALS(rank=4, item_reg=15, user_reg=20)) < 0.93


@pytest.mark.parametrize("kind", [FriedmanALS, FriedmanUnboundedSGD])
def test_of_noise_on_vectors_no_finite_epsilon_is_known_under_add_remove(listed, budget, kind):
    worth = cost(kind(rank=2, epochs=2), listed[0].domain, budget())
    assert (worth.claimed, worth.true) == (4, math.inf)
