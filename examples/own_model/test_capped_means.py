"""Tests of CappedMeans: the means are right, and Δ holds, also where the domain caps more than K."""

import numpy as np
import pytest
from capped_means import CappedMeans

import hushrec as hr
from hushrec.testing import Seeded, fit, search_neighbours

BUDGET = hr.Budget(epsilon=4, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.mark.parametrize("cap", [2, 10_000])
def test_delta_holds(cap):
    assert max(search_neighbours(CappedMeans(contribution_cap=cap), BUDGET).values()) <= 1


def test_delta_uses_the_smaller_cap():
    domain = hr.Domain(range(9), scale=(1, 5, 1), max_per_user=4, max_users=100)
    few, many = (CappedMeans(contribution_cap=cap).queries(domain, BUDGET) for cap in (1, 10_000))
    assert [query.sensitivity for query in few] == [2, 1]
    assert [query.sensitivity for query in many] == [4, 2]


def test_means_are_means():
    ratings = hr.synthetic.netflix_like(users=1000, items=20, ratings=10_000, seed=1)
    release = hr.baseline(ratings, CappedMeans(reg=1e-6))
    capped = ratings.capped(20)
    sums = np.bincount(capped.items, capped.numbers())
    assert release.tensors["item_effects"] == pytest.approx(sums / np.bincount(capped.items), abs=1e-6)
    noisy = fit(ratings, CappedMeans(), BUDGET, entropy=Seeded(0))
    assert noisy.tensors["item_effects"] == pytest.approx(release.tensors["item_effects"], abs=0.5)
