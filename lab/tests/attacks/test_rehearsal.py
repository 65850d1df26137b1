"""The attack on a rehearsed release finds people where the law lets it, and nobody where it does not."""

import pytest

import hushrec as hr
from lab.attacks.rehearsal import simulate_attack


@pytest.fixture(scope="module")
def ratings():
    return hr.synthetic.netflix_like(users=400, items=300, ratings=20_000, seed=2)


def budget(cell, ratings):
    epsilon = cell * ratings.domain.n_items
    return hr.Budget(epsilon=epsilon, delta=0.0, unit="user", adjacency="replace")


def test_raw_rows_and_rows_of_a_large_epsilon_tell_who_is_who(ratings):
    assert simulate_attack(ratings, None, targets=200).named > 0.9
    found = simulate_attack(ratings, hr.RandomizedResponse(), budget(8.0, ratings), targets=200)
    assert found.named > 0.9
    assert {attack.name for attack in found.attacks} == {"Scoreboard-RH", "informed"}


def test_rows_of_a_small_epsilon_do_not(ratings):
    """By chance 0.5 of 200 are first; 12 or more once in 1e13 releases, were people independent."""
    found = simulate_attack(ratings, hr.RandomizedResponse(), budget(0.01, ratings), targets=200)
    assert found.first < 12 / 200
