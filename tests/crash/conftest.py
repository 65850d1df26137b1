"""Real processes, really killed."""

import contextlib
import hashlib
import json
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import LedgerError
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import gaussian, split_gaussian
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import Bounded
from hushrec.privacy.failpoints import VARIABLE, failpoint
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger

BUDGET = Budget(epsilon=0.5, delta=1e-6, unit="user", adjacency="add-remove")
TOTAL = BUDGET.model_copy(update={"epsilon": 2.0})
(RHO,) = split_gaussian(BUDGET, {"sums": 1.0}).values()
PLAN = Plan(
    "toy",
    {},
    "d" * 64,
    1000,
    BUDGET,
    (Measurement(gaussian("sums", rho=RHO, sensitivity=1.0, step=2**-6, size=16), 1.0),),
)


def fork(work: Callable[[], object]) -> int:
    """Run something in a child process; returns its process number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    return child


def status(child: int) -> int:
    """Exit status of a child; minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_until(name: str | None, work: Callable[[], object]) -> int:
    """Run something in a child that dies at a failpoint."""

    def armed() -> None:
        os.environ[VARIABLE] = name or ""
        work()

    return status(fork(armed))


def started(path: Path) -> Ledger:
    """The ledger, whichever process was first to start it."""
    if not path.exists():
        with contextlib.suppress(LedgerError):  # another process was first
            return Ledger.create(path, TOTAL)
    return Ledger.open(path)


def charged(ledger: Ledger, release_index: int) -> Grant:
    """A charge of this index. One that was stopped is given up first, as no checkpoint resumes it."""
    if any(charge.release_index == release_index for charge in ledger.unpublished):
        ledger.forfeit_index(release_index)
        return ledger.charge(PLAN)
    return ledger.charge(PLAN, release_index)


def publish(path: Path, release_index: int) -> None:
    """A whole release, as a model makes it: look up, or charge, draw, store; then the file; then the mark."""
    ledger = started(path) if release_index == 0 else Ledger.open(path)
    target = path.with_name(f"release{release_index}.safetensors")
    artefact = ledger.stored(PLAN, release_index)
    grant = None
    if artefact is None:
        grant = charged(ledger, release_index)
        zeros = np.zeros(16, dtype=np.int64)
        noisy = grant.measure(Bounded("sums", zeros, 1.0, "l2", 2**-6))
        statement = json.dumps({"statement": {"ledger": grant.ledger}})
        header = json.dumps({"__metadata__": {"hushrec": statement}}).encode()
        artefact = struct.pack("<Q", len(header)) + header + noisy.values.tobytes()
        ledger.sampled(grant, artefact)
    draft = target.with_suffix(".draft")
    draft.write_bytes(artefact)
    os.replace(draft, target)
    failpoint("after-file")
    if grant:
        ledger.published(grant)


def check(path: Path) -> None:
    """Published ⊆ charged, bytes and all; the account is the sum of its entries and within the total."""
    ledger = Ledger.open(path)
    entries = ledger.entries()
    assert ledger.spent == PLAN.spent * len(entries)
    assert ledger.spent.epsilon(TOTAL.delta) <= TOTAL.epsilon
    for release in path.parent.glob("*.safetensors"):
        release_index = int(release.stem.removeprefix("release"))
        assert [
            e.state
            for e in entries
            if e.release_index == release_index and e.state in ("sampled", "published")
        ] != []
        assert ledger.stored(PLAN, release_index) == release.read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


class Crash:
    """What the tests of this folder share."""

    plan, total = PLAN, TOTAL
    killed = -signal.SIGKILL
    of_checkpoints = ("after-key", "after-bind", "after-mark", "inside-keep", "after-keep", "after-shred")
    fork, status = staticmethod(fork), staticmethod(status)
    run_until, publish, check = staticmethod(run_until), staticmethod(publish), staticmethod(check)
    started = staticmethod(started)

    @staticmethod
    def digest(file: Path) -> str:
        return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def crash() -> type[Crash]:
    return Crash
