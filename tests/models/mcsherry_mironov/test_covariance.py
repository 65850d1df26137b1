"""How a covariance is measured and cleaned: settings, split of the budget, and factors of a planted one."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import ConfigError
from hushrec.estimation.head import Head
from hushrec.estimation.low_rank import Triangle
from hushrec.models.base import EFFECTS_SPLIT
from hushrec.models.mcsherry_mironov.covariance_model import (
    CovarianceSettings,
    Matrices,
    dense,
    require_dense,
)

UNITS = ["record", "user"]


def domain_of(n=12, scale=(1, 5, 1)):
    return hr.Domain(range(n), scale=scale, max_users=100)


def planted(rng, n=12, unit=1.0):
    """A covariance of one factor, told without noise, where every pair was rated alike often."""
    direction = rng.uniform(0.5, 1.5, n) * unit
    upper = np.triu_indices(n)
    covariance = 50 * np.outer(direction, direction)[upper]
    return direction, Matrices(
        Triangle(covariance.astype(np.float32), 0.0),
        Triangle(np.full(len(covariance), 50.0, np.float32), 0.0),
        Head(n, np.arange(n)),
    )


@pytest.mark.parametrize("unit", UNITS)
def test_shares_are_the_whole_budget_and_more_of_it_goes_to_what_can_be_seen(budget, unit):
    settings, parts = CovarianceSettings(), []
    crowd = {"expected_users": 5_000, "expected_records": 250_000}
    domain = hr.Domain(range(120), scale=(1, 5, 1), max_users=10_000, **crowd)
    for epsilon in (0.1, 1.0, 10.0):
        split = settings.budget_split(domain, budget(epsilon, unit), "l2")
        assert sum(split.values()) == pytest.approx(1)
        assert min(split.values()) > 0
        parts.append(split["covariance"])
        of_effects = 1 - split["covariance"] - split["co-rating weights"]
        assert {name: split[name] / of_effects for name in EFFECTS_SPLIT} == pytest.approx(EFFECTS_SPLIT)
    assert parts[0] < parts[1] < parts[2]


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
            Triangle(np.array([6.0, -2.0, 0.5], np.float32), 0.0),
            Triangle(np.array([3.0, -4.0, 0.25], np.float32), 0.0),
            Head(2, np.arange(2)),
        )
    )
    average, weights = found["covariance"], found["similarity"]
    assert (average.tolist(), weights.tolist()) == ([2.0, -2.0, 0.5], [3.0, -4.0, 0.25])
    assert average.dtype == np.float32


def test_matrices_of_a_large_catalogue_are_not_released_without_cleaning():
    require_dense(domain_of(10_000))
    with pytest.raises(ConfigError, match="at most 10,000 items; set a cleaning"):
        require_dense(domain_of(10_001))


@pytest.mark.parametrize("way", ["weighted", "shrink", "none"])
def test_factors_of_a_head_are_those_of_a_catalogue_without_a_tail(budget, way):
    """The counts of the tail are of no use to the head, and its factors are zero."""
    direction, matrices = planted(np.random.default_rng(1))
    items, counts = np.array([*range(1, 12), 14]), np.full(15, 1e6)
    counts[items] = np.linspace(20, 80, 12)
    settings = CovarianceSettings(cleaning=way)
    few, many = (settings.sums(domain_of(n), budget(), "l2") for n in (12, 15))
    alone = settings.factors(matrices, few, counts[items], 2)
    found = settings.factors(matrices._replace(head=Head(15, items)), many, counts, 2)
    np.testing.assert_array_equal(found[items], alone)
    assert np.abs(alone).max() > 0.3 * direction.max()
    assert not found[[0, 12, 13]].any()
