"""How much of factors shows, from what is declared."""

import math

import pytest

import hushrec as hr
from hushrec.curator.choices.recommended import signal as choice_signal
from hushrec.models.phases.visible_factors import factor_share, signal
from hushrec.privacy.accounting.budget import Unprotected


def domain_of(users, ratings, items):
    return hr.Domain(
        range(items), scale=(1, 5, 1), max_users=10**7, expected_users=users, expected_ratings=ratings
    )


def test_more_shows_of_more_ratings_of_fewer_items_at_a_larger_epsilon(budget):
    one = domain_of(1000, 10**5, 1000)
    small = signal(one, budget(1.0, "rating"))
    assert signal(domain_of(1000, 10**6, 1000), budget(1.0, "rating")) == pytest.approx(10 * small)
    assert signal(domain_of(1000, 10**5, 16_000), budget(1.0, "rating")) == pytest.approx(small / 8)
    assert signal(one, budget(4.0, "rating")) > 3 * small
    assert signal(one, budget(1.0, "rating", "replace")) == pytest.approx(small / 2)
    assert signal(one, Unprotected("rating", "add-remove")) == math.inf


def test_it_is_that_of_the_choice_among_models(budget):
    domain, allowed = domain_of(6000, 10**6, 3700), budget(2.0, unit="user")
    assert signal(domain, allowed) == pytest.approx(choice_signal(domain, allowed), rel=1e-3)


def test_factors_get_half_of_the_budget_at_most():
    shares = [factor_share(shown, 700.0) for shown in (70.0, 700.0, 7000.0, math.inf)]
    assert shares == sorted(shares)
    assert shares[1] == 0.25
    assert shares[-1] == 0.5
