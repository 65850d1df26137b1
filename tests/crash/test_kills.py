"""kill -9 at every failpoint, and at any moment: what was published was charged, nothing is drawn twice."""

import os
import signal
import time
from pathlib import Path

import pytest

from hushrec.errors import LedgerError, LedgerStale
from hushrec.privacy.ledger.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

CHARGES_AFTER_RECOVERY = {
    "inside-create": 1,
    "before-charge": 1,
    "inside-charge": 1,  # undone: nothing was committed
    "after-charge": 2,  # a grant may have been in use
    "after-sample": 2,  # noise was drawn under the first
    "inside-store": 2,
    "after-store": 1,  # the stored bytes are the answer
    "after-file": 1,
    "after-publish": 1,
}


@pytest.mark.parametrize("name", CHARGES_AFTER_RECOVERY)
def test_a_kill_at_every_failpoint(path: Path, crash, name: str) -> None:
    assert crash.run_until(name, lambda: crash.publish(path, 0)) == crash.killed
    release = path.with_name("release0.safetensors")
    if path.exists():
        crash.check(path)
    seen = [Ledger.open(path).stored(crash.plan, 0) if path.exists() else None]
    seen += [release.read_bytes()] if release.exists() else []
    assert crash.run_until(None, lambda: crash.publish(path, 0)) == 0
    crash.check(path)
    for artefact in filter(None, seen):
        assert artefact == release.read_bytes()
    charges = {entry.charge for entry in Ledger.open(path).entries()}
    assert len(charges) == CHARGES_AFTER_RECOVERY[name]


def test_every_failpoint_is_rehearsed(crash) -> None:
    from hushrec.privacy import failpoints

    sources = Path(failpoints.__file__).parent.rglob("*.py")
    named = {name for source in sources for name in source.read_text().split('failpoint("')[1:]}
    rehearsed = {*CHARGES_AFTER_RECOVERY, *crash.of_checkpoints}
    assert {name.split('"')[0] for name in named} | {"after-file"} == rehearsed


def test_the_hook_has_one_reader() -> None:
    from hushrec.privacy import failpoints

    root = Path(failpoints.__file__).parents[1]
    readers = {source.name for source in root.rglob("*.py") if "HUSHREC_FAILPOINT" in source.read_text()}
    assert readers == {"failpoints.py"}


def test_the_check_finds_a_release_before_its_charge(path: Path, crash) -> None:
    crash.publish(path, 0)

    def careless() -> None:
        charged = path.with_name("release0.safetensors").read_bytes()
        path.with_name("release1.safetensors").write_bytes(charged)
        Ledger.open(path).charge(crash.plan, 1)

    assert crash.run_until("before-charge", careless) == crash.killed
    with pytest.raises(AssertionError):
        crash.check(path)


def test_the_check_finds_a_charge_that_was_forgotten(path: Path, crash) -> None:
    crash.publish(path, 0)
    before = path.read_bytes()
    Ledger.open(path).extend(crash.total, 9)
    crash.publish(path, 1)
    path.write_bytes(before)
    with pytest.raises(LedgerStale):
        crash.check(path)


def kill_at_any_moment(path: Path, crash, rounds: int) -> int:
    """Kill a child that publishes slot after slot, each round a little later; returns the kills."""
    Ledger.create(path, crash.total.model_copy(update={"epsilon": 1000.0}), max_releases=100_000)
    kills = 0
    for number in range(rounds):
        first = 1 + number * 1000

        def work(first: int = first) -> None:
            for release_index in range(first, first + 8):
                crash.publish(path, release_index)

        child = crash.fork(work)
        time.sleep(0.002 + 0.0017 * (number % 40))
        os.kill(child, signal.SIGKILL)
        kills += crash.status(child) == crash.killed
        ledger = Ledger.open(path)
        for release in path.parent.glob("*.safetensors"):
            release_index = int(release.stem.removeprefix("release"))
            assert ledger.stored(crash.plan, release_index) == release.read_bytes()
    assert ledger.spent == crash.plan.spent * len(ledger.entries())
    return kills


def test_kills_at_any_moment(path: Path, crash) -> None:
    assert kill_at_any_moment(path, crash, 12) >= 6


@pytest.mark.full
def test_many_kills_at_any_moment(path: Path, crash) -> None:
    assert kill_at_any_moment(path, crash, 100) >= 50


def test_a_lost_write_ahead_log_is_noticed(path: Path, crash) -> None:
    """A crash between commit and checkpoint leaves the last charges in a file of their own."""
    import sqlite3

    crash.publish(path, 0)
    Ledger.open(path).extend(crash.total, 9)
    reader = sqlite3.connect(path)  # holds the checkpoint back, as a crash would
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM log").fetchone()
    crash.publish(path, 1)
    rest = path.with_name("ledger.db-wal").read_bytes()
    kept = path.read_bytes()
    reader.close()
    crash.check(path)
    for damaged in (b"", rest[:100], rest[:200] + bytes([rest[200] ^ 1]) + rest[201:]):
        path.write_bytes(kept)
        path.with_name("ledger.db-wal").write_bytes(damaged)
        with pytest.raises(LedgerError):
            Ledger.open(path)
        for rubbish in path.parent.glob("ledger.db-*"):
            rubbish.unlink()
    path.write_bytes(kept)
    path.with_name("ledger.db-wal").write_bytes(rest)
    crash.check(path)
