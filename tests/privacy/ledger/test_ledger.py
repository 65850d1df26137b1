import ast
import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import hushrec.privacy.ledger.ledger as module
from hushrec.documents.words import Clause
from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    ChargeUnpublished,
    GrantError,
)
from hushrec.privacy.accounting.accountant import Spent, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger import booking
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.noise.entropy import OperatingSystem, Seeded
from support.ledgers import finish, raise_total

MakePlan = Callable[..., Plan]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


# -- booking ---------------------------------------------------------------------------------------------


def test_a_charge_books_every_measurement_and_outlives_the_process(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=3)
    plan = make_plan()
    grant = ledger.charge(plan)
    reopened = Ledger.open(place)
    assert reopened.entries() == ledger.entries()
    first, second = reopened.entries()
    assert (first.seq, first.charge, first.release_index, first.measurement, first.state) == (
        1,
        1,
        0,
        "sums",
        "charged",
    )
    assert (second.seq, second.charge, second.measurement) == (2, 1, "counts")
    assert (first.model, first.mechanism, first.size) == ("toy", "gaussian", 4)
    assert (first.sensitivity, first.sigma) == (2.0, plan.events[0].noise)
    assert first.key == plan.key(ledger.id, 0)
    assert (
        reopened.spent
        == plan.spent
        == sum((Spent(e.rho, e.epsilon_sum, e.pure_rho) for e in reopened.entries()), Spent())
    )
    assert reopened.spent == spent_of(plan.events)
    assert reopened.remaining == pytest.approx(1.0, abs=1e-9)
    assert (reopened.total, reopened.max_releases) == (TOTAL, 3)
    assert grant.private
    assert grant.caveats == ()
    assert grant.ledger == {
        "id": ledger.id,
        "file": store_of(place).name,
        "seq": 2,
        "head": ledger.head.hash,
        "release_index": 0,
        "max_releases": 3,
        "domain": "d" * 64,
        "total_epsilon": 2.0,
        "total_delta": 1e-6,
        "spent_epsilon": pytest.approx(1.0, abs=1e-9),
        "date": grant.ledger["date"],
    }
    assert grant.ledger["date"] >= "2026"


def test_states_only_go_forward(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    grant = ledger.charge(make_plan(0.1))
    with pytest.raises(GrantError, match="charge is charged, not sampled"):
        ledger.published(grant)
    ledger.sampled(grant, b"factors")
    with pytest.raises(GrantError, match="charge is sampled, not charged"):
        ledger.sampled(grant, b"other factors")
    ledger.published(grant)
    for again in (ledger.published, ledger.forfeit):
        with pytest.raises(GrantError, match="charge is published"):
            again(grant)
    forfeited = ledger.charge(make_plan(0.1))
    spent = ledger.spent
    ledger.forfeit(forfeited)
    with pytest.raises(GrantError, match="charge is forfeited"):
        ledger.sampled(forfeited, b"factors")
    assert ledger.spent == spent  # nothing comes back
    assert [entry.state for entry in ledger.entries()] == ["published"] * 2 + ["forfeited"] * 2


def test_a_stored_or_burnt_grant_releases_nothing_more(
    place: str, make_plan: MakePlan, make_bounded: Callable[..., object]
) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    for close in (lambda grant: ledger.sampled(grant, b"factors"), ledger.forfeit):
        grant = ledger.charge(make_plan(0.1))
        close(grant)
        with pytest.raises(GrantError):
            grant.measure(make_bounded())


def test_a_grant_belongs_to_its_ledger(tmp_path: Path, make_plan: MakePlan) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (Ledger.create(tmp_path / name / "ledger.db", TOTAL) for name in ("one", "two"))
    grant = one.charge(make_plan())
    two.charge(make_plan())
    with pytest.raises(GrantError, match="another ledger"):
        two.sampled(grant, b"factors")


def test_more_than_the_total_is_refused_and_changes_nothing(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    ledger.charge(make_plan(1.5), accept="share")
    head = ledger.head
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(make_plan(1.5))
    assert refusal.value.requested > 2.0
    assert refusal.value.remaining == ledger.remaining == pytest.approx(0.5, abs=1e-9)
    assert refusal.value.unit == "user"
    assert ledger.head == head
    ledger.charge(make_plan(0.1), accept="share")


def test_the_whole_total_can_be_spent_and_not_a_unit_more(place: str, make_plan: MakePlan) -> None:
    total = Budget(epsilon=0.3, delta=0.0, unit="user", adjacency="add-remove")
    ledger = Ledger.create(place, total, max_releases=99)
    tenth = make_plan(0.1, delta=0.0, names=("sums",))
    for _ in range(3):
        ledger.charge(tenth, accept="share")
    assert ledger.remaining == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.charge(make_plan(1e-9, delta=0.0, names=("sums",)))


@pytest.mark.parametrize(
    "other", [{"unit": "record"}, {"adjacency": "replace"}, {"unit": "record", "adjacency": "replace"}]
)
def test_unit_and_adjacency_must_be_the_ledgers(
    place: str, make_plan: MakePlan, other: dict[str, str]
) -> None:
    ledger = Ledger.create(place, TOTAL)
    plan = make_plan()
    with pytest.raises(BudgetError, match="do not add"):
        ledger.charge(dataclasses.replace(plan, budget=plan.budget.model_copy(update=other)))
    assert ledger.entries() == ()


def test_the_ledgers_delta_must_be_small_too(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL.model_copy(update={"delta": 1e-3}))
    with pytest.raises(BudgetError, match="too large for up to 1,000 users"):
        ledger.charge(make_plan())


def test_pure_and_gaussian_charges_add(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    ledger.charge(make_plan(1.0), accept="share")
    ledger.charge(make_plan(0.9, delta=0.0), accept="share")
    spent = ledger.spent
    assert (spent.rho, spent.epsilon_sum) == (make_plan(1.0).spent.rho, 900_000_000_000)
    assert spent.epsilon(1e-6) <= 1.9


def test_many_threads_share_one_budget(place: str, make_plan: MakePlan) -> None:
    total = TOTAL.model_copy(update={"delta": 0.0, "epsilon": 0.5})
    ledger = Ledger.create(place, total, max_releases=99)
    plan = make_plan(0.1, delta=0.0)
    outcomes: list[bool] = []

    def spend() -> None:
        for _ in range(3):
            try:
                ledger.charge(plan, accept="share")
                outcomes.append(True)
            except BudgetExceeded:
                outcomes.append(False)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(outcomes), len(outcomes), ledger.remaining) == (5, 12, 0.0)


# -- slots ------------------------------------------------------------------------------------------------


def test_a_slot_answers_with_the_bytes_it_was_charged_for(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=4)
    plan = make_plan(0.5)
    assert ledger.stored(plan, 2) is None
    grant = ledger.charge(plan, release_index=2)
    assert ledger.stored(plan, 2) is None
    ledger.sampled(grant, b"factors")
    assert ledger.stored(plan, 2) == b"factors"
    assert ledger.stored(plan, 1) is None
    assert ledger.stored(make_plan(0.4), 2) is None
    ledger.published(grant)
    assert Ledger.open(place).stored(plan, 2) == b"factors"
    spent = ledger.spent
    for same_slot in (plan, make_plan(0.4)):
        with pytest.raises(GrantError, match=r"stored\(plan, 2\)"):
            ledger.charge(same_slot, release_index=2)
    assert ledger.spent == spent


def test_an_unfinished_charge_keeps_its_index_until_it_is_given_up(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=1)
    first = ledger.charge(make_plan(0.5), release_index=0)
    with pytest.raises(BudgetError, match="is not below"):
        ledger.charge(make_plan(0.5))  # the next slot, for the first may still be at work
    with pytest.raises(
        ChargeUnpublished, match="release 0 was charged, and no release was published under it"
    ):
        ledger.charge(make_plan(0.5), release_index=0)
    assert ledger.spent == make_plan(0.5).spent
    ledger.forfeit_index(0)
    with pytest.raises(ChargeUnpublished, match="release 0 was charged and forfeited"):
        ledger.charge(make_plan(0.5), release_index=0)
    second = ledger.charge(make_plan(0.5))
    assert ledger.spent == make_plan(0.5).spent * 2
    assert [entry.state for entry in ledger.entries()] == ["forfeited"] * 2 + ["charged"] * 2
    with pytest.raises(GrantError, match="forfeited"):
        ledger.sampled(first, b"too late")
    ledger.sampled(second, b"factors")
    assert ledger.stored(make_plan(0.5), 0) == b"factors"
    with pytest.raises(GrantError, match="release 1 holds no charge, so there is nothing to forfeit"):
        ledger.forfeit_index(1)
    ledger.published(second)
    with pytest.raises(GrantError, match="release 0 was published, so there is nothing to forfeit"):
        ledger.forfeit_index(0)


def test_a_refused_second_charge_burns_nothing(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL)
    grant = ledger.charge(make_plan(1.5), release_index=0)
    with pytest.raises(ChargeUnpublished):
        ledger.charge(make_plan(1.5), release_index=0)
    finish(ledger, grant)


def test_slots_end_at_the_horizon_which_the_owner_may_extend(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=2)
    for release_index in (-1, 2):
        with pytest.raises(BudgetError, match=r"is not below|0 or more"):
            ledger.charge(make_plan(0.1), release_index=release_index)
    assert [ledger.charge(make_plan(0.1)).ledger["release_index"] for _ in range(2)] == [0, 1]
    with pytest.raises(BudgetError, match="is not below"):
        ledger.charge(make_plan(0.1))
    more = TOTAL.model_copy(update={"epsilon": 4.0})
    raise_total(place, more, 3)
    assert (Ledger.open(place).total, Ledger.open(place).max_releases) == (more, 3)
    assert ledger.charge(make_plan(3.0)).ledger["release_index"] == 2


@pytest.mark.parametrize(
    "change", [{"epsilon": 1.9}, {"delta": 1e-7}, {"unit": "record"}, {"adjacency": "replace"}]
)
def test_an_extension_only_adds(place: str, change: dict[str, object]) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=2)
    with pytest.raises(BudgetError):
        ledger.extend(TOTAL.model_copy(update=change))
    with pytest.raises(BudgetError):
        ledger.extend(TOTAL, max_releases=1)
    assert ledger.head.seq == 0


# -- what the release says --------------------------------------------------------------------------------


def test_seeded_or_unkept_releases_claim_nothing(place: str, make_plan: MakePlan) -> None:
    kept, unkept = Ledger.create(place, TOTAL, max_releases=9), Ledger.ephemeral(TOTAL)
    plan = make_plan(0.1)
    assert kept.charge(plan, entropy=OperatingSystem()).caveats == ()
    seeded = (Clause("unprotected.seeded"),)
    assert kept.charge(plan, entropy=Seeded(1)).caveats == seeded
    assert kept.charge(plan).caveats == (Clause("unprotected.ledger"),)
    assert [entry.caveats for entry in kept.entries()[1:3]] == [(), seeded]
    assert unkept.charge(plan, entropy=Seeded(1)).caveats == seeded
    grant = unkept.charge(plan)
    assert grant.caveats == (Clause("unprotected.not_kept"),)
    assert not grant.private
    assert grant.ledger["file"] is None
    unkept.sampled(grant, b"factors")
    unkept.published(grant)
    assert unkept.stored(plan, 1) == b"factors"


def test_no_decision_reads_a_clock(place: str, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = clock_readers(Path(module.__file__).parents[1])
    assert readers == {"dates.py"}  # which is written down, and decides nothing
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    ledger.charge(make_plan(0.1))
    for jump in (0.0, -1e9, 1e12):
        for clock in ("time", "monotonic", "perf_counter", "time_ns"):
            monkeypatch.setattr(time, clock, lambda jump=jump: jump)
        monkeypatch.setattr(booking, "today", lambda jump=jump: f"a day like {jump}")
        ledger.charge(make_plan(0.1))
        assert Ledger.open(place).head == ledger.head
    assert ledger.spent == make_plan(0.1).spent * 4


def clock_readers(folder: Path) -> set[str]:
    found = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            source = [node.module] if isinstance(node, ast.ImportFrom) else []
            if {"time", "datetime", "calendar"} & {str(name).split(".")[0] for name in [*names, *source]}:
                found.add(path.name)
            if isinstance(node, ast.Constant) and "CURRENT_TIMESTAMP" in str(node.value).upper():
                found.add(path.name)
    return found


def test_the_search_for_clocks_finds_planted_ones(tmp_path: Path) -> None:
    for number, planted in enumerate(
        ("import time", "from datetime import datetime", "SQL = 'x DEFAULT current_timestamp'")
    ):
        (tmp_path / f"planted_{number}.py").write_text(planted)
    assert len(clock_readers(tmp_path)) == 3
