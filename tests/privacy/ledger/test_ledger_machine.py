"""The ledger against a reference of twenty lines, in any order of use that Hypothesis can think of."""

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    ChargeUnpublished,
    GrantError,
    HushrecError,
    LedgerStale,
    ShareExceeded,
)
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Laplace
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger import booking
from hushrec.privacy.ledger import history as ledger_history
from hushrec.privacy.ledger import ledger as ledger_module
from hushrec.privacy.ledger.booking import Remainder
from hushrec.privacy.ledger.ledger import Ledger
from support.ledgers import raise_total

HORIZON, TOTAL = 4, 10
BUDGET = Budget(epsilon=float(TOTAL), delta=0.0, unit="user", adjacency="add-remove")


def plan_of(cost: int) -> Plan:
    event = Laplace("sums", float(cost), 1.0, 0.5, 1)
    return Plan(f"costs {cost}", {}, "d" * 64, 10, BUDGET, (Measurement(event, 1.0),))


class Reference:
    """What a ledger is meant to do: slots hold [cost, state, bytes]; nothing spent comes back."""

    def __init__(self) -> None:
        self.spent, self.total, self.max_releases = 0, TOTAL, HORIZON
        self.slots: dict[int, list] = {}
        self.given_up: set[int] = set()

    def charge(self, cost: int, release_index: int | None, beyond_share: bool) -> list | type[Exception]:
        if release_index is None:
            release_index = next(n for n in range(99) if n not in self.slots)
        elif release_index in self.slots:
            return ChargeUnpublished if self.slots[release_index][1] == "charged" else GrantError
        elif release_index in self.given_up:
            return ChargeUnpublished
        if self.spent + cost > self.total:
            return BudgetExceeded
        if release_index >= self.max_releases:
            return BudgetError
        releases = self.max_releases - len(self.slots.keys() - {release_index})
        if not beyond_share and self.spent + releases * cost > self.total:
            return ShareExceeded
        self.spent += cost
        self.slots[release_index] = [cost, "charged", None]
        return self.slots[release_index]


class LedgerMachine(RuleBasedStateMachine):
    grants = Bundle("grants")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.db"
        self.place = self.somewhere()
        self.ledger, self.reference = Ledger.create(self.place, BUDGET, HORIZON), Reference()
        self.backup = b""

    def somewhere(self) -> str:
        return str(self.path)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(
        target=grants,
        cost=st.integers(1, 4),
        release_index=st.none() | st.integers(0, HORIZON),
        beyond=st.booleans(),
    )
    def charge(self, cost: int, release_index: int | None, beyond: bool) -> tuple[Grant, list] | None:
        expected = self.reference.charge(cost, release_index, beyond)
        if isinstance(expected, list):
            return self.ledger.charge(plan_of(cost), release_index, accept=["share"] * beyond), expected
        with pytest.raises(expected) as refusal:
            self.ledger.charge(plan_of(cost), release_index, accept=["share"] * beyond)
        assert refusal.type is expected
        return None

    @rule(pair=grants, artefact=st.binary(max_size=3))
    def sampled(self, pair: tuple[Grant, list] | None, artefact: bytes) -> None:
        self.move(pair, lambda grant: self.ledger.sampled(grant, artefact), ("charged",), "sampled", artefact)

    @rule(pair=grants)
    def published(self, pair: tuple[Grant, list] | None) -> None:
        self.move(pair, lambda grant: self.ledger.published(grant), ("sampled",), "published")

    @rule(pair=consumes(grants))
    def forfeit(self, pair: tuple[Grant, list] | None) -> None:
        self.move(pair, lambda grant: self.ledger.forfeit(grant), ("charged", "sampled"), "forfeited")
        if pair:
            slots = self.reference.slots
            self.reference.given_up |= {n for n, held in slots.items() if held[1] == "forfeited"}
            self.reference.slots = {n: held for n, held in slots.items() if held[1] != "forfeited"}

    def move(self, pair, act, before, after, artefact=None) -> None:
        if pair is None:
            return
        grant, held = pair
        if held[1] in before:
            act(grant)
            held[1] = after
            held[2] = artefact if artefact is not None else held[2]
        else:
            with pytest.raises(GrantError):
                act(grant)

    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger.open(self.place)

    @rule(more=st.integers(0, 2), slots=st.integers(0, 1))
    def extend(self, more: int, slots: int) -> None:
        self.reference.total += more
        self.reference.max_releases += slots
        total = BUDGET.model_copy(update={"epsilon": float(self.reference.total)})
        raise_total(self.place, total, self.reference.max_releases)

    @rule()
    def back_up(self) -> None:
        self.backup = self.path.read_bytes()

    @precondition(lambda machine: machine.backup not in (b"", machine.path.read_bytes()))
    @rule()
    def restore(self) -> None:
        live = self.path.read_bytes()
        self.path.write_bytes(self.backup)
        with pytest.raises(LedgerStale):
            self.ledger.charge(plan_of(1))
        self.path.write_bytes(live)

    @invariant()
    def agree(self) -> None:
        reference, ledger = self.reference, self.ledger
        assert (
            ledger.spent.epsilon_sum
            == reference.spent * fixed_point.PER_ONE
            <= reference.total * fixed_point.PER_ONE
        )
        assert ledger.remaining == reference.total - reference.spent
        live = {e.release_index: (e.sensitivity, e.state) for e in ledger.entries() if e.state != "forfeited"}
        assert live == {
            release_index: (cost, state) for release_index, (cost, state, _) in reference.slots.items()
        }
        for release_index, (cost, _, artefact) in reference.slots.items():
            assert ledger.stored(plan_of(cost), release_index) == artefact


SHORT = settings(
    derandomize=True,
    max_examples=15,
    stateful_step_count=20,
    deadline=None,
    database=None,
    print_blob=False,
)
LedgerMachine.TestCase.settings = SHORT
TestLedger = LedgerMachine.TestCase


@pytest.mark.full
@pytest.mark.postgres
def test_the_machine_runs_on_a_server(postgres) -> None:
    database, runs = postgres.database(), itertools.count()

    class OnAServer(LedgerMachine):
        def somewhere(self) -> str:
            next(runs)
            postgres.psql("DROP SCHEMA IF EXISTS hushrec CASCADE", database=database)
            return str(postgres.url(database))

        back_up = restore = None  # of a file

    run_state_machine_as_test(OnAServer, settings=settings(SHORT, max_examples=5))
    assert next(runs) >= 5


def half_price(*facts: Any, free: bool = False) -> dict[str, object]:
    record = ledger_history.booking(*facts, free=free)
    return record | {"epsilon_sum": record["epsilon_sum"] // 2}


def forgets_burnt(history: ledger_history.History) -> int:
    return len({charge.release_index for charge in history.charges.values()})


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [
        (booking, "booking", half_price),
        (
            ledger_module.Ledger,
            "_of",
            lambda ledger, grant, session, *states: session.history.charges[grant.charge],
        ),
        (ledger_history.History, "free_index", forgets_burnt),
        (Remainder, "covers", lambda remainder, cost: True),
        (ledger_history.History, "holds", lambda history, head: True),
    ],
)
@pytest.mark.full
def test_the_machine_finds_planted_faults(
    where: object,
    name: str,
    fault: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(where, name, fault)
    with pytest.raises((AssertionError, pytest.fail.Exception, HushrecError)):
        run_state_machine_as_test(LedgerMachine, settings=settings(SHORT, phases=[Phase.generate]))
