"""What all models share: settings, what they protect, and the terms of their non-private baseline."""

import math

import pytest

import hushrec as hr
from hushrec import models
from hushrec.errors import ConfigError

KINDS = [models.class_of(name) for name in models.MODELS]


@pytest.mark.parametrize("kind", KINDS)
def test_the_baseline_is_of_the_smallest_unit_that_is_supported(kind):
    """Its sums are those of a unit that the model has, without any noise."""
    terms = kind().baseline
    assert terms.epsilon == math.inf
    if kind.supports:
        assert (terms.unit, terms.adjacency) == min(kind.supports)
    else:
        assert (terms.unit, terms.adjacency) == ("record", "add-remove")


@pytest.mark.parametrize("cap", [2.0**29, 1e300, math.inf])
def test_a_contribution_cap_beyond_what_anybody_has_is_refused(cap):
    with pytest.raises(ConfigError, match=r"contribution_cap: .*less than 536870912|finite number"):
        hr.CovarianceSVD(covariance={"contribution_cap": cap})


def test_a_contribution_cap_is_refused_where_it_bounds_nothing(budget):
    capped = hr.CovarianceSVD(covariance={"contribution_cap": 3.0})
    domain = hr.Domain(range(5), scale=(1, 5, 1), max_users=100)
    assert capped.plan(domain, budget(1.0, unit="user")).noisy
    with pytest.raises(ConfigError, match=r"contribution_cap has no effect with unit 'record'"):
        capped.plan(domain, budget(1.0, unit="record"))
