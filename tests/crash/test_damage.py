"""Truncated, flipped, full: no byte of damage buys budget."""

import os
import resource
import sqlite3
import subprocess
from pathlib import Path

import pytest

from hushrec.errors import LedgerError
from hushrec.privacy.ledger.history import State
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores import sqlite

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def whole(path: Path, crash) -> bytes:
    """A ledger with three charges in three states, as bytes."""
    ledger = Ledger.create(path, crash.total, max_releases=9)
    grants = [ledger.charge(crash.plan) for _ in range(3)]
    ledger.finish(grants[0], b"factors" * 1000)
    ledger.forfeit(grants[1])
    return path.read_bytes()


def view(path: Path) -> State:
    return Ledger.open(path).state()


def flips_that_deceive(path: Path, whole: bytes, every: int) -> tuple[int, list[int]]:
    """Flip one bit at a time; returns how many were refused, and which were accepted with another content."""
    expected, refused, deceived = view(path), 0, []
    for number, place in enumerate(range(0, len(whole), every)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << number % 8
        path.write_bytes(damaged)
        try:
            deceived += [place] if view(path) != expected else []
        except LedgerError:
            refused += 1
        for rubbish in path.parent.glob("ledger.db-*"):
            rubbish.unlink()
    return refused, deceived


def test_a_flipped_bit_is_refused_or_harmless(path: Path, whole: bytes) -> None:
    refused, deceived = flips_that_deceive(path, whole, 151)
    assert deceived == []
    assert refused > 10


@pytest.mark.full
def test_any_flipped_bit_is_refused_or_harmless(path: Path, whole: bytes) -> None:
    assert flips_that_deceive(path, whole, 7)[1] == []


def test_without_the_chain_flipped_bits_would_deceive(
    path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: records are replayed and not verified."""
    from hushrec.privacy.ledger.history import History

    at = whole.index(b'"release_index":2')
    path.write_bytes(whole[: at + 16] + b"7" + whole[at + 17 :])
    with pytest.raises(LedgerError):
        view(path)

    def gullible(history: History, seq: object, body: bytes, digest: bytes) -> None:
        import json

        history._replay(json.loads(body))
        history._hashes.append(digest)

    monkeypatch.setattr(History, "load", gullible)
    assert [charge.release_index for charge in view(path).charges] == [0, 1, 7]


def test_a_truncated_ledger_is_refused(path: Path, whole: bytes) -> None:
    places = {*range(0, len(whole), 509), *range(4096, len(whole), 4096), len(whole) - 1, 1, 99, 100}
    for length in sorted(places):
        path.write_bytes(whole[:length])
        with pytest.raises(LedgerError):
            view(path)


def test_rubbish_is_refused(path: Path, crash) -> None:
    for content in (b"", b"\0" * 4096, b"SQLite format 3\0" + b"\0" * 5000, b"hello"):
        path.write_bytes(content)
        with pytest.raises(LedgerError):
            Ledger.open(path)
        with pytest.raises(LedgerError):
            Ledger.create(path, crash.total)
        assert path.read_bytes() == content


def spend_until_refused(path: Path, crash) -> int:
    grants = 0
    try:
        while True:
            Ledger.open(path).charge(crash.plan)
            grants += 1
    except LedgerError:
        return grants


def test_a_full_disk_grants_nothing(path: Path, crash, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger.create(path, crash.total.model_copy(update={"epsilon": 1000.0}), max_releases=1000)
    connect = sqlite._connect

    def cramped(where: str) -> sqlite3.Connection:
        database = connect(where)
        database.execute("PRAGMA max_page_count = 7")
        return database

    monkeypatch.setattr(sqlite, "_connect", cramped)
    granted = spend_until_refused(path, crash)
    with pytest.raises(LedgerError, match="the disk is full"):
        Ledger.open(path).charge(crash.plan)
    monkeypatch.undo()
    ledger = Ledger.open(path)
    assert len(ledger.state().charges) == granted > 0
    ledger.charge(crash.plan)


def test_a_file_that_may_not_grow_grants_nothing(path: Path, crash) -> None:
    Ledger.create(path, crash.total.model_copy(update={"epsilon": 1000.0}), max_releases=1000)

    def work() -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 6000, hard))
        grants = spend_until_refused(path, crash)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        ledger = Ledger.open(path)
        assert len(ledger.state().charges) == grants
        ledger.charge(crash.plan)

    assert crash.status(crash.fork(work)) == 0


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_really_full_disk_grants_nothing(tmp_path: Path, crash) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True)
    if mount.returncode:
        pytest.skip("mounting is not permitted here")
    try:
        path = disk / "ledger.db"
        Ledger.create(path, crash.total.model_copy(update={"epsilon": 1000.0}), max_releases=1000)
        grants = spend_until_refused(path, crash)
        copy = tmp_path / "copy"
        subprocess.run(["cp", "-r", disk, copy], check=True)
        assert len(Ledger.open(copy / "ledger.db").state().charges) == grants > 0
    finally:
        subprocess.run(["umount", disk], check=True)
