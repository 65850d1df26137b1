"""Real processes, really killed."""

import contextlib
from pathlib import Path

import pytest

from hushrec.errors import LedgerError
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger
from support.forks import fork, status

BUDGET = Budget(epsilon=0.5, delta=1e-6, unit="user", adjacency="add-remove")
TOTAL = BUDGET.model_copy(update={"epsilon": 2.0})
SUMS = calibrated([Measurement("sums", 1.0, "l2", 2**-6, 16)], {"sums": 1.0}, BUDGET)
PLAN = Plan("toy", {}, "d" * 64, 1000, BUDGET, SUMS)


def started(path: Path) -> Ledger:
    """The ledger, whichever process was first to start it."""
    if not path.exists():
        with contextlib.suppress(LedgerError):  # another process was first
            return Ledger.create(path, TOTAL)
    return Ledger.open(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


class Crash:
    """What the tests of this folder share."""

    plan, total = PLAN, TOTAL
    fork, status, started = staticmethod(fork), staticmethod(status), staticmethod(started)


@pytest.fixture
def crash() -> type[Crash]:
    return Crash
