"""Eight processes against one budget."""

from pathlib import Path

import pytest

from hushrec.errors import BudgetExceeded
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger import booking, history
from hushrec.privacy.ledger.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def affordable(crash, total: Budget) -> int:
    return largest_cost(total) // crash.plan.spent.units(total.delta)


def spend(path: Path, crash, attempts: int) -> int:
    """Eight processes charge as often as they can; returns how many charges were granted."""

    def work() -> None:
        ledger = Ledger.open(path)
        for _ in range(attempts):
            try:
                grant = ledger.charge(crash.plan, accept="share")
            except BudgetExceeded:
                continue
            path.with_name(f"grant{grant.charge}").touch(exist_ok=False)

    children = [crash.fork(work) for _ in range(8)]
    assert [crash.status(child) for child in children] == [0] * 8
    return len(list(path.parent.glob("grant*")))


def test_eight_processes_spend_one_budget_exactly(path: Path, crash) -> None:
    expected = affordable(crash, crash.total)
    assert expected > 8
    Ledger.create(path, crash.total, max_releases=1000)
    assert spend(path, crash, 5) == expected
    state = Ledger.open(path).state()
    assert len(state.charges) == expected
    assert state.spent == crash.plan.spent.mu_squared * expected


def test_eight_processes_start_one_ledger(path: Path, crash) -> None:
    def work() -> None:
        path.with_name(f"id{crash.started(path).id}").touch()

    children = [crash.fork(work) for _ in range(8)]
    assert [crash.status(child) for child in children] == [0] * 8
    assert len(list(path.parent.glob("id*"))) == 1


def test_a_ledger_that_compares_nothing_would_be_overspent(
    path: Path, crash, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = affordable(crash, crash.total)
    for part in (history, booking):
        monkeypatch.setattr(part, "largest_cost", lambda total: 2**62)
    Ledger.create(path, crash.total, max_releases=1000)
    assert spend(path, crash, 5) == 40 > expected


@pytest.mark.full
def test_eight_processes_forty_times_each(path: Path, crash) -> None:
    total = crash.total.model_copy(update={"epsilon": 8.0})
    expected = affordable(crash, total)
    assert 100 < expected < 320
    Ledger.create(path, total, max_releases=1000)
    assert spend(path, crash, 40) == expected == len(Ledger.open(path).state().charges)
