"""What shows through noise, from what is declared: μ, the signals, and what models make of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.declarations import Crowd
from hushrec.models.visibility import (
    head_size,
    mu,
    over_noise_edge,
)
from hushrec.privacy.accounting.accountant import gaussian_delta, laplace_cost
from hushrec.privacy.accounting.budget import Unprotected

EXACT = Unprotected("record", "add-remove")


def domain_of(users, each, items):
    return hr.Domain(
        range(items),
        scale=(1, 5, 1),
        max_users=10**7,
        expected_users=users,
        expected_records=users * each,
    )


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_mu_is_what_the_whole_budget_pays_for(budget, epsilon, delta):
    found = mu(budget(epsilon, delta=delta))
    assert gaussian_delta(found, epsilon) == pytest.approx(delta, rel=1e-6)
    assert mu(budget(epsilon, delta=0.0)) == mu(budget(epsilon, delta=0.0), "l1") == epsilon / math.sqrt(2)
    pure = math.sqrt(2) * mu(budget(epsilon, delta=delta), "l1")
    assert laplace_cost(Fraction(pure)).mu_squared == pytest.approx(found**2 * 1e12, rel=1e-9, abs=1)


def test_under_replace_noise_is_twice_as_wide_and_without_a_budget_there_is_none(budget):
    for norm in ("l1", "l2"):
        assert mu(budget(1.0, "record", "replace"), norm) == mu(budget(1.0, "record"), norm) / 2
        assert mu(EXACT, norm) == math.inf


def test_a_covariance_is_compared_with_the_edge_of_its_noise():
    """100 items of 20 ratings each by 40 users with 50: w s² · 100 · 20²/40, of which 5/7 are followed."""
    counts, crowd = np.repeat([20.0, 0.0], [100, 500]), Crowd(40.0, 2_000.0, declared=True)
    edge = 2 * 3.0 * math.sqrt(200)
    one = over_noise_edge(counts, crowd, 0.7, 3.0)
    assert one == pytest.approx(50 / 70 * 0.7 * 100 * 20**2 / 40 / edge)
    assert over_noise_edge(counts / 7, crowd, 0.7, 3.0) == pytest.approx(one), "in proportion is enough"
    assert over_noise_edge(counts, crowd, 0.7, 0.0) == math.inf
    many = np.full(1_000, 2.0)
    assert over_noise_edge(many, crowd, 0.7, 3.0) == pytest.approx(50 / 70 * 0.7 * 200 * 2**2 / 40 / edge)
    assert over_noise_edge(np.zeros(600), crowd, 0.7, 3.0) == 0


def test_a_head_grows_with_what_shows_up_to_the_whole_catalogue():
    domain = domain_of(6_000, 160, 3_700)
    sizes = [head_size(domain, seen, 20_000) for seen in (0.0, 0.3, 1.5, 3.0, 8.0, math.inf)]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-2], sizes[-1]) == (200, 3_700, 3_700)
    assert sizes[2] < 1_000
    assert head_size(domain, math.inf, 1_000) == 1_000
    assert head_size(domain_of(100, 5, 30), 0.0, 1_000) == 30
