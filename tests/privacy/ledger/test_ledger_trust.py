"""Lost, or restored from a backup: a ledger that cannot be relied on grants nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.errors import (
    BudgetExceeded,
    LedgerError,
    LedgerMissing,
    LedgerStale,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger
from support.ledgers import finish, write_facts, write_release

MakePlan = Callable[..., Plan]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.fixture(params=[write_release, write_facts])
def write(request: pytest.FixtureRequest) -> Callable[[Path, str, object], Path]:
    """Write what shows a ledger: a release, or the facts beside a data set."""
    return request.param  # type: ignore[no-any-return]


def test_a_ledger_is_started_once(path: Path, make_plan: MakePlan) -> None:
    budget = make_plan().budget
    ledger = Ledger.create(path, budget)
    assert ledger.state().total == budget
    finish(ledger, ledger.charge(make_plan()))
    again = Ledger.open(path)
    assert again.id == ledger.id
    with pytest.raises(BudgetExceeded):
        again.charge(make_plan())


def test_a_missing_ledger_is_not_an_empty_one(
    path: Path, make_plan: MakePlan, write: Callable[[Path, str, object], Path]
) -> None:
    with pytest.raises(LedgerMissing):
        Ledger.open(path)
    assert not path.exists()
    ledger = Ledger.create(path, TOTAL)
    grant = ledger.charge(make_plan())
    write(path.parent, "toy", grant.ledger)
    path.unlink()
    for use in (lambda: Ledger.create(path, TOTAL), lambda: Ledger.open(path)):
        with pytest.raises(LedgerMissing, match=r"toy\..* was charged to ledger\.db"):
            use()
    with pytest.raises(LedgerMissing):
        ledger.charge(make_plan())


def test_a_new_ledger_in_place_of_a_lost_one_is_refused(path: Path, make_plan: MakePlan) -> None:
    grant = Ledger.create(path, TOTAL).charge(make_plan())
    path.unlink()
    fresh = Ledger.create(path, TOTAL)
    write_release(path.parent, "toy", grant.ledger)
    for use in (lambda: Ledger.open(path), lambda: fresh.charge(make_plan()), fresh.state):
        with pytest.raises(LedgerMissing, match="another ledger of this name"):
            use()


def test_a_restored_backup_is_refused(
    path: Path, make_plan: MakePlan, write: Callable[[Path, str, object], Path]
) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=9)
    first = ledger.charge(make_plan(0.1))
    ledger.finish(first, b"")
    write(path.parent, "first", first.ledger)
    backup = path.read_bytes()
    second = write(path.parent, "second", ledger.charge(make_plan(0.1)).ledger)
    path.write_bytes(backup)
    with pytest.raises(LedgerStale, match=r"second\."):
        ledger.charge(make_plan(0.1))
    with pytest.raises(LedgerStale, match=r"second\."):
        Ledger.open(path)
    second.unlink()
    Ledger.open(path)  # what no release names, nobody can miss


@pytest.mark.parametrize("epsilon", [0.1, 0.2])  # the same plan as before, on the same day; or another
def test_a_backup_that_went_its_own_way_is_refused(path: Path, make_plan: MakePlan, epsilon: float) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=9)
    backup = path.read_bytes()
    grant = ledger.charge(make_plan(0.1))
    ledger.finish(grant, b"made")
    write_release(path.parent, "first", grant.ledger)
    release = (path.parent / "first.safetensors").rename(path.parent / "away")
    path.write_bytes(backup)
    other = Ledger.open(path)
    other.finish(other.charge(make_plan(epsilon)), b"made")  # as many records as before, but others
    release.rename(path.parent / "first.safetensors")
    with pytest.raises(LedgerStale):
        Ledger.open(path)


def test_an_open_ledger_notices_that_it_was_put_back(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=9)
    backup = path.read_bytes()
    ledger.charge(make_plan(0.1))
    path.write_bytes(backup)
    with pytest.raises(LedgerStale, match="earlier state"):
        ledger.charge(make_plan(0.1))


def test_messages_name_no_folder(path: Path) -> None:
    for use in (lambda: Ledger.open(path), lambda: path.write_bytes(b"x") and Ledger.open(path)):
        with pytest.raises(LedgerError) as refusal:
            use()
        assert str(path.parent) not in str(refusal.value)
