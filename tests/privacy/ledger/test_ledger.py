import ast
import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hushrec.privacy.ledger.ledger as module
from hushrec.documents.sentences import Unprotected
from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    GrantError,
)
from hushrec.privacy.accounting.accountant import largest_cost
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
    state = Ledger.open(place).state()
    assert state == ledger.state()
    (charge,) = state.charges
    assert (charge.number, charge.release_index, charge.model, charge.state) == (1, 0, "toy", "charged")
    assert (charge.key, charge.domain, charge.budget) == (plan.key(ledger.id), "d" * 64, plan.budget)
    for one, record in zip(plan.noisy, charge.booked, strict=True):
        assert record == one.facts() | {"sigma": one.noise}
    assert state.spent == charge.cost == plan.spent.mu_squared == state.allowed - state.left
    assert 1.0 < state.remaining < 2.0  # μ² adds up: more is left than the difference
    assert (state.total, state.max_releases, state.releases_left, state.head.seq) == (TOTAL, 3, 2, 1)
    assert grant.private
    assert grant.caveats == ()
    assert grant.ledger == {
        "id": ledger.id,
        "file": store_of(place).name,
        "seq": 1,
        "head": state.head.hash,
        "release_index": 0,
        "max_releases": 3,
        "domain": "d" * 64,
        "total_epsilon": 2.0,
        "total_delta": 1e-6,
        "spent_epsilon": pytest.approx(1.0, abs=1e-9),
        "date": grant.ledger["date"],
    }
    assert grant.ledger["date"] >= "2026"


def test_a_state_is_read_anew_and_stays_as_it_was(place: str, make_plan: MakePlan) -> None:
    """Also what another process charges."""
    ledger, other = Ledger.create(place, TOTAL, max_releases=3), Ledger.open(place)
    before = other.state()
    finish(ledger, ledger.charge(make_plan(0.5)), b"bytes")
    assert (before.charges, before.spent, before.remaining, before.releases_left) == ((), 0, 2.0, 3)
    after = other.state()
    assert (len(after.charges), after.spent, after.releases_left) == (1, make_plan(0.5).spent.mu_squared, 2)
    assert other.artefact(0) == b"bytes"


def test_states_only_go_forward(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    grant = ledger.charge(make_plan(0.1))
    ledger.finish(grant, b"factors")
    given_up = ledger.charge(make_plan(0.1))
    spent = ledger.state().spent
    ledger.forfeit(given_up)
    for over, state in ((grant, "made"), (given_up, "forfeited")):
        for again in (lambda one=over: ledger.finish(one, b"others"), lambda one=over: ledger.forfeit(one)):
            with pytest.raises(GrantError, match=f"charge is {state}"):
                again()
    assert ledger.state().spent == spent  # nothing comes back
    assert [charge.state for charge in ledger.state().charges] == ["made", "forfeited"]
    assert ledger.artefact(0) == b"factors"


def test_a_finished_or_forfeited_grant_releases_nothing_more(
    place: str, make_plan: MakePlan, make_sum: Callable[..., tuple[Any, Any]]
) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    for close in (lambda grant: ledger.finish(grant, b"factors"), ledger.forfeit):
        grant = ledger.charge(make_plan(0.1))
        close(grant)
        with pytest.raises(GrantError):
            grant.measure(*make_sum())


def test_a_grant_belongs_to_its_ledger(tmp_path: Path, make_plan: MakePlan) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (Ledger.create(tmp_path / name / "ledger.db", TOTAL) for name in ("one", "two"))
    grant = one.charge(make_plan())
    two.charge(make_plan())
    with pytest.raises(GrantError, match="another ledger"):
        two.finish(grant, b"factors")


def test_more_than_the_total_is_refused_and_changes_nothing(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    ledger.charge(make_plan(1.5), accept="share")
    state = ledger.state()
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge(make_plan(1.5))
    assert refusal.value.requested > 2.0
    assert refusal.value.remaining == state.remaining < 1.5
    assert refusal.value.unit == "user"
    assert ledger.state() == state
    ledger.charge(make_plan(0.1), accept="share")


def test_the_whole_total_can_be_spent_and_not_a_unit_more(place: str, make_plan: MakePlan) -> None:
    total = Budget(epsilon=0.3, delta=0.0, unit="user", adjacency="add-remove")
    ledger = Ledger.create(place, total, max_releases=99)
    tenth = make_plan(0.1, delta=0.0, names=("sums",))
    for _ in range(3):
        ledger.charge(tenth, accept="share")
    assert (ledger.state().left, ledger.state().remaining) == (0, 0.0)
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
    assert ledger.state().charges == ()


def test_the_ledgers_delta_must_be_small_too(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL.model_copy(update={"delta": 1e-3}))
    with pytest.raises(BudgetError, match="too large for up to 1,000 users"):
        ledger.charge(make_plan())


def test_pure_and_gaussian_charges_add(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=9)
    plans = make_plan(1.0), make_plan(0.2, delta=0.0)
    *_, last = (ledger.charge(plan, accept="share") for plan in plans)
    assert ledger.state().spent == sum(plan.spent.mu_squared for plan in plans)
    assert 1.0 < last.ledger["spent_epsilon"] < 2.0


def test_gaussian_noise_is_refused_where_pure_epsilon_adds_up(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL.model_copy(update={"delta": 0.0}))
    with pytest.raises(BudgetError, match="no finite ε at this ledger's δ = 0"):
        ledger.charge(make_plan(0.1))
    assert ledger.state().charges == ()


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
    assert (sum(outcomes), len(outcomes), ledger.state().left) == (5, 12, 0)


# -- release indexes --------------------------------------------------------------------------------------


def test_the_ledger_keeps_the_bytes_of_what_was_made(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=4)
    first, second = (ledger.charge(make_plan(0.5)) for _ in range(2))
    ledger.finish(second, b"factors")
    assert Ledger.open(place).artefact(1) == b"factors"
    for not_made in (0, 2, -1):
        with pytest.raises(GrantError, match=f"no release {not_made} was made"):
            ledger.artefact(not_made)
    assert [one.number for one in ledger.state().charges if one.state == "charged"] == [first.charge]


def test_an_open_charge_keeps_its_index_until_it_is_given_up(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=1)
    first = ledger.charge(make_plan(0.5))
    with pytest.raises(BudgetError, match="all 1 releases of this ledger are made or charged"):
        ledger.charge(make_plan(0.5))
    spent = ledger.state().spent
    ledger.forfeit(0)
    second = ledger.charge(make_plan(0.5))
    assert second.ledger["release_index"] == 0
    assert ledger.state().spent == 2 * spent
    assert [charge.state for charge in ledger.state().charges] == ["forfeited", "charged"]
    with pytest.raises(GrantError, match="forfeited"):
        ledger.finish(first, b"too late")
    ledger.finish(second, b"factors")
    assert ledger.artefact(0) == b"factors"
    for index, why in ((1, "holds no charge"), (0, "is made")):
        with pytest.raises(GrantError, match=f"release {index} {why}, so there is nothing to forfeit"):
            ledger.forfeit(index)


def test_indexes_end_where_the_owner_may_extend_them(place: str, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=2)
    assert [ledger.charge(make_plan(0.1)).ledger["release_index"] for _ in range(2)] == [0, 1]
    with pytest.raises(BudgetError, match="all 2 releases"):
        ledger.charge(make_plan(0.1))
    more = TOTAL.model_copy(update={"epsilon": 4.0})
    raise_total(place, more, 3)
    state = Ledger.open(place).state()
    assert (state.total, state.max_releases, state.allowed) == (more, 3, largest_cost(more))
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
    assert ledger.state().head.seq == 0


# -- what the release says --------------------------------------------------------------------------------


def test_seeded_or_unkept_releases_claim_nothing(place: str, make_plan: MakePlan) -> None:
    kept, unkept = Ledger.create(place, TOTAL, max_releases=9), Ledger.ephemeral(TOTAL)
    plan = make_plan(0.1)
    assert kept.charge(plan, entropy=OperatingSystem()).caveats == ()
    seeded = (Unprotected.seeded(),)
    assert kept.charge(plan, entropy=Seeded(1)).caveats == seeded
    assert kept.charge(plan).caveats == (Unprotected.ledger(),)
    assert [charge.caveats for charge in kept.state().charges[:2]] == [(), seeded]
    assert unkept.charge(plan, entropy=Seeded(1)).caveats == seeded
    grant = unkept.charge(plan)
    assert grant.caveats == (Unprotected.not_kept(),)
    assert not grant.private
    assert grant.ledger["file"] is None
    finish(unkept, grant)
    assert unkept.artefact(1) == b"factors"


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
        assert Ledger.open(place).state() == ledger.state()
    assert ledger.state().spent == make_plan(0.1).spent.mu_squared * 4


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
