"""The search comes close to every bound, exceeds none, and keeps the pair that noise hides least."""

import dataclasses
import math

import pytest

import hushrec as hr
from hushrec.audit import search as search_module
from hushrec.audit.recorder import UNCHANGED, Leak, branch_of
from hushrec.audit.search import RANDOM, distances, leads, search, widen
from hushrec.audit.worlds import WIDE, World
from hushrec.models.lists import private_ease
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.sums.integer_grid import Weights
from hushrec.sums.item_sums import EffectSums, ItemCounts

WORLD = World.of()
KINDS = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]
SVD = hr.CovarianceSVD(rank=2)


def budget_of(unit, adjacency, epsilon=1.0, delta=1e-6):
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)


@pytest.mark.parametrize(("unit", "adjacency"), KINDS)
@pytest.mark.full
def test_it_comes_close_to_every_bound_and_exceeds_none(unit, adjacency):
    budget = budget_of(unit, adjacency)
    found = search(SVD, budget, WORLD, rounds=30)
    assert set(found.ratios) == {event.name for event in hr.plan(WORLD.domain, SVD, budget).noisy}
    assert max(found.ratios.values()) <= 1
    assert min(found.ratios.values()) > 0.7
    assert found.pairs == len(WORLD.pairs(unit, adjacency)) + RANDOM + 30


def test_losses_add_up_to_the_price_of_the_plan():
    """μ² of Gaussian noise, ε of Laplace noise: most of what is charged can be reached."""
    for delta, noise in ((1e-6, "gaussian"), (0.0, "laplace")):
        budget = budget_of("user", "add-remove", delta=delta)
        model = hr.GlobalEffects(noise=noise)
        spent = hr.plan(WORLD.domain, model, budget).spent
        whole = spent.units(delta)
        loss = search(model, budget, WORLD, random=0, rounds=0).loss
        assert 0.9 * whole / 1e12 < loss <= whole / 1e12


@pytest.mark.full
def test_climbing_finds_what_chance_does_not():
    budget, model = budget_of("record", "add-remove"), hr.PrivateALS(rank=2, epochs=2)
    start = search(model, budget, WORLD, random=0, rounds=0)
    found = search(model, budget, WORLD, random=0, rounds=40)
    assert min(found.ratios.values()) > min(start.ratios.values())
    assert found.loss >= start.loss


def test_a_change_is_what_differs():
    budget = budget_of("record", "replace")
    pair = WORLD.pairs("record", "replace")["a rating"]
    gap = distances(hr.GlobalEffects(), budget, WORLD, pair)[0]
    assert gap.change.size == 1
    assert gap.ratio == abs(gap.change[0]) * gap.measured.event.step / gap.measured.event.sensitivity


def test_a_measurement_that_only_one_of_them_makes_is_a_leak(monkeypatch):
    right = search_module.record

    def shorter(ratings, config, budget, tape=None, factors=UNCHANGED):
        recorder = right(ratings, config, budget, tape, factors)
        recorder.measured = recorder.measured[: -1 if tape else None]
        return recorder

    monkeypatch.setattr(search_module, "record", shorter)
    pair = WORLD.pairs("user", "add-remove")["a usual user"]
    with pytest.raises(Leak, match="fewer measurements"):
        distances(hr.GlobalEffects(), budget_of("user", "add-remove"), WORLD, pair)


def test_a_fit_that_fails_on_some_ratings_is_a_leak(monkeypatch):
    release = hr.GlobalEffects.fit

    def refusing(model, ratings, *rest):
        if ratings.n_users < 5:
            raise ValueError("too few")
        return release(model, ratings, *rest)

    monkeypatch.setattr(hr.GlobalEffects, "fit", refusing)
    budget, pairs = budget_of("user", "add-remove"), WORLD.pairs("user", "add-remove")
    for pair, who in ((pairs["a usual user"], "only the neighbour"), (pairs["the only user"], "a fit")):
        with pytest.raises(Leak, match=f"{who} fails: ValueError"):
            distances(hr.GlobalEffects(), budget, WORLD, pair)


def test_a_bound_that_is_wrong_by_a_hundredth_is_found(monkeypatch):
    queries = EffectSums.queries

    def understated(sums):
        for query in queries(sums):
            yield dataclasses.replace(query, sensitivity=query.sensitivity * 0.99)

    monkeypatch.setattr(EffectSums, "queries", understated)
    for kind in KINDS:
        found = search(hr.GlobalEffects(), budget_of(*kind), WORLD, random=0, rounds=0)
        assert max(found.ratios.values()) > 1


@pytest.mark.full
def test_a_wide_world_reaches_a_cap_that_the_small_one_hides(monkeypatch):
    """The planted fault: half of √K for a cap of 20 items. Nobody in the small world has more than five."""
    model, kind = hr.Popularity(), ("user", "add-remove")
    monkeypatch.setattr(ItemCounts, "weights", Weights(WIDE, 28, 0.5, 20))
    small, wide = World.of(feedback="interactions"), World.wide(feedback="interactions")
    for change, whole in ((math.sqrt(20), True), (math.sqrt(20) / 2, False)):
        query = property(
            lambda self, change=change: Measurement(
                "item counts", change, "l2", self.weights.step, self.domain.n_items
            )
        )
        monkeypatch.setattr(ItemCounts, "query", query)
        found = search(model, budget_of(*kind), small, random=5, rounds=5)
        assert max(found.ratios.values()) <= 1
        widen(found, model, budget_of(*kind), wide)
        assert (max(found.ratios.values()) <= 1) == whole
        assert max(found.ratios.values()) == pytest.approx(1 if whole else 2)


def test_the_wide_world_of_a_domain_has_its_cap_and_its_items():
    domain = hr.Domain(range(100), scale=(1, 5, 1), max_users=20, max_per_user=7)
    assert (World.wide(domain).domain.n_items, World.wide(domain).domain.max_per_user) == (WIDE, 7)
    assert World.wide().domain.max_per_user == WIDE


CLICKS = World.of(feedback="interactions")
EASE = hr.PrivateEASE(rank=2)
EPSILONS = pytest.mark.parametrize(
    "epsilon", [4.0, *(pytest.param(other, marks=pytest.mark.full) for other in (0.5, 100.0))]
)


@EPSILONS
@pytest.mark.parametrize("unit", ["user", pytest.param("record", marks=pytest.mark.full)])
def test_fits_are_led_into_every_branch(unit, epsilon):
    """Five users are no crowd; only other noisy values show what a fit to many measures."""
    budget = budget_of(unit, "add-remove", epsilon)
    wide = World.wide(feedback="interactions")
    found = leads(EASE, budget, CLICKS, wide, wide)
    assert {branch for _, branch, _ in found} == {"pairs", "both", "counts"}
    repeated = {"counts": "item counts again", "both": "item pairs beside counts", "pairs": "item pairs"}
    rounds = 0 if unit == "user" else 20  # a record moves a muted lens by less, unless its user is looked for
    for world, branch, factors in found:
        result = search(EASE, budget, world, random=0, rounds=rounds, lead=(branch, factors))
        if world is CLICKS:
            widen(result, EASE, budget, wide, factors=factors)
        assert branch_of([gap.measured for gap in result.gaps]) == branch
        assert max(result.ratios.values()) <= 1
        assert result.ratios[repeated[branch]] > (0.7 if unit == "user" else 0.6)


def test_without_branches_nothing_is_changed():
    assert leads(SVD, budget_of("user", "add-remove"), WORLD, WORLD, WORLD) == [(WORLD, "", UNCHANGED)]


@EPSILONS
def test_fits_are_led_into_branches_that_only_many_items_have(epsilon):
    """Gradients show tastes of users with dozens of ratings each: the small world has no such branch."""
    budget, model, broad = budget_of("user", "add-remove", epsilon), hr.AdaptiveFactors(), World.broad()
    found = leads(model, budget, WORLD, World.wide(), broad)
    assert [(world, branch) for world, branch, _ in found] == [
        *((WORLD, branch) for branch in ("effects", "covariance", "choices")),
        (broad, "gradients"),
    ]
    for led, of_pairs in ((found[-2], "item pairs with choices"), (found[-1], "item pairs with gradients")):
        world, _, factors = led
        pair = world.pairs("user", "add-remove")["a user above the cap"]
        gaps = {gap.measured.name: gap.ratio for gap in distances(model, budget, world, pair, factors)}
        assert max(gaps.values()) <= 1
        assert gaps[of_pairs] > 0.85
    assert gaps["items, epoch 1"] > 0.95


def test_a_branch_that_nothing_leads_to_is_reported(monkeypatch):
    """It would be paid for, and never be audited."""
    monkeypatch.setattr(private_ease, "FEWEST_ITEMS", math.inf)
    monkeypatch.setattr(search_module, "_LEADS", 20)
    with pytest.raises(Leak, match="no noisy values lead to branch both"):
        leads(EASE, budget_of("user", "add-remove"), CLICKS, CLICKS, CLICKS)
