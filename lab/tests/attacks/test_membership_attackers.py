"""Attackers compute what they say, against loops over people."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from lab.attacks import membership


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return csr_matrix((rng.random((30, 40)) < 0.3).astype(np.float32))


@pytest.fixture
def scores():
    return np.random.default_rng(1).normal(3, 2, (30, 40))


def test_margins_are_those_of_a_loop(rows, scores):
    for person, margin in enumerate(membership.margins(scores, rows)):
        own = rows[person].indices
        others = np.delete(scores[person], own)
        assert margin == pytest.approx((scores[person, own].mean() - others.mean()) / others.std())


def test_the_nearest_row_is_that_of_a_loop(rows):
    published = csr_matrix((np.random.default_rng(2).random((50, 40)) < 0.2).astype(np.float32))
    unit = [of.toarray() / np.linalg.norm(of.toarray(), axis=1)[:, None] for of in (rows, published)]
    assert membership.nearest(rows, published) == pytest.approx((unit[0] @ unit[1].T).max(1), abs=1e-6)
    assert membership.nearest(rows, rows) == pytest.approx(np.ones(30), abs=1e-6)


def test_a_classifier_learns_what_a_shadow_shows():
    rng = np.random.default_rng(4)
    members = rng.random((2, 600)) < 0.5
    shadow, victim = (rng.normal(size=(600, 4)) + 2 * inside[:, None] for inside in members)
    guesses = membership.classified(shadow, members[0], victim, seed=0)
    assert guesses[members[1]].mean() > 4 + guesses[~members[1]].mean()


def test_likelihood_ratios_are_those_of_a_loop():
    rng = np.random.default_rng(5)
    members = rng.random((9, 7)) < 0.5
    members[:, 0] = True  # whom no shadow lacks
    statistics = rng.normal(size=(9, 7, 2)) + members[..., None]
    found = membership.likelihood_ratios(statistics, members, victim=3)
    for person in range(7):
        others = [k for k in range(9) if k != 3]
        inside = [k for k in others if members[k, person]]
        outside = [k for k in others if not members[k, person]]
        if min(len(inside), len(outside)) < 2:
            assert found[person] == 0
            continue
        ratio = 0.0
        for which in range(2):
            seen = statistics[:, person, which]
            centre = [seen[inside].mean(), seen[outside].mean()]
            rest = np.concatenate([seen[inside] - centre[0], seen[outside] - centre[1]])
            variance = (rest**2).sum() / (len(others) - 2)
            ratio += ((seen[3] - centre[1]) ** 2 - (seen[3] - centre[0]) ** 2) / (2 * variance)
        assert found[person] == pytest.approx(ratio)
    assert found[0] == 0
