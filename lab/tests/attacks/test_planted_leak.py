"""Attackers stay below the bound of an honest ε, and refute a release that states a hundredth of its own."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import hushrec as hr
from hushrec.testing import Seeded
from lab.attacks.membership import bound, interval, likelihood_ratios, margins, success
from lab.tests.test_benchmarks import script

membership = script("membership")
STATED = 1.0


def caught(rows, epsilon):
    """Shares of members whom the likelihood ratio catches, one a release."""
    members = np.random.default_rng(7).random((24, rows.shape[0])) < 0.5
    statistics = []
    for half, inside in enumerate(members):
        data = membership.interactions(rows[np.flatnonzero(inside)], {})
        budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
        release = hr.testing.fit(data, hr.PrivateEASE(), budget, entropy=Seeded(half))
        statistics.append(margins(membership.without_themselves(release, rows), rows)[:, None])
    seen = np.stack(statistics)
    return np.array([success(likelihood_ratios(seen, members, k), members[k]).caught for k in range(24)])


@pytest.fixture(scope="module")
def rows():
    """400 people of few items each, who hardly share any: everybody stands out."""
    rng = np.random.default_rng(0)
    return csr_matrix((rng.random((400, 60)) < 0.08).astype(np.float32))


def test_a_release_that_states_a_hundredth_of_its_epsilon_is_refuted(rows):
    """Noise of ε = 100 under a statement of ε = 1: the whole interval lies above what it allows."""
    _, low, _ = interval(caught(rows, 100 * STATED))
    assert low > bound(STATED, 1e-6).caught


def test_an_honest_release_is_not(rows):
    mean, low, _ = interval(caught(rows, STATED))
    assert low <= mean < bound(STATED, 1e-6).caught
