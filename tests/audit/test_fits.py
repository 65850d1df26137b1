"""An audit of a model as a whole: what it prints of a right one, and that it refutes a wrong one."""

import dataclasses
from unittest import mock

import numpy as np
import pytest

import hushrec as hr
from hushrec.audit.canary import MISTAKEN, Heard
from hushrec.audit.fits import REPLAYED, _canary_finding, audit, replayed_pairs
from hushrec.audit.recorder import Leak
from hushrec.audit.replay import compare
from hushrec.audit.search import leads
from hushrec.audit.worlds import World
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.models.lists.sums import CrowdSize
from support.planted import FAULTS

BUDGET = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
RATING = hr.Budget(epsilon=4.0, delta=1e-6, unit="record", adjacency="add-remove")
SAMPLE = hr.PosteriorSampleMF(rank=2, chain={"epochs": 20})
BY_NAME = {fault.name: fault for fault in FAULTS if fault.model == "effects"}


@pytest.fixture(scope="module")
def audited():
    steps = []
    return audit(hr.GlobalEffects(), BUDGET, runs=10_000, progress=lambda *at: steps.append(at)), steps


@pytest.mark.full
def test_a_right_model_holds_in_all_three_parts(audited):
    found, _ = audited
    assert found.holds
    assert found.subject == f"GlobalEffects, {BUDGET}"
    assert found.epsilon == hr.plan(World.of().domain, hr.GlobalEffects(), BUDGET).epsilon
    search, replay, canary = found.findings
    assert [part.kind for part in found.findings] == ["search", "replay", "canary"]
    assert search.cells(4)[1:] == ("1 Δ", "≤ 1 Δ", "holds", "exact", "Δ 0.1 % too small")
    assert replay.cells(4)[1:3] == ("equal", "equal")
    part, _, claimed, _, confidence, notices = canary.cells(4)
    assert (claimed, confidence) == ("ε ≤ 4", "1 − 5e-07")
    assert part.endswith("10,000 runs")
    assert notices.startswith("noise ")


@pytest.mark.parametrize(
    ("name", "part"),
    [("constant", "replay"), ("understated", "search"), ("noise 10% short", "canary")],
)
@pytest.mark.full
def test_a_fault_is_refuted_by_the_part_that_looks_for_it(name, part):
    fault = BY_NAME[name]
    with fault.planted():
        found = audit(fault.config, fault.budget, runs=100_000)
    assert not found.holds
    assert part in {one.kind for one in found.findings if one.holds(found.epsilon) is False}


@pytest.mark.full  # compiling its chains takes 10 s
def test_a_posterior_sample_is_heard_by_a_canary_alone():
    found = audit(SAMPLE, BUDGET, runs=1000)
    assert found.holds
    unaudited, canary = found.findings
    assert unaudited.holds(found.epsilon) is None
    assert unaudited.cells(found.epsilon)[-1] == "nothing"
    assert (canary.kind, canary.tries, canary.holds(found.epsilon)) == ("canary", 1000, True)


@pytest.mark.full
def test_settings_and_domain_are_those_of_the_user():
    domain = hr.Domain(range(6), scale=(0, 10, 1), max_users=10**5, max_per_user=2)
    found = audit(
        hr.CovarianceSVD(rank=2),
        BUDGET.model_copy(update={"epsilon": 0.5, "delta": 1e-7}),
        domain=domain,
        runs=1000,
    )
    assert found.holds
    with pytest.raises(ConfigError, match="more than the 6 items"):
        audit(hr.PrivateALS(rank=8), RATING.model_copy(update={"delta": 1e-7}), domain=domain)


def test_what_the_model_does_not_protect_is_refused():
    with pytest.raises(BudgetUnsupported):
        audit(SAMPLE, RATING)


def test_all_extreme_pairs_are_replayed_and_some_random_ones():
    world = World.of()
    pairs = replayed_pairs(world, BUDGET)
    extreme = [*world.pairs("user", "add-remove").values()]
    assert pairs[: len(extreme)] == extreme
    assert len(pairs) == len(extreme) + REPLAYED
    assert pairs == replayed_pairs(world, BUDGET) != replayed_pairs(world, BUDGET, seed=1)


EASE, CLICKS = hr.PrivateEASE(rank=2), World.of(feedback="interactions")
KINDS = pytest.mark.parametrize("kind", [BUDGET, RATING], ids=["user", "record"])


@pytest.mark.parametrize(
    "kind", [BUDGET, pytest.param(RATING, marks=pytest.mark.full)], ids=["user", "record"]
)
def test_every_branch_is_audited(kind, monkeypatch):
    """Each part looks into all three: pairs, counts again, and both."""
    monkeypatch.setattr("hushrec.audit.fits.RANDOM", 2)
    monkeypatch.setattr("hushrec.audit.fits.ROUNDS", 2)
    steps = []
    found = audit(EASE, kind, runs=1000, progress=lambda *at: steps.append(at))
    assert found.holds
    (total,) = {of for _, of in steps}
    assert [done for done, _ in steps] == list(range(1, total + 1))
    search, replay, canary = found.findings
    extreme = len(CLICKS.pairs(kind.unit, "add-remove"))
    assert (replay.tries, search.tries) == (3 * (extreme + REPLAYED), total - 1 - replay.tries)
    assert (canary.tries, canary.mistaken) == (3000, 1.5e-6)


def led(model, kind, world):
    """The branches of a small world, and what leads fits into them."""
    return [lead for _, *lead in leads(model, kind, world, world, world)]


STARS, RATINGS = hr.AdaptiveFactors(), World.of()
CHOOSING = "model", "world", "size"
LISTS, STARRED = (EASE, CLICKS, "crowd size"), (STARS, RATINGS, None)


@KINDS
@pytest.mark.parametrize(
    CHOOSING, [LISTS, pytest.param(*STARRED, marks=pytest.mark.full)], ids=["lists", "ratings"]
)
@pytest.mark.full
def test_a_choice_by_private_data_is_found(model, world, size, kind, monkeypatch):
    """The crowd's size without its noise: with a neighbour, it decides, weighs and says something else."""
    size = size or {"user": "global count", "record": "number of users"}[kind.unit]
    monkeypatch.setattr(type(model), "fit", by_the_exact_crowd(type(model).fit, size))
    with pytest.raises(Leak):
        replayed(model, kind, world)


@KINDS
@pytest.mark.parametrize(CHOOSING, [LISTS, STARRED], ids=["lists", "ratings"])
def test_a_choice_by_released_values_is_not_found(model, world, size, kind):
    replayed(model, kind, world)


def replayed(model, kind, world):
    for _, factors in led(model, kind, world):
        for one, other in [*world.pairs(kind.unit, "add-remove").values()][:2]:
            compare(model, kind, world.ratings(one), world.ratings(other), factors)


def by_the_exact_crowd(fit, name):
    def leaky(model, feedback, run):
        people = feedback
        size = CrowdSize(run.terms.unit)
        users = np.array([float(feedback.n_users)])
        exact = size.measure(people) * size.query.step if name == size.query.name else users
        measure = run.measure

        def careless(measurement, values):
            noisy = measure(measurement, values)
            return dataclasses.replace(noisy, values=exact if measurement.name == name else noisy.values)

        with mock.patch.object(run, "measure", careless):
            return fit(model, feedback, run)

    return leaky


def test_of_several_canaries_the_gravest_and_the_least_power_are_told():
    heard = [Heard(3.5, 0.1, 1000), Heard(2.5, 0.3, 1000)]
    found = _canary_finding(heard)
    assert (found.tries, found.figure, found.noticed, found.mistaken) == (2000, 3.5, 30.0, 4 * MISTAKEN)
    assert _canary_finding([*heard, Heard(1.0, None, 1000)]).noticed is None
