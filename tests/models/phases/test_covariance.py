"""How a covariance is measured and cleaned: settings, shares of the budget, and factors of a planted one."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import ConfigError
from hushrec.models.phases.covariance import (
    CovarianceSettings,
    Matrices,
    covariance_footprint,
    dense,
    require_dense,
    shrunk_factors,
)
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
def test_shares_are_the_whole_budget_and_more_of_it_goes_to_what_can_be_seen(budget, unit):
    settings, parts = CovarianceSettings(), []
    for epsilon in (0.1, 1.0, 10.0):
        shares = settings.shares(budget(epsilon, unit))
        assert sum(shares.values()) == pytest.approx(1)
        assert min(shares.values()) > 0
        parts.append(shares["covariance"])
    assert parts[0] < parts[1] < parts[2]


def test_an_epsilon_of_users_hides_as_an_eighth_of_ratings(budget):
    settings = CovarianceSettings()
    for_users, for_ratings = (
        settings.shares(budget(epsilon, unit)) for epsilon, unit in ((8.0, "user"), (1.0, "rating"))
    )
    assert for_users == for_ratings


@pytest.mark.parametrize("scale", [(1, 5, 1), (1, 10, 1)])
def test_the_clip_is_a_fraction_of_the_scales_width(budget, scale):
    domain = domain_of(scale=scale)

    def chosen(**settings):
        sums = CovarianceSettings(**settings).sums(domain, budget(), "l2")
        return sums.clip / domain.scale.span, sums.strength, sums.contribution_cap, sums.offset, sums.limit

    half = domain.scale.span / 2
    assert chosen() == (0.1625, 300, 30, 5, half)
    assert chosen(clip=0.125, strength=0, contribution_cap=2, offset=0) == (0.125, 0, 2, 0, half)


@pytest.mark.parametrize("way", ["weighted", "shrink", "none"])
@pytest.mark.parametrize("scale", [(1, 5, 1), (4, 20, 4)])
def test_every_way_finds_a_planted_factor(budget, way, scale):
    """In rating units, whatever the scale; shrinking takes a part of it, and keeps its direction."""
    domain = domain_of(scale=scale)
    direction, matrices = planted(np.random.default_rng(1), unit=domain.scale.star)
    more = {"shrinkage": (1.0, 1.0)} if way == "shrink" else {}
    settings = CovarianceSettings(cleaning=way, **more)
    sums = settings.sums(domain, budget(), "l2")
    found = settings.factors(matrices, sums, np.full(12, 50.0), 1)
    off = ~np.eye(12, dtype=bool)
    wanted, got = np.outer(direction, direction)[off], (found @ found.T)[off]
    assert np.corrcoef(wanted, got)[0, 1] > 0.95
    assert got.mean() == pytest.approx(wanted.mean(), rel=1e-4 if way == "none" else 0.2)


def test_a_dense_release_is_the_average_and_never_divides_by_less_than_one():
    found = dense(
        Matrices(
            Noisy("covariance", np.array([6.0, -2.0, 0.5]), 0.0, 1.0, None),
            Noisy("weights", np.array([3.0, -4.0, 0.25]), 0.0, 1.0, None),
        )
    )
    average, weights = found["covariance"], found["similarity"]
    assert (average.tolist(), weights.tolist()) == ([2.0, -2.0, 0.5], [3.0, -4.0, 0.25])
    assert average.dtype == np.float32


def test_more_shrinkage_makes_items_more_alike():
    """All pairs are shrunk to their mean (McSherry & Mironov 2009, §4.6)."""
    domain, counts = domain_of(), np.full(12, 50.0)
    _, matrices = planted(np.random.default_rng(2))
    spread = []
    for beta in (0.0, 100.0, 1e6):
        factors = shrunk_factors(matrices, domain, (beta, beta), counts, 1)
        products = (factors @ factors.T)[~np.eye(12, dtype=bool)]
        spread.append(products.std() / products.mean())
    assert spread[0] > spread[1] > spread[2]


def test_matrices_of_a_large_catalogue_are_not_released_without_cleaning():
    require_dense(domain_of(10_000))
    with pytest.raises(ConfigError, match="at most 10,000 items; set a cleaning"):
        require_dense(domain_of(10_001))


def test_cleaning_takes_memory_and_time_beside_measuring():
    plain, weighted, shrunk = (
        covariance_footprint(domain_of(2000), rank, weighted=way)
        for rank, way in ((0, False), (20, True), (20, False))
    )
    assert plain.memory < weighted.memory < shrunk.memory
    assert plain.seconds < shrunk.seconds < weighted.seconds
    assert CovarianceSettings().footprint(domain_of(2000), 20) == weighted
    assert CovarianceSettings(cleaning="none").footprint(domain_of(2000), 0) == plain
