"""The ledger's file: made whole, its owner's alone, forced to disk, and an altered one is refused."""

import contextlib
import json
import os
import signal
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.errors import (
    LedgerDamaged,
    LedgerError,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger import booking
from hushrec.privacy.ledger.history import History
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores import sqlite
from support.ledgers import finish

MakePlan = Callable[..., Plan]


TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def test_of_two_that_start_a_ledger_at_once_one_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other comes between the first one's look and its file."""
    other, rivals = TOTAL.model_copy(update={"epsilon": 1.0}), [path]

    def meanwhile(name: str) -> None:
        if name == "inside-create" and rivals:
            Ledger.create(rivals.pop(), other)

    monkeypatch.setattr(sqlite, "failpoint", meanwhile)
    with pytest.raises(LedgerError, match="there is a ledger already"):
        Ledger.create(path, TOTAL)
    assert Ledger.open(path).state().total == other


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_a_ledger_is_its_owners_alone(path: Path, make_plan: MakePlan, mask: int) -> None:
    """The file, what SQLite keeps beside it, and the draft that a kill may leave."""
    before, drafts = os.umask(mask), []

    def look(name: str) -> None:
        if name == "inside-create":
            drafts.extend(path.parent.glob(".ledger.db.*/*"))
            modes.extend(stat.S_IMODE(file.stat().st_mode) for file in drafts)

    modes: list[int] = []
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite, "failpoint", look)
            ledger = Ledger.create(path, TOTAL)
        reader = sqlite3.connect(path)  # holds the log back, as a crash would
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM log").fetchone()
        ledger.charge(make_plan())
        beside = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        reader.close()
    finally:
        os.umask(before)
    assert beside == dict.fromkeys(["ledger.db", "ledger.db-wal", "ledger.db-shm"], 0o600)
    assert modes == [0o600] * len(drafts) != []


def test_a_ledger_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="choose an existing folder"):
        Ledger.create(tmp_path / "nowhere" / "ledger.db", TOTAL)


def tamper(path: Path, *statements: str) -> None:
    database = sqlite3.connect(path)
    triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        database.executescript(statement)
    for _, sql in triggers:
        with contextlib.suppress(sqlite3.OperationalError):  # its table is gone
            database.execute(sql)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET spent = 0",
        "UPDATE account SET allowed = allowed + 1",
        "UPDATE account SET head = zeroblob(32)",
        "DELETE FROM account",
        "DELETE FROM log",
        "DELETE FROM log WHERE seq = 0",
        "DELETE FROM log WHERE seq = 1",
        "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
        "UPDATE log SET body = CAST(replace(CAST(body AS TEXT), 'toy', 'yot') AS BLOB) WHERE seq = 1",
        "UPDATE log SET hash = zeroblob(32) WHERE seq = 1",
        "UPDATE log SET seq = 99 WHERE seq = 1",
        "INSERT INTO log SELECT seq + 1, body, hash FROM log ORDER BY seq DESC LIMIT 1",
        "PRAGMA user_version = 5",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 0",
        "DROP TABLE artefact",
        "CREATE TABLE more (x)",
        "DROP TABLE account; CREATE TABLE account (only)",
    ],
)
def test_an_altered_ledger_is_refused(path: Path, make_plan: MakePlan, statement: str) -> None:
    Ledger.create(path, TOTAL, max_releases=2).charge(make_plan())
    tamper(path, "")
    Ledger.open(path)  # taking triggers off and putting them back is no damage
    tamper(path, statement)
    with pytest.raises(LedgerDamaged):
        Ledger.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET body = x'00'",
        "DELETE FROM log",
        "DELETE FROM account",
        "UPDATE account SET seq = 0",
        "UPDATE account SET spent = 0",
        "UPDATE account SET allowed = allowed - 1",
        "UPDATE account SET spent = allowed + 1",
        "UPDATE account SET spent = 'none'",
        "UPDATE artefact SET content = x'00'",
        "DELETE FROM artefact",
    ],
)
def test_the_tables_themselves_refuse_to_forget(path: Path, make_plan: MakePlan, statement: str) -> None:
    ledger = Ledger.create(path, TOTAL)
    finish(ledger, ledger.charge(make_plan()))
    database = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO measured VALUES (1, 'sums', 'another')",
        "INSERT INTO measured VALUES (2, 'counts', 'late')",
        "INSERT INTO measured VALUES (3, 'counts', 'late')",
        "INSERT INTO measured VALUES (0, 'counts', 'of no charge')",
        "UPDATE measured SET sha256 = 'another'",
        "DELETE FROM measured",
        "UPDATE charge SET branch = 'counts' WHERE number = 1",
        "UPDATE charge SET branch = '' WHERE number = 1",
        "UPDATE charge SET branch = 'counts' WHERE number = 3",
        "UPDATE charge SET state = 'charged' WHERE number = 2",
        "UPDATE charge SET state = 'made' WHERE number = 3",
        "UPDATE charge SET number = 99 WHERE number = 1",
        "DELETE FROM charge WHERE number = 3",
    ],
)
def test_the_tables_themselves_refuse_a_second_value(path: Path, make_plan: MakePlan, statement: str) -> None:
    """Charges 1, open, with one value and a branch; 2, made; and 3, forfeited."""
    ledger = Ledger.create(path, TOTAL, max_releases=3)
    _, made, given_up = (ledger.charge(make_plan(0.1)) for _ in range(3))
    finish(ledger, made)
    ledger.forfeit(given_up)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO measured VALUES (1, 'sums', 'a value')")
        database.execute("UPDATE charge SET branch = 'pairs' WHERE number = 1")
        database.execute("INSERT INTO measured VALUES (1, 'counts', 'a value')")
        with pytest.raises(sqlite3.IntegrityError):
            database.execute(statement)


def test_a_record_that_is_altered_with_its_own_hash_does_not_lead_to_the_next(
    path: Path, make_plan: MakePlan
) -> None:
    ledger = Ledger.create(path, TOTAL)
    finish(ledger, ledger.charge(make_plan()))
    with contextlib.closing(sqlite3.connect(path)) as database:
        bodies = [body for (body,) in database.execute("SELECT body FROM log ORDER BY seq")]
    history = History()
    history.append(json.loads(bodies[0]))
    changed = {**json.loads(bodies[1]), "model": "another"}
    _, body, digest = history.append(changed)
    tamper(path, f"UPDATE log SET body = x'{body.hex()}', hash = x'{digest.hex()}' WHERE seq = 1")
    with pytest.raises(LedgerDamaged, match="record 2 was altered"):
        Ledger.open(path)


def test_altered_artefacts_are_not_given_out(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL)
    finish(ledger, ledger.charge(make_plan()))
    for damage in ("UPDATE artefact SET content = x'00'", "DELETE FROM artefact"):
        tamper(path, damage)
        with pytest.raises(LedgerDamaged, match="stored artefact"):
            Ledger.open(path).artefact(0)


def test_a_new_ledger_is_forced_to_disk_with_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[Path, bool]] = []
    monkeypatch.setattr(sqlite, "_sync", lambda where: synced.append((where, path.exists())))
    Ledger.create(path, TOTAL)
    assert [where.name for where, _ in synced] == [path.name, path.parent.name]
    assert synced[-1] == (path.parent, True), "the folder last, when the name is in it"


def test_every_commit_is_forced_to_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    connect = sqlite._connect

    def spy(where: str) -> sqlite3.Connection:
        database = connect(where)
        if where.startswith("file:"):
            seen.append(
                [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
            )
        return database

    ledger = Ledger.create(path, TOTAL)
    monkeypatch.setattr(sqlite, "_connect", spy)
    ledger.extend(TOTAL, 2)
    assert seen == [[b"wal", 2]]  # 2 is FULL


def test_the_database_refuses_what_the_code_forgets(
    path: Path, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(path, TOTAL)

    monkeypatch.setattr(booking, "_require_left", lambda *_: None)
    with pytest.raises(LedgerError, match="exceed the total"):
        ledger.charge(make_plan(3.0), accept="share")
    assert ledger.state().charges == ()


def test_a_pipe_for_a_ledger_is_refused(path: Path) -> None:
    os.mkfifo(path)
    signal.alarm(20)
    try:
        with pytest.raises(LedgerError, match="not a regular file"):
            Ledger.open(path)
    finally:
        signal.alarm(0)


@pytest.mark.parametrize(
    ("code", "says"), [(sqlite3.SQLITE_FULL, "make room"), (sqlite3.SQLITE_IOERR, "or is full")]
)
def test_a_full_disk_undoes_its_step_alone(code: int, says: str) -> None:
    """A charge that was recorded before stays spent: no error may say that nothing was."""
    error = sqlite3.OperationalError("secret")
    error.sqlite_errorcode = code
    with (
        pytest.raises(LedgerError, match=r"^the ledger did not record this step: ") as told,
        sqlite._translated(),
    ):
        raise error
    assert says in str(told.value)
    assert "secret" not in str(told.value)
