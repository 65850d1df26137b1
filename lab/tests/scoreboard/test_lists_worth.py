"""Lists of made-up people: who is tried, and that a smaller crowd has the signal of the declared one."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.models.visibility import whole_users
from lab.tests.test_benchmarks import script

module = script("lists_worth")


def clicks(users, each, items):
    crowd = {"max_users": 2 * users, "expected_users": users, "expected_records": users * each}
    return hr.Domain(range(items), **crowd)


def asked(epsilon, unit):
    return hr.Budget(epsilon=epsilon, delta=1e-6, unit=unit, adjacency="add-remove")


def test_lists_are_tried_on_people_whom_the_fit_does_not_see(monkeypatch):
    monkeypatch.setattr(module, "TRIED", 300)
    people, known, sought = module.Crowd.like(clicks(3_000, 12, 120)).people(0)
    assert people.n_users == 3_000
    assert 0 < sought.n_users <= 300
    assert not set(people.users) & set(known.users)
    assert (known.users == sought.users).all()


def test_without_noise_for_taste_lists_are_popular_items(monkeypatch):
    monkeypatch.setattr(module, "TRIED", 300)
    crowd = module.Crowd.like(clicks(1_200, 12, 120))
    few, many = (module.measured(iter([crowd.people(0)]), asked(epsilon, "user")) for epsilon in (0.3, 2.5))
    assert few.dimensions == 0
    assert few.lists == pytest.approx(few.popularity, abs=0.01)
    assert many.dimensions > 0
    assert many.lists > many.popularity


@pytest.mark.parametrize("unit", ["user", "record"])
def test_a_smaller_crowd_has_the_signal_of_the_declared_one(unit, monkeypatch):
    budget, domain = asked(0.5, unit), clicks(4_000, 12, 400)
    monkeypatch.setattr(module, "MOST_USERS", 1_000)
    monkeypatch.setattr(module, "MOST_ITEMS", 100)
    crowd = module.Crowd.like(domain)
    assert (crowd.users, crowd.domain.n_items, crowd.domain.max_users) == (1_000, 100, 2_000)
    less = crowd.less_noise(budget)
    assert crowd.ratio == 2  # four times as few people, and a root of four times as few items
    assert whole_users(crowd.domain, less, 1_000) == pytest.approx(whole_users(domain, budget, 4_000))
    noises = [
        np.array([event.noise for event in hr.plan(crowd.domain, hr.PrivateEASE(), one).noisy])
        for one in (budget, less)
    ]
    assert noises[0] / noises[1] == pytest.approx(np.full(len(noises[0]), 2.0), rel=1e-3)
