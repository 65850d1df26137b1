"""Membership attackers compute what they say, no attack passes the bound, and a false ε is refuted."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hushrec as hr
from hushrec.privacy.accounting.accountant import gaussian_mu
from hushrec.testing import Seeded
from lab.attacks.membership import (
    bound,
    classified,
    interval,
    likelihood_ratios,
    margins,
    nearest,
    success,
)
from lab.tests.test_benchmarks import script

board, deletion = script("membership"), script("deletion")
STATED = 1.0


def caught(rows, epsilon):
    """Shares of members whom the likelihood ratio catches, one a release."""
    members = np.random.default_rng(7).random((24, rows.shape[0])) < 0.5
    statistics = []
    for half, inside in enumerate(members):
        data = board.interactions(rows[np.flatnonzero(inside)], {})
        budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
        release = hr.testing.fit(data, hr.PrivateEASE(), budget, entropy=Seeded(half))
        statistics.append(margins(board.without_themselves(release, rows), rows)[:, None])
    seen = np.stack(statistics)
    return np.array([success(likelihood_ratios(seen, members, k), members[k]).caught for k in range(24)])


@pytest.fixture(scope="module")
def crowd():
    """400 people of few items each, who hardly share any: everybody stands out."""
    rng = np.random.default_rng(0)
    return csr_matrix((rng.random((400, 60)) < 0.08).astype(np.float32))


def test_a_release_that_states_a_hundredth_of_its_epsilon_is_refuted(crowd):
    """Noise of ε = 100 under a statement of ε = 1: the whole interval lies above what it allows."""
    _, low, _ = interval(caught(crowd, 100 * STATED))
    assert low > bound(STATED, 1e-6).caught


def test_an_honest_release_is_not(crowd):
    mean, low, _ = interval(caught(crowd, STATED))
    assert low <= mean < bound(STATED, 1e-6).caught


def test_rates_of_a_known_order():
    members = np.array([True] * 4 + [False] * 200)
    suspicion = np.concatenate([[9.0, 9.0, 5.0, -1.0], np.linspace(0, 7, 200)])
    found = success(suspicion, members)
    assert found.caught == pytest.approx(2 / 4)  # two of the others may stand above the threshold
    above = [(score > suspicion[4:]).mean() for score in suspicion[:4]]
    assert found.auc == pytest.approx(np.mean(above))
    assert success(-suspicion, members).auc == pytest.approx(1 - found.auc)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_no_attack_on_gaussian_noise_exceeds_the_bound_and_the_best_meets_it(epsilon):
    """The best attack on N(0, 1) against N(μ, 1) is its value. 400,000 draws: six standard errors."""
    mu, rng = gaussian_mu(epsilon, 1e-6), np.random.default_rng(0)
    members = rng.random(400_000) < 0.5
    found = success(rng.normal(size=400_000) + mu * members, members)
    limit = bound(epsilon, 1e-6)
    assert found.auc == pytest.approx(limit.auc, abs=6 * 0.0012)
    assert found.caught == pytest.approx(limit.caught, abs=6 * 0.006)


def test_without_noise_there_is_no_bound():
    assert bound(np.inf, 1e-6).auc == bound(np.inf, 1e-6).caught == 1


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return csr_matrix((rng.random((30, 40)) < 0.3).astype(np.float32))


def test_a_person_is_taken_out_as_if_never_trained_on(rows):
    without = deletion.downdated(deletion.inverted(rows), rows[4:6])
    again = deletion.EASE(deletion.EASE_PENALTY).fit(rows[[*range(4), *range(6, 30)]], seed=0)
    assert deletion.weights(without) == pytest.approx(again, abs=1e-7)
    assert abs(deletion.weights(deletion.inverted(rows)) - again).max() > 1e-4


@pytest.fixture
def scores():
    return np.random.default_rng(1).normal(3, 2, (30, 40))


def test_margins_are_those_of_a_loop(rows, scores):
    for person, margin in enumerate(margins(scores, rows)):
        own = rows[person].indices
        others = np.delete(scores[person], own)
        assert margin == pytest.approx((scores[person, own].mean() - others.mean()) / others.std())


def test_the_nearest_row_is_that_of_a_loop(rows):
    published = csr_matrix((np.random.default_rng(2).random((50, 40)) < 0.2).astype(np.float32))
    unit = [of.toarray() / np.linalg.norm(of.toarray(), axis=1)[:, None] for of in (rows, published)]
    assert nearest(rows, published) == pytest.approx((unit[0] @ unit[1].T).max(1), abs=1e-6)
    assert nearest(rows, rows) == pytest.approx(np.ones(30), abs=1e-6)


def test_a_classifier_learns_what_a_shadow_shows():
    rng = np.random.default_rng(4)
    members = rng.random((2, 600)) < 0.5
    shadow, victim = (rng.normal(size=(600, 4)) + 2 * inside[:, None] for inside in members)
    guesses = classified(shadow, members[0], victim, seed=0)
    assert guesses[members[1]].mean() > 4 + guesses[~members[1]].mean()


def test_likelihood_ratios_are_those_of_a_loop():
    rng = np.random.default_rng(5)
    members = rng.random((9, 7)) < 0.5
    members[:, 0] = True  # whom no shadow lacks
    statistics = rng.normal(size=(9, 7, 2)) + members[..., None]
    found = likelihood_ratios(statistics, members, victim=3)
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
