"""What a release hands to the next is kept as the ledger knows it, and no charge takes over anything else."""

import json
from dataclasses import replace

import numpy as np
import pytest

import hushrec as hr
from hushrec.documents.sentences import Groups
from hushrec.errors import GrantError, SumsError, WeakBudget
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import epsilon_of
from hushrec.privacy.accounting.year import Year
from hushrec.privacy.carried import Carried
from hushrec.privacy.grant import SEAL, Grant, WithoutNoise
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.sums_on_disk import SumsFolder

TOTAL = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
DOMAIN = hr.Domain(["a", "b", "c"], max_users=100)
MODEL = hr.Popularity()
SUMS = MODEL.sums_digest(DOMAIN, TOTAL)
KEPT = Carried(("é\n", "b"), {"values": np.arange(3.0), "items": np.array([1, -1])})


def of(epsilon):
    return TOTAL.model_copy(update={"epsilon": epsilon})


def plan(releases=(), spent=0, *, epsilon=0.5, **changes):
    year = replace(Year(TOTAL, SUMS, releases, spent), **changes)
    return MODEL.plan_in_year(DOMAIN, of(epsilon), year)


# -- on disk ----------------------------------------------------------------------------------------------


def test_it_is_read_as_it_was_written(tmp_path):
    KEPT.save(tmp_path / "carried")
    read = Carried.open(tmp_path / "carried")
    assert read.items == KEPT.items
    assert {name: array.tolist() for name, array in read.arrays.items()} == {
        "values": [0, 1, 2],
        "items": [1, -1],
    }


def test_another_format_is_refused_with_what_helps(tmp_path, monkeypatch):
    monkeypatch.setattr("hushrec.privacy.carried.FORMAT", 2)
    KEPT.save(tmp_path / "carried")
    monkeypatch.undo()
    with pytest.raises(SumsError, match=r"another format; .*fresh=True \(--fresh\).* no ε"):
        Carried.open(tmp_path / "carried")


@pytest.fixture
def folder(tmp_path):
    return SumsFolder(tmp_path / "ledger.db.sums", "ab" * 16)


def test_it_outlives_the_sums_and_is_as_private(folder):
    with folder.new() as sums:
        token, digest = sums.token, sums.hand_over(KEPT)
        sums.remove()
    (file,) = folder.path.iterdir()
    assert file.stat().st_mode & 0o077 == folder.path.stat().st_mode & 0o077 == 0
    assert folder.carried(token, digest).items == KEPT.items


def test_only_the_file_that_the_ledger_knows_is_read(folder):
    with folder.new() as sums:
        token, digest = sums.token, sums.hand_over(KEPT)
    assert folder.carried(token, "0" * 64) is None
    assert folder.carried("0" * 16, digest) is None
    assert folder.carried(token, digest) is not None
    assert [*folder.carrieds()] == [token]
    assert not SumsFolder(folder.path, "cd" * 16).carrieds(), "it is another ledger's"


# -- the plan ---------------------------------------------------------------------------------------------


def test_a_year_is_read_as_it_was_written():
    year = Year(TOTAL, SUMS, (0, 2), 10**11, (1,))
    assert Year.from_json(json.loads(json.dumps(year.to_json()))) == year


def test_a_plan_states_the_epsilon_of_all_that_is_inside():
    first = plan()
    own = first.spent.units(1e-6)
    assert first.stated == first.epsilon
    later = plan((0, 1), 3 * 10**11)
    assert later.epsilon == first.epsilon
    assert later.stated == fixed_point.shown(epsilon_of(3 * 10**11 + own, 1e-6)) > later.epsilon


def test_what_is_inside_is_part_of_what_a_stopped_fit_must_repeat():
    alone = MODEL.plan(DOMAIN, of(0.5))
    plans = [alone, plan(), plan((0,), 5), plan((0,), 6), plan((1,), 5), plan((0,), 5, left_out=(1,))]
    assert len({one.key("ledger") for one in plans}) == len(plans)
    assert alone.key("ledger") != plan(whole=of(3.0)).key("ledger") != plan().key("ledger")


def test_an_epsilon_that_is_weak_together_is_asked_about(tmp_path):
    """Each of two charges is strong alone."""
    total = of(20.0)
    ledger = Ledger.create(tmp_path / "ledger.db", total, max_releases=3)
    year = Year(total, SUMS)
    made(ledger, MODEL.plan_in_year(DOMAIN, of(7.0), year))
    later = replace(year, releases=(0,), spent=ledger.state().spent)
    second = MODEL.plan_in_year(DOMAIN, of(7.0), later)
    assert second.epsilon < 8 < second.stated
    with pytest.raises(WeakBudget, match="too weak to promise much"):
        ledger.charge(second, accept=["share"])


# -- the grant --------------------------------------------------------------------------------------------


def test_sums_are_shaped_by_the_whole_year_and_drawn_by_the_share():
    grant = Grant(plan(), Seeded(0), seal=SEAL)
    assert (grant.terms, grant.plan.budget, grant.yearly) == (TOTAL, of(0.5), True)
    alone = Grant(MODEL.plan(DOMAIN, of(0.5)), Seeded(0), seal=SEAL)
    assert (alone.terms, alone.yearly) == (of(0.5), False)


def test_nothing_is_handed_over_without_a_year():
    grants = [Grant(plan(), Seeded(0), seal=SEAL), Grant(MODEL.plan(DOMAIN, of(0.5)), Seeded(0), seal=SEAL)]
    for grant in grants:
        grant.hand_over(lambda: KEPT)
    assert [grant.later for grant in grants] == [KEPT, None]
    exact = WithoutNoise(TOTAL)
    exact.hand_over(lambda: pytest.fail("a baseline has no year"))
    assert (exact.yearly, exact.earlier) == (False, None)


# -- the ledger -------------------------------------------------------------------------------------------


def made(ledger, plan, carried="cd" * 32):
    grant = ledger.charge(plan, accept=["share"])
    ledger.finish(grant, b"release", carried)
    return ledger.state().charges[-1].cost


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger.db", TOTAL, max_releases=9)


def test_the_ledger_keeps_what_is_inside_and_what_is_handed_over(ledger):
    cost = made(ledger, plan())
    made(ledger, plan((0,), cost, left_out=()))
    kept = [(one.year, one.carried) for one in Ledger.open(ledger.path).state().charges]
    assert kept == [(Year(TOTAL, SUMS), "cd" * 32), (Year(TOTAL, SUMS, (0,), cost), "cd" * 32)]


FORGERIES = {
    "a release that was not made": lambda cost: plan((0, 1), cost),
    "a release of nobody": lambda cost: plan((0, 7), cost),
    "too little spent": lambda cost: plan((0,), cost - 1),
    "nothing spent": lambda cost: plan((0,), 0),
    "too much spent": lambda cost: plan((0,), cost + 1),
    "other sums": lambda cost: plan((0,), cost, sums="0" * 64),
    "the same twice": lambda cost: plan((0, 0), cost),
    "spent and none inside": lambda cost: plan((), cost),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_plan_that_takes_over_what_the_ledger_does_not_know_is_refused(ledger, forgery):
    cost = made(ledger, plan())
    head = ledger.state().head
    with pytest.raises(GrantError, match="does not know, or that were formed otherwise; plan it anew"):
        ledger.charge(FORGERIES[forgery](cost), accept=["share"])
    assert ledger.state().head == head
    made(ledger, plan((0,), cost))


def test_a_charge_that_is_open_or_was_given_up_is_not_taken_over(ledger):
    grant = ledger.charge(plan(), accept=["share"])
    cost = ledger.state().charges[0].cost
    for give_up in (False, True):
        if give_up:
            ledger.forfeit(grant)
        for entropy in (None, Seeded(0)):  # also by what claims nothing
            with pytest.raises(GrantError, match="plan it anew"):
                ledger.charge(plan((0,), cost), accept=["share"], entropy=entropy)
    assert len(ledger.state().charges) == 1


def test_a_release_that_stood_alone_or_handed_nothing_over_is_not_taken_over(ledger):
    costs = [made(ledger, MODEL.plan(DOMAIN, of(0.5))), made(ledger, plan(), "")]
    for index, cost in enumerate(costs):
        with pytest.raises(GrantError, match="plan it anew"):
            ledger.charge(plan((index,), cost), accept=["share"])


def test_a_release_with_a_caveat_is_taken_over_by_none_that_claims_its_epsilon(ledger):
    cost = made(ledger, replace(plan(), uncovered=Groups.release()))
    assert ledger.state().charges[0].caveats
    grant = ledger.charge(plan((0,), cost), accept=["share"])
    assert grant.caveats, "whatever the ledger holds says so of later releases, too"


def test_a_plan_names_all_that_is_inside_what_it_takes_over(ledger):
    first = made(ledger, plan())
    second = made(ledger, plan((0,), first))
    with pytest.raises(GrantError, match="plan it anew"):
        ledger.charge(plan((1,), second), accept=["share"])
