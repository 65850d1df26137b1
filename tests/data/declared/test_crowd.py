"""How much there is to see, as a domain declares it or as its bounds suggest."""

import pytest

import hushrec as hr
from hushrec.data.declared.crowd import Crowd
from hushrec.errors import DomainError


def domain_of(**hints):
    return hr.Domain(range(30), scale=(1, 5, 1), max_users=1_000, cap=20, **hints)


def test_a_crowd_is_what_was_declared():
    crowd = domain_of(expected_users=700, expected_ratings=9_100).crowd
    assert crowd == Crowd(700, 9_100, declared=True)
    assert crowd.each == 13


def test_without_hints_it_follows_from_the_bounds_alone():
    assert domain_of().crowd == Crowd(1_000, 20_000, declared=False)
    assert domain_of(expected_users=10).crowd == Crowd(10, 200, declared=False)
    assert domain_of(expected_ratings=500).crowd == Crowd(1_000, 500, declared=False)


def test_hints_are_part_of_what_is_declared_and_leave_other_digests_alone(tmp_path):
    plain, hinted = domain_of(), domain_of(expected_users=700, expected_ratings=9_100)
    assert plain != hinted
    hinted.save(tmp_path / "domain.json")
    assert hr.Domain.open(tmp_path / "domain.json") == hinted
    assert "expected" not in str(plain._fields())


@pytest.mark.parametrize("hints", [{"expected_users": 0}, {"expected_ratings": -1}])
def test_a_crowd_of_nobody_is_refused(hints):
    with pytest.raises(DomainError, match=next(iter(hints))):
        domain_of(**hints)
