"""The ledger against a short reference, in any order of use that Hypothesis can think of."""

import itertools
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    GrantError,
    HushrecError,
    LedgerStale,
    ShareExceeded,
)
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger import booking
from hushrec.privacy.ledger import history as ledger_history
from hushrec.privacy.ledger import ledger as ledger_module
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.store import Session
from hushrec.privacy.sums_on_disk import ChargeSums, SumsFolder
from support.ledgers import raise_total

HORIZON, TOTAL = 4, 10
BUDGET = Budget(epsilon=float(TOTAL), delta=1e-6, unit="user", adjacency="add-remove")


BRANCH = {"sums": "", "left": "left", "right": "right"}
"""The branch of each measurement."""


def plan_of(cost: int) -> Plan:
    made = tuple(Measurement(name, float(cost), "l2", 0.5, 1, branch, 5.0) for name, branch in BRANCH.items())
    return Plan(f"costs {cost}", {}, "d" * 64, 10, BUDGET, made)


@dataclass
class Held:
    """A charge, as the reference knows it."""

    cost: int
    index: int
    state: str = "charged"
    branch: str = ""
    values: dict[str, float] = field(default_factory=dict)
    artefact: bytes = b""
    sums: ChargeSums | None = None  # whoever holds its folder


@dataclass
class Fit:
    """A process that has a grant; ``sums`` is None if it keeps nothing."""

    grant: Grant
    held: Held
    sums: ChargeSums | None
    taken: str
    chosen: bool = False
    closed: bool = False
    used: set[str] = field(default_factory=set)


class Reference:
    """What a ledger is meant to do: indexes hold charges; nothing spent comes back."""

    def __init__(self) -> None:
        self.spent, self.total, self.max_releases = 0, TOTAL, HORIZON
        self.charges: list[Held] = []

    @property
    def live(self) -> dict[int, Held]:
        return {held.index: held for held in self.charges if held.state != "forfeited"}

    @property
    def budget(self) -> Budget:
        return BUDGET.model_copy(update={"epsilon": float(self.total)})

    def fits(self, spent: int) -> bool:
        return spent <= largest_cost(self.budget)

    def charge(self, cost: int, beyond_share: bool) -> Held | type[Exception]:
        index, price = next(n for n in range(99) if n not in self.live), plan_of(cost).spent.mu_squared
        if not self.fits(self.spent + price):
            return BudgetExceeded
        if index >= self.max_releases:
            return BudgetError
        if not beyond_share and not self.fits(self.spent + price * (self.max_releases - len(self.live))):
            return ShareExceeded
        self.spent += price
        self.charges.append(Held(cost, index))
        return self.charges[-1]


class LedgerMachine(RuleBasedStateMachine):
    fits = Bundle("fits")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.db"
        self.place = self.somewhere()
        self.ledger, self.reference = Ledger.create(self.place, BUDGET, HORIZON), Reference()
        self.sums = SumsFolder(self.folder / "sums", self.ledger.id)
        self.backup, self.backed_up, self.marked = b"", 0, 0

    def somewhere(self) -> str:
        return str(self.path)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(target=fits, cost=st.integers(1, 4), kept=st.booleans(), beyond=st.booleans())
    def charge(self, cost: int, kept: bool, beyond: bool) -> Fit | MultipleResults[Fit]:
        expected, accept = self.reference.charge(cost, beyond), ["share"] * beyond
        sums = self.sums.new() if kept else None
        if isinstance(expected, Held):
            grant = self.ledger.charge(plan_of(cost), sums=sums, accept=accept)
            self.marked, expected.sums = grant.ledger["seq"] if kept else self.marked, sums
            return Fit(grant, expected, sums, "")
        with pytest.raises(expected) as refusal:
            self.ledger.charge(plan_of(cost), sums=sums, accept=accept)
        assert refusal.type is expected
        return multiple()

    @rule(target=fits, fit=fits, again=st.booleans())
    def resume(self, fit: Fit, again: bool) -> Fit | MultipleResults[Fit]:
        """After its process was killed; what has its grant may be a thread of it that lives on."""
        if fit.held.sums is None:
            return multiple()
        held, plan = fit.held, plan_of(fit.held.cost)
        if again:
            self.measure(fit, "sums")
        fit.held.sums.close()
        held.sums = sums = ChargeSums(fit.held.sums.path)
        if held.state == "charged":
            resumed = Fit(self.ledger.charge(plan, sums=sums), held, sums, held.branch)
            if again:
                self.measure(resumed, "sums")
            return resumed
        with pytest.raises(GrantError):
            self.ledger.charge(plan, sums=sums)
        return multiple()

    @rule(fit=fits, name=st.sampled_from([*BRANCH]))
    def measure(self, fit: Fit, name: str) -> None:
        held = fit.held
        booked = next(one for one in fit.grant.plan.noisy if one.name == name)
        asked = booked.listed, np.zeros(1, np.int64)
        open_now = ("", fit.taken if fit.chosen else "")
        due = (one for one, branch in BRANCH.items() if branch in open_now and one not in fit.used)
        reached = name == next(due, "")
        known = fit.sums is not None and name in held.values
        if fit.closed or name in fit.used or not reached:
            able = False
        else:
            able = known or fit.sums is None or held.state == "charged"
            fit.used.add(name)
        if not able:
            with pytest.raises(GrantError):
                fit.grant.measure(*asked)
            return
        (value,) = fit.grant.measure(*asked).values
        if fit.sums is not None:
            assert held.values.setdefault(name, value) == value, "one value of a measurement"

    @rule(fit=fits, branch=st.sampled_from(["left", "right"]))
    def take(self, fit: Fit, branch: str) -> None:
        recorded = fit.sums is not None and not fit.taken
        refused = recorded and (fit.held.branch or fit.held.state != "charged")
        if fit.chosen or refused:
            with pytest.raises(GrantError):
                fit.grant.take(branch)
            return
        fit.taken, fit.chosen = fit.taken or branch, True
        assert fit.grant.take(branch) == fit.taken
        if recorded:
            fit.held.branch = branch

    @rule(fit=fits, artefact=st.binary(max_size=3))
    def finish(self, fit: Fit, artefact: bytes) -> None:
        if self.end(fit, lambda grant: self.ledger.finish(grant, artefact), "made"):
            fit.held.artefact = artefact

    @rule(fit=fits)
    def forfeit(self, fit: Fit) -> None:
        self.end(fit, self.ledger.forfeit, "forfeited")

    @rule(index=st.integers(0, HORIZON))
    def forfeit_index(self, index: int) -> None:
        held = self.reference.live.get(index)
        if held and held.state == "charged":
            self.ledger.forfeit(index)
            held.state = "forfeited"
        else:
            with pytest.raises(GrantError):
                self.ledger.forfeit(index)

    def end(self, fit: Fit, act: Callable[[Grant], object], state: str) -> bool:
        fit.closed = True
        if fit.held.state == "charged":
            act(fit.grant)
            fit.held.state = state
            return True
        with pytest.raises(GrantError):
            act(fit.grant)
        return False

    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger.open(self.place)

    @rule(more=st.integers(0, 2), slots=st.integers(0, 1))
    def extend(self, more: int, slots: int) -> None:
        self.reference.total += more
        self.reference.max_releases += slots
        raise_total(self.place, self.reference.budget, self.reference.max_releases)

    @rule()
    def back_up(self) -> None:
        self.backup, self.backed_up = self.path.read_bytes(), self.ledger.state().head.seq

    @precondition(lambda machine: machine.backup not in (b"", machine.path.read_bytes()))
    @rule()
    def restore(self) -> None:
        live = self.path.read_bytes()
        self.path.write_bytes(self.backup)
        with pytest.raises(LedgerStale):
            self.ledger.charge(plan_of(1))
        if self.marked > self.backed_up:  # which a new process sees, too
            sums = self.sums.new()
            with pytest.raises(LedgerStale):
                Ledger.open(self.place).charge(plan_of(1), sums=sums)
            sums.remove()
        self.path.write_bytes(live)

    @invariant()
    def agree(self) -> None:
        reference, ledger = self.reference, self.ledger
        state = ledger.state()
        assert (state.spent, state.total) == (reference.spent, reference.budget)
        assert reference.fits(state.spent)
        for charge, one in zip(state.charges, reference.charges, strict=True):
            known = (charge.state, charge.release_index, charge.branch)
            assert known == (one.state, one.index, one.branch)
            assert charge.measured.keys() == one.values.keys()
        for index, one in reference.live.items():
            if one.state == "made":
                assert ledger.artefact(index) == one.artefact


SHORT = settings(
    derandomize=True,
    max_examples=25,
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


def for_nothing(session: Session, append: Any = Session.append, **facts: Any) -> int:
    return int(append(session, **(facts | ({"cost": 0} if facts["kind"] == "charged" else {}))))


@property
def forgets_burnt(state: ledger_history.State) -> set[int]:
    return {charge.release_index for charge in state.charges}


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [
        (Session, "append", for_nothing),
        (
            ledger_module.Ledger,
            "_of",
            lambda ledger, grant, session: session.history.charges[grant.charge],
        ),
        (ledger_history.State, "indexes", forgets_burnt),
        (booking, "_require_left", lambda *_: None),
        (booking, "_require_share", lambda *_: None),
        (ledger_history.History, "holds", lambda history, head: True),
        (ChargeSums, "load", lambda sums, name: None),
        (SumsFolder, "marks", lambda folder: []),
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
        run_state_machine_as_test(
            LedgerMachine, settings=settings(SHORT, max_examples=100, phases=[Phase.generate])
        )
