"""One charge, one draw: files with two names, ledgers that were restored, children, and threads."""

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hushrec.errors import GrantError, LedgerError
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores import sqlite
from hushrec.privacy.ledger.stores.sqlite import SqliteStore

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def race(crash, names):
    """Charges that were granted to two processes, each by its own name of the ledger."""
    start, granted = multiprocessing.Barrier(2), names[0].parent / "granted"

    def work(name):
        ledger = Ledger.open(name)
        start.wait()
        for _ in range(15):
            ledger.charge(crash.plan, accept="share")
            with granted.open("a") as file:
                file.write("x")

    children = [crash.fork(lambda name=name: work(name)) for name in names]
    assert [crash.status(child) for child in children] == [0, 0]
    return len(granted.read_text())


@pytest.fixture
def twin(path, crash):
    """Another place for a name of the ledger, which lies in another folder."""
    Ledger.create(path, crash.total.model_copy(update={"epsilon": 20.0}), max_releases=1000)
    (path.parent / "other").mkdir()
    return path.parent / "other" / path.name


def test_a_ledger_of_two_names_forgets_no_charge(path, twin, crash, monkeypatch):
    os.link(path, twin)
    monkeypatch.setattr(sqlite, "_require_one_name", lambda path: None)
    assert race(crash, (path, twin)) == 30 == len(Ledger.open(path).entries())


def test_who_has_a_ledger_by_one_name_excludes_others_by_another(path, twin, crash, monkeypatch):
    os.link(path, twin)
    monkeypatch.setattr(sqlite, "_require_one_name", lambda path: None)
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)

    def other():
        with pytest.raises(LedgerError, match="another process holds the ledger"):
            Ledger.open(twin)

    with SqliteStore(path).writing():
        assert crash.status(crash.fork(other)) == 0
    Ledger.open(twin)


def test_a_ledger_that_is_mounted_by_itself_forgets_no_charge(path, twin, crash):
    twin.touch()
    if os.geteuid() or subprocess.run(["mount", "--bind", path, twin], capture_output=True).returncode:
        pytest.skip("this user may not mount")
    try:
        assert race(crash, (path, twin)) == 30 == len(Ledger.open(path).entries())
    finally:
        subprocess.run(["umount", twin], check=True)


def test_a_hard_link_is_refused_and_says_what_to_do(path, twin):
    os.link(path, twin)
    with pytest.raises(LedgerError, match=r"second name, a hard link.*delete the other name"):
        Ledger.open(path)
    twin.unlink()
    Ledger.open(path)


def outcomes(folder, *cases):
    script = Path(__file__).with_name("restored.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, folder, *cases], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


STALE = {"statuses": [-9, 3, 3], "charges": 0}
POINTS = ("after-mark", "after-store", "after-publish")
CASES = [
    f"{verb},{point},{how}"
    for verb in ("fit", "randomize")
    for point in POINTS
    for how in ("beside", "named")
]


def test_a_restored_ledger_is_not_believed(tmp_path):
    """Of a data set it was, and then drew a second table under one charge."""
    found = outcomes(tmp_path, "fit,after-mark,beside", "randomize,after-store,beside")
    assert found.pop("left alone") == {"statuses": [-9, 0], "charges": 1}, "a child holds its parent's fit"
    assert all(found[case] == STALE for case in found), found


@pytest.mark.full
def test_a_restored_ledger_is_believed_at_no_point_after_the_charge(tmp_path):
    found = outcomes(tmp_path, *CASES)
    assert all(found[case] == STALE for case in CASES), found


def test_a_branch_is_taken_in_the_process_that_was_charged(path, crash):
    grant = Ledger.create(path, crash.total).charge(crash.plan, accept="share")

    def take():
        with pytest.raises(GrantError, match="stays in the process"):
            grant.take("any")

    assert crash.status(crash.fork(take)) == 0
