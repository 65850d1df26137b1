"""How a covariance is measured and cleaned: settings, shares of the budget, and factors of a planted one."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.models.phases.covariance import CovarianceSettings, Matrices
from hushrec.privacy.bounded import Noisy

UNITS = ["rating", "user"]


def domain_of(n=12, scale=(1, 5, 1)):
    return hr.Domain(range(n), scale=scale, max_users=100)


def planted(rng, n=12, unit=1.0):
    """A covariance of one factor, told without noise, where every pair was rated alike often."""
    direction = rng.uniform(0.5, 1.5, n) * unit
    upper = np.triu_indices(n)
    covariance = 50 * np.outer(direction, direction)[upper]
    return direction, Matrices(
        Noisy("covariance", covariance, 0.0, 1.0, None),
        Noisy("weights", np.full(len(covariance), 50.0), 0.0, 1.0, None),
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("published", [False, True])
def test_shares_are_the_whole_budget_and_more_of_it_goes_to_what_can_be_seen(budget, unit, published):
    settings, parts = CovarianceSettings(), []
    for epsilon in (0.1, 1.0, 10.0):
        shares = settings.shares(budget(epsilon, unit), published=published)
        assert sum(shares.values()) == pytest.approx(1)
        assert min(shares.values()) > 0
        parts.append(shares["covariance"])
    assert parts == [0.395] * 3 if published else parts[0] < parts[1] < parts[2]


def test_an_epsilon_of_users_hides_as_an_eighth_of_ratings(budget):
    settings = CovarianceSettings()
    for_users, for_ratings = (
        settings.shares(budget(epsilon, unit), published=False)
        for epsilon, unit in ((8.0, "user"), (1.0, "rating"))
    )
    assert for_users == for_ratings


@pytest.mark.parametrize("scale", [(1, 5, 1), (1, 10, 1)])
def test_what_is_left_open_takes_its_analysis_own_default(budget, scale):
    """The clip is a fraction of the scale's width, on any scale."""
    span, domain = scale[1] - scale[0], domain_of(scale=scale)

    def chosen(settings, published):
        sums = settings.sums(domain, budget(), "l2", published=published)
        return sums.clip / span, sums.strength, sums.contribution_cap, sums.offset

    assert chosen(CovarianceSettings(), False) == (0.1625, 300, 30, 5)
    assert chosen(CovarianceSettings(), True) == (0.25, 20, 1, 0)
    zero = CovarianceSettings(clip=0.125, strength=0, contribution_cap=2, offset=0)
    assert chosen(zero, False) == chosen(zero, True) == (0.125, 0, 2, 0)
    assert [CovarianceSettings().way(published=p) for p in (False, True)] == ["weighted", "shrink"]


@pytest.mark.parametrize("way", ["weighted", "shrink", "none"])
@pytest.mark.parametrize("scale", [(1, 5, 1), (4, 20, 4)])
def test_every_way_finds_a_planted_factor(budget, way, scale):
    """In rating units, whatever the scale; shrinking takes a part of it, and keeps its direction."""
    domain = domain_of(scale=scale)
    direction, matrices = planted(np.random.default_rng(1), unit=domain.scale.star)
    settings = CovarianceSettings(cleaning=way, shrinkage=(1.0, 1.0))
    sums = settings.sums(domain, budget(), "l2", published=False)
    found = settings.factors(matrices, sums, np.full(12, 50.0), 1)
    off = ~np.eye(12, dtype=bool)
    wanted, got = np.outer(direction, direction)[off], (found @ found.T)[off]
    assert np.corrcoef(wanted, got)[0, 1] > 0.95
    assert got.mean() == pytest.approx(wanted.mean(), rel=1e-4 if way == "none" else 0.2)


def test_a_dense_release_is_the_average_and_never_divides_by_less_than_one():
    average, weights = CovarianceSettings().dense(
        Matrices(
            Noisy("covariance", np.array([6.0, -2.0, 0.5]), 0.0, 1.0, None),
            Noisy("weights", np.array([3.0, -4.0, 0.25]), 0.0, 1.0, None),
        ),
        2,
    )
    assert (average.tolist(), weights.tolist()) == ([2.0, -2.0, 0.5], [3.0, -4.0, 0.25])
    assert average.dtype == np.float32
