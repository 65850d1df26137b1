"""Tests of LandmarkItems: the sum is its formula, Δ holds, and lists are personal."""

from dataclasses import replace

import numpy as np
import pytest
from landmark_items import LandmarkItems, LandmarkPairs

import hushrec as hr
from hushrec.testing import Seeded, fit, search_neighbours

BUDGET = hr.Budget(epsilon=4, delta=1e-6, unit="user", adjacency="add-remove")


class WrongDelta(LandmarkItems):
    """A slip: Δ = √½ would be right if the sum held each pair of items once."""

    def queries(self, domain, terms):
        counts, pairs = super().queries(domain, terms)
        return [counts, replace(pairs, sensitivity=0.5**0.5)]


@pytest.fixture(scope="module")
def clicks():
    return hr.synthetic.interactions(users=1000, items=60, interactions=12_000, seed=1)


def test_the_sum_is_its_formula(clicks):
    given = np.zeros((clicks.n_users, clicks.domain.n_items))
    given[clicks.user_index(), clicks.items] = 1
    landmarks = np.array([7, 0, 33])
    marked = given[:, landmarks]
    weights = 1 / np.sqrt(np.maximum(marked.sum(1) * given.sum(1), 1))
    sums = LandmarkPairs(len(landmarks), clicks.domain.n_items)
    counted = sums.measure(clicks, landmarks) * sums.query.step
    lost = marked.T @ (weights[:, None] * given) - counted
    assert lost.min() > -1e-9
    assert lost.max() <= clicks.n_users * sums.query.step, "each weight is rounded down by less than a step"


def test_blocks_of_a_folder_have_the_same_sum(clicks, tmp_path):
    stored = replace(hr.load(clicks.table(), clicks.domain, where=tmp_path / "clicks"), _per_block=1000)
    landmarks, sums = np.array([7, 0, 33]), LandmarkPairs(3, clicks.domain.n_items)
    one, other = (sums.measure(source, landmarks) for source in (clicks, stored))
    assert stored.n_blocks > 1
    assert np.array_equal(one, other)


def test_delta_holds():
    assert max(search_neighbours(LandmarkItems(rank=4), BUDGET).values()) <= 1


def test_a_wrong_delta_is_found():
    assert search_neighbours(WrongDelta(rank=4), BUDGET)["landmark pairs"] > 1.4


def test_lists_are_personal(clicks):
    client = hr.Client(fit(clicks, LandmarkItems(), BUDGET, entropy=Seeded(0)))
    one, other = (client.recommend([item], n=5) for item in clicks.domain.items[:2])
    assert [row.item_id for row in one] != [row.item_id for row in other]


def test_noise_that_hides_all_pairs_leaves_popularity(clicks):
    little = BUDGET.model_copy(update={"epsilon": 0.01})
    release = fit(clicks, LandmarkItems(), little, entropy=Seeded(0))
    assert release.kind == "item scores"
