"""How much there is to see, as a domain declares it or as its bounds suggest."""

import pytest

import hushrec as hr
from hushrec.data.declarations import Crowd
from hushrec.errors import DomainError


def domain_of(**hints):
    return hr.Domain(range(30), scale=(1, 5, 1), max_users=1_000, max_per_user=20, **hints)


def test_a_crowd_is_what_was_declared():
    crowd = domain_of(expected_users=700, expected_records=9_100).crowd
    assert crowd == Crowd(700, 9_100, declared=True)
    assert crowd.each == 13


def test_without_hints_it_follows_from_the_bounds_alone():
    assert domain_of().crowd == Crowd(1_000, 20_000, declared=False)
    assert domain_of(expected_users=10).crowd == Crowd(10, 200, declared=False)
    assert domain_of(expected_records=500).crowd == Crowd(1_000, 500, declared=False)


def test_a_population_is_the_same_whatever_is_expected_of_it(tmp_path):
    plain, hinted = domain_of(), domain_of(expected_users=700, expected_records=9_100)
    assert plain == hinted
    assert plain.digest == hinted.digest
    hinted.save(tmp_path / "domain.json")
    assert hr.Domain.open(tmp_path / "domain.json").crowd == hinted.crowd != plain.crowd


def test_another_expectation_is_another_plan():
    """The noise differs, so the release of one is not handed out for the other."""
    budget = hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove")
    plain, hinted = domain_of(), domain_of(expected_users=700, expected_records=9_100)
    keys = [hr.plan(domain, hr.CovarianceSVD(), budget).key("ledger") for domain in (plain, hinted)]
    assert keys[0] != keys[1]


@pytest.mark.parametrize("hints", [{"expected_users": 0}, {"expected_records": -1}])
def test_a_crowd_of_nobody_is_refused(hints):
    with pytest.raises(DomainError, match=next(iter(hints))):
        domain_of(**hints)
