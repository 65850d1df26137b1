"""How much of a covariance shows, from what is declared."""

import math

import pytest

import hushrec as hr
from hushrec.models.phases.visible_pairs import contribution_cap, effects_share, head_size, visibility
from hushrec.privacy.accounting.budget import Unprotected


def domain_of(users, each, items):
    return hr.Domain(
        range(items),
        scale=(1, 5, 1),
        max_users=10**7,
        expected_users=users,
        expected_ratings=users * each,
    )


def visible(domain, budget, norm="l2"):
    return visibility(domain, budget, norm, contribution_cap(domain.crowd))


@pytest.mark.parametrize("unit", ["rating", "user"])
def test_more_shows_of_more_people_who_rate_more_at_a_larger_epsilon(budget, unit):
    small = visible(domain_of(1_000, 50, 1_000), budget(1.0, unit))
    assert visible(domain_of(10_000, 50, 1_000), budget(1.0, unit)) == pytest.approx(10 * small)
    assert visible(domain_of(1_000, 100, 1_000), budget(1.0, unit)) > 1.9 * small
    assert visible(domain_of(1_000, 50, 1_000), budget(4.0, unit)) > 3.5 * small


def test_less_shows_of_people_than_of_ratings_and_under_wider_noise(budget):
    domain = domain_of(6_000, 160, 3_700)
    of_ratings = visible(domain, budget(1.0, "rating"))
    assert visible(domain, budget(1.0, "user")) < of_ratings / 4
    assert visible(domain, budget(1.0, "rating", "replace")) == pytest.approx(of_ratings / 2)
    assert visible(domain, budget(1.0, "rating"), "l1") < of_ratings
    assert visible(domain, Unprotected("rating", "add-remove")) == math.inf


def test_effects_keep_nearly_all_until_a_covariance_shows_and_then_give_way():
    domain = domain_of(6_000, 160, 3_700)
    shares = [effects_share(domain, seen) for seen in (0.0, 0.1, 0.5, 1.0, 4.0, 1e80, math.inf)]
    assert shares == sorted(shares, reverse=True)
    assert shares[1] > 0.99
    assert shares[2] < 0.7
    assert shares[-2:] == [0.04, 0.04]


def test_effects_of_a_small_catalogue_keep_their_part_for_longer():
    small, large = domain_of(1_000, 60, 500), domain_of(20_000, 50, 5_000)
    assert effects_share(small, 0.8) > 0.95
    assert effects_share(large, 0.8) < 0.4


def test_a_head_grows_with_what_shows_up_to_the_whole_catalogue():
    domain = domain_of(6_000, 160, 3_700)
    sizes = [head_size(domain, seen, 20_000) for seen in (0.0, 0.1, 0.5, 1.0, 2.0, math.inf)]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (200, 3_700)
    assert head_size(domain, math.inf, 1_000) == 1_000
    assert head_size(domain_of(100, 5, 30), 0.0, 1_000) == 30


def test_items_that_nobody_rates_do_not_shrink_the_head():
    """A catalogue of a hundred thousand with ratings of a tenth of them has the head of that tenth."""
    few, many = domain_of(5_000, 100, 10_000), domain_of(5_000, 100, 100_000)
    assert head_size(few, 0.5, 20_000) == head_size(many, 0.5, 20_000)


def test_a_users_weight_follows_what_users_rate():
    caps = [contribution_cap(domain_of(1_000, each, 5_000).crowd) for each in (3, 50, 1_000)]
    assert caps == [2.0, pytest.approx(9.0), 30.0]
