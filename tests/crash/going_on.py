"""Fits that are killed and gone on with, each in a process of its own: a script for test_resume.py.

It reads scenarios as JSON, and says as JSON what became of each. It runs no compiled loop with threads
itself, so that its children may be forked.
"""

import hashlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from children import child, status  # isort: skip
import hushrec as hr
from hushrec.privacy import failpoints
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.grant import sampler

RATINGS = hr.synthetic.netflix_like(60, 12, 600, seed=1)
BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
CONFIG = hr.UserLevelSGD(rank=2, epochs=3)


def fit(folder, release_index):
    ledger, checkpoint = folder / "ledger.db", folder / "checkpoint"
    release = hr.fit(
        RATINGS, CONFIG, BUDGET, ledger=ledger, release_index=release_index, checkpoint=checkpoint
    )
    release.save(folder / "release.safetensors")


def armed(point, passes):
    """Die when the named point is passed for that time."""
    count, real = 0, failpoints.failpoint

    def failpoint(name):
        nonlocal count
        count += name == point
        if count == passes:
            os.kill(os.getpid(), signal.SIGKILL)

    for module in list(sys.modules.values()):
        if getattr(module, "failpoint", None) is real:
            module.failpoint = failpoint


def told(folder, statuses, states=()):
    release, ledger = folder / "release.safetensors", hr.Ledger.open(folder / "ledger.db")
    return {
        "statuses": statuses,
        "states kept": states,
        "release": hashlib.sha256(release.read_bytes()).hexdigest() if release.exists() else None,
        "charges": len({entry.charge for entry in ledger.entries()}),
        "states": sorted({entry.state for entry in ledger.entries()}),
        "spent once": ledger.spent == hr.plan(RATINGS.domain, CONFIG, BUDGET).spent,
        "left": (folder / "checkpoint").exists(),
    }


def killed(folder, point, passes=1, release_index=None, fault=None):
    """Kill a fit at a point, and call it again."""

    def first():
        armed(point, passes)
        fit(folder, release_index)

    def second():
        if fault == "fresh key":
            (folder / "checkpoint" / "key").unlink()
        if fault == "keys of the process":
            Checkpoint.key = lambda checkpoint, name="", purpose="noise": os.urandom(32)
        fit(folder, release_index)

    before = status(child(first))
    states = len(list((folder / "checkpoint").glob("*.safetensors")))
    return told(folder, [before, status(child(second))], states)


def hounded(folder, delays, release_index=None):
    """Kill a fit after each delay in turn, and call it again; then let it end."""
    statuses = []
    for delay in delays:
        number = child(lambda: fit(folder, release_index))
        time.sleep(delay)
        os.kill(number, signal.SIGKILL)
        statuses.append(status(number))
    statuses.append(status(child(lambda: fit(folder, release_index))))
    return told(folder, statuses)


def main(root):
    """Every scenario starts with copies of one ledger and one key."""
    ledger = root / "ledger.db"
    sampler()  # proves itself once here, and not in every child
    hr.Ledger.create(ledger, hr.Budget(**BUDGET.model_dump() | {"epsilon": 9.0}), max_releases=9)
    found = {}
    for name, scenario in json.load(sys.stdin).items():
        folder = root / name
        (folder / "checkpoint").mkdir(parents=True)
        shutil.copy(ledger, folder)
        (folder / "checkpoint" / "lock").touch()
        if scenario.get("point") != "after-key":
            (folder / "checkpoint" / "key").write_bytes(b"k" * 32)
        run = hounded if "delays" in scenario else killed
        found[name] = run(folder, **scenario)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
