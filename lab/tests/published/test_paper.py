"""Published noise: ε and δ add up, b = Δ′/ε, σ = Δ′√(2 ln(2/δ))/ε; and the events carry the true Δ."""

import math
from typing import ClassVar

import pytest

import hushrec as hr
from hushrec.errors import BudgetError, ConfigError
from hushrec.privacy.accounting.events import Gaussian, Laplace, PosteriorSample, Spherical
from hushrec.privacy.query import Draw, Sum
from lab import published
from lab.published.paper import PublishedModel
from lab.published.spherical import SphericalRows

DOMAIN = hr.Domain(range(9), scale=(1, 5, 1), max_users=100, users=range(20))
KINDS = published.MODELS


class Toy(PublishedModel):
    """Two sums of one norm, the second of which the paper bounds wrongly; or one of its other queries."""

    supports: ClassVar = frozenset({("user", "add-remove")})

    kind: str = "l1"

    def queries(self, domain, terms):
        if self.kind == "draw":
            return [Draw("first", 6.0, 2.0**-20, 12)]
        if self.kind == "rows":
            return [SphericalRows("first", 1.5, 60), SphericalRows("second", math.inf, 60)]
        return [Sum("first", 3.0, self.kind, 2.0**-20, 4), Sum("second", 5.0, self.kind, 2.0**-20, 4)]

    def claims(self, domain, terms):
        return {"first": 24.0} if self.kind == "draw" else {"second": 4.0}

    def default_split(self, domain, budget):
        return {"first": 0.25, "second": 0.75}

    def release(self, feedback, run):
        raise NotImplementedError


def planned(kind, budget, epsilon=2.0, delta=1e-6):
    return hr.plan(Toy(kind=kind), DOMAIN, budget(epsilon, "user", delta=delta))


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 30.0])
def test_laplace_noise_has_the_papers_scale_and_the_true_sensitivity(budget, epsilon):
    first, second = planned("l1", budget, epsilon, 0.0).events
    assert isinstance(first, Laplace)
    assert (first.sensitivity, second.sensitivity) == (3.0, 5.0)
    assert [first.noise, second.noise] == pytest.approx([3.0 / (0.25 * epsilon), 4.0 / (0.75 * epsilon)])


def test_where_the_paper_is_right_its_noise_costs_exactly_its_claim(budget):
    first, _ = planned("l1", budget, 2.0, 0.0).events
    assert first.spent().epsilon_sum == 500_000_000_000


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 30.0])
def test_gaussian_noise_is_that_of_dwork_et_al_with_delta_in_equal_parts(budget, epsilon):
    """σ = Δ′ √(2 ln(2/δ_k))/ε_k, δ_k = δ/2 (McSherry & Mironov 2009, Theorem 3)."""
    first, second = planned("l2", budget, epsilon).events
    assert isinstance(first, Gaussian)
    root = math.sqrt(2 * math.log(2 / (1e-6 / 2)))
    assert [first.noise, second.noise] == pytest.approx(
        [3.0 * root / (0.25 * epsilon), 4.0 * root / (0.75 * epsilon)]
    )
    assert (first.sensitivity, second.sensitivity) == (3.0, 5.0)


def test_a_draw_is_claimed_at_the_papers_bound_and_charged_at_the_true_one(budget):
    plan = planned("draw", budget)
    (event,) = plan.events
    assert isinstance(event, PosteriorSample)
    assert (event.sensitivity, event.noise) == (6.0, pytest.approx(24.0 / 2.0))
    assert (plan.claimed_epsilon, plan.epsilon) == (2.0, pytest.approx(0.5))


def test_rows_are_counted_in_units_of_their_claim(budget):
    plan = planned("rows", budget)
    first, second = plan.events
    assert isinstance(first, Spherical)
    assert [first.noise, second.noise] == pytest.approx([1 / 0.5, 1 / 1.5])
    assert (first.sensitivity, second.sensitivity) == (1.5, math.inf)
    assert plan.cost(first) == pytest.approx(1.5 * 0.5)
    assert plan.epsilon == math.inf


def test_the_plan_says_what_is_claimed_beside_what_is_true(budget):
    plan = planned("l1", budget, 2.0, 0.0)
    assert (plan.analysis, plan.claimed_epsilon) == ("published", 2.0)
    assert plan.epsilon == pytest.approx(0.5 + 1.5 * 5 / 4)  # and not the 2 that are claimed
    assert "Toy, published analysis" in str(plan)
    assert "the paper claims ε = 2" in str(plan)


@pytest.mark.parametrize("kind", KINDS)
def test_every_published_model_plans_what_it_claims_for_every_unit_and_adjacency(kind, budget):
    for unit, adjacency in sorted(kind.supports):
        config = kind(rank=2) if "rank" in kind.model_fields else kind()
        allowed = budget(2.0, unit, adjacency)
        plan = hr.plan(config, DOMAIN, allowed)
        assert (plan.model, plan.analysis, plan.claimed_epsilon) == (kind.__name__, "published", 2.0)
        assert math.fsum(m.share for m in plan.measurements) == pytest.approx(1)
        names = {query.name for query in config.queries(DOMAIN, allowed)}
        assert set(config.claims(DOMAIN, allowed)) <= names | {"global sum", "global count"}, (
            "claims of nothing"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_how_it_is_analysed_is_no_setting(kind):
    with pytest.raises(ConfigError, match="analysis: Extra inputs are not permitted"):
        kind(analysis="corrected")


def test_a_claim_of_a_larger_bound_than_the_true_one_wastes_noise_and_nothing_else(budget):
    """The true price is then below the claim, and a ledger takes it."""

    class Wasteful(Toy):
        def claims(self, domain, terms):
            return {"first": 6.0, "second": 10.0}

    plan = hr.plan(Wasteful(), DOMAIN, budget(2.0, "user", delta=0.0))
    assert plan.epsilon == pytest.approx(1.0)


def test_delta_is_still_refused_where_it_is_too_large(budget):
    with pytest.raises(BudgetError, match="too large for up to"):
        planned("l2", budget, delta=9e-3)
