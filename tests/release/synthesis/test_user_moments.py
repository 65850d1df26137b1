"""Moments of users, read back out of a release of linear scores."""

from types import SimpleNamespace

import numpy as np
import pytest

from hushrec.models.lists.estimate import pair_factors
from hushrec.models.lists.estimate.pair_factors import Crowd, ItemFactors, ease, muting
from hushrec.models.lists.outputs import linear_release
from hushrec.release.synthesis import moments as module
from hushrec.release.synthesis.moments import popularity_moments, user_moments
from support.releases import statement

N, RANK, TOTAL = 60, 3, 900.0


class Model(SimpleNamespace):
    def settings(self):
        return {"contribution_cap": 30.0, "rank": RANK}


def solved(unit="user", popular=0.3, users=TOTAL):
    """A release whose covariance is known: factors, the part along v, the total."""
    rng = np.random.default_rng(0)
    counts = users * np.sort(rng.uniform(0.02, 0.6, N))[::-1]
    weights = muting(counts, 1000.0)
    factors = rng.normal(size=(N, RANK)) * np.sqrt(TOTAL * weights.variance / N)[:, None] / 2
    factors -= np.outer(weights.direction, weights.direction @ factors)
    crowd = Crowd(TOTAL, TOTAL, 1000.0, 1000.0, 0.4)
    linear, _ = ease(ItemFactors(factors, np.zeros((0, RANK))), weights, popular * TOTAL, crowd)
    domain = SimpleNamespace(
        items=tuple(f"i{k}" for k in range(N)), rating_scale=None, likes=None, counts=None
    )
    made = linear_release(Model(), domain, linear, counts)
    object.__setattr__(made, "statement", statement(unit=unit, interactions=True))
    return made, factors, weights, counts


def test_the_covariance_that_ease_was_solved_for_is_read_back():
    made, factors, weights, counts = solved()
    moments = user_moments(made)
    assert moments.popular_part == pytest.approx(0.3, rel=0.02)
    assert moments.factors @ moments.factors.T == pytest.approx(factors @ factors.T / TOTAL, abs=2e-4)
    assert moments.direction == pytest.approx(weights.direction, abs=1e-5)
    assert counts.sum() / moments.counts.sum() == pytest.approx(TOTAL, rel=0.01)  # the crowd


def test_people_have_as_many_items_as_the_counts_say():
    made, _, _, counts = solved()
    lengths = user_moments(made).lengths
    assert lengths.capped_mean(30.0) == pytest.approx(counts.sum() / TOTAL, rel=0.01)


def test_of_unit_record_the_crowd_follows_from_lengths():
    made, _, weights, counts = solved("record", users=TOTAL / 4)
    moments = user_moments(made)
    n_users = counts.sum() / moments.counts.sum()
    # The total is Σ ‖y‖, and people have the items that counts and weights say.
    square = counts @ weights.weights**2 / counts.sum()
    numbers = moments.lengths.quantiles(20_000)
    assert n_users * np.sqrt(numbers).mean() * np.sqrt(square) == pytest.approx(TOTAL, rel=0.02)
    assert moments.counts.sum() == pytest.approx(numbers.mean(), rel=0.01)


def test_the_constants_are_those_of_the_model():
    assert (module.RIDGE, module.FLOOR) == (pair_factors.RIDGE, pair_factors._FLOOR)


def test_counts_alone_hold_no_taste():
    lengths = user_moments(solved()[0]).lengths
    moments = popularity_moments(np.array([3.0, 1.0, 0.0]), lengths)
    assert moments.factors.shape == (3, 0)
    assert moments.counts[0] == pytest.approx(3 * moments.counts[1])
