"""Lost, restored, altered: a ledger that cannot be relied on grants nothing."""

import contextlib
import json
import os
import sqlite3
import stat
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.errors import (
    BudgetExceeded,
    LedgerDamaged,
    LedgerError,
    LedgerMissing,
    LedgerStale,
    LedgerWarning,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger import sqlite
from hushrec.privacy.ledger.history import History
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.sqlite import Session
from support.ledgers import finish

MakePlan = Callable[..., Plan]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def write_release(folder: Path, name: str, ledger: dict[str, object]) -> None:
    """A safetensors file with nothing in it but its header."""
    statement = json.dumps({"statement": {"ledger": ledger}})
    header = json.dumps({"__metadata__": {"hushrec": statement}}).encode()
    (folder / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)


# -- opening ----------------------------------------------------------------------------------------------


def test_a_ledger_is_started_once(path: Path, make_plan: MakePlan) -> None:
    budget = make_plan().budget
    ledger = Ledger.create(path, budget)
    assert ledger.total == budget
    finish(ledger, ledger.charge(make_plan()))
    again = Ledger.open(path)
    assert again.id == ledger.id
    with pytest.raises(BudgetExceeded):
        again.charge(make_plan())


def test_of_two_that_start_a_ledger_at_once_one_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other comes between the first one's look and its file."""
    other, rivals = TOTAL.model_copy(update={"epsilon": 1.0}), [path]

    def meanwhile(name: str) -> None:
        if name == "inside-create" and rivals:
            Ledger.create(rivals.pop(), other)

    monkeypatch.setattr(sqlite, "failpoint", meanwhile)
    with pytest.raises(LedgerError, match="there is a ledger already"):
        Ledger.create(path, TOTAL)
    assert Ledger.open(path).total == other


def test_there_is_one_ledger_under_a_name(path: Path) -> None:
    Ledger.create(path, TOTAL)
    with pytest.raises(LedgerError, match="open it"):
        Ledger.create(path, TOTAL)
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


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


def test_a_missing_ledger_is_not_an_empty_one(path: Path, make_plan: MakePlan) -> None:
    with pytest.raises(LedgerMissing):
        Ledger.open(path)
    assert not path.exists()
    ledger = Ledger.create(path, TOTAL)
    grant = ledger.charge(make_plan())
    write_release(path.parent, "toy", grant.ledger)
    path.unlink()
    for use in (lambda: Ledger.create(path, TOTAL), lambda: Ledger.open(path)):
        with pytest.raises(LedgerMissing, match=r"toy\.safetensors was charged to ledger\.db"):
            use()
    with pytest.raises(LedgerMissing):
        ledger.charge(make_plan())
    with pytest.warns(LedgerWarning, match=r"other\.db is started beside toy\.safetensors"):
        Ledger.create(path.with_name("other.db"), TOTAL)  # another population, another name


def test_a_new_ledger_in_place_of_a_lost_one_is_refused(path: Path, make_plan: MakePlan) -> None:
    grant = Ledger.create(path, TOTAL).charge(make_plan())
    path.unlink()
    fresh = Ledger.create(path, TOTAL)
    write_release(path.parent, "toy", grant.ledger)
    for use in (lambda: Ledger.open(path), lambda: fresh.charge(make_plan()), lambda: fresh.remaining):
        with pytest.raises(LedgerMissing, match="another ledger of this name"):
            use()


def test_a_restored_backup_is_refused(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL, horizon=9)
    write_release(path.parent, "first", ledger.charge(make_plan(0.1)).ledger)
    backup = path.read_bytes()
    write_release(path.parent, "second", ledger.charge(make_plan(0.1)).ledger)
    path.write_bytes(backup)
    with pytest.raises(LedgerStale, match=r"second\.safetensors"):
        ledger.charge(make_plan(0.1))
    with pytest.raises(LedgerStale, match=r"second\.safetensors"):
        Ledger.open(path)
    (path.parent / "second.safetensors").unlink()
    Ledger.open(path)  # what no release names, nobody can miss


def test_a_backup_that_went_its_own_way_is_refused(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL, horizon=9)
    backup = path.read_bytes()
    write_release(path.parent, "first", ledger.charge(make_plan(0.1)).ledger)
    release = (path.parent / "first.safetensors").rename(path.parent / "away")
    path.write_bytes(backup)
    Ledger.open(path).charge(make_plan(0.2))  # as many records as before, but others
    release.rename(path.parent / "first.safetensors")
    with pytest.raises(LedgerStale):
        Ledger.open(path)


def test_an_open_ledger_notices_that_it_was_put_back(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL, horizon=9)
    backup = path.read_bytes()
    ledger.charge(make_plan(0.1))
    path.write_bytes(backup)
    with pytest.raises(LedgerStale, match="earlier state"):
        ledger.charge(make_plan(0.1))


def test_strange_files_beside_a_ledger_say_nothing_and_strange_claims_close_it(path: Path) -> None:
    ledger = Ledger.create(path, TOTAL)
    folder = path.parent
    (folder / "plain.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
    write_release(folder, "elsewhere", {"id": "f" * 32, "file": "other.db", "seq": 5, "head": "00"})
    write_release(folder, "seeded", {"id": "f" * 32, "file": None, "seq": 5, "head": "00"})
    assert Ledger.open(path).id == ledger.id
    for head in ("00", None, 7, {}):
        write_release(folder, "strange", {"id": ledger.id, "file": "ledger.db", "seq": 0, "head": head})
        with pytest.raises(LedgerStale):
            Ledger.open(path)
    for seq in ("0", 1.5, 0.0, False, None, -1, [0], 10**30):
        write_release(
            folder, "strange", {"id": ledger.id, "file": "x", "seq": seq, "head": ledger_head(path)}
        )
        with pytest.raises(LedgerStale):
            Ledger.open(path)


def ledger_head(path: Path) -> str:
    with sqlite3.connect(path) as database:
        (head,) = database.execute("SELECT hash FROM log ORDER BY seq DESC LIMIT 1").fetchone()
    database.close()
    return str(head.hex())


# -- tampering --------------------------------------------------------------------------------------------


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
        "UPDATE account SET rho = 0, spent_epsilon = 0",
        "UPDATE account SET total_epsilon = total_epsilon + 1",
        "DELETE FROM account",
        "DELETE FROM log",
        "DELETE FROM log WHERE seq = 0",
        "DELETE FROM log WHERE seq = 1",
        "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)",
        "UPDATE log SET body = CAST(replace(CAST(body AS TEXT), 'toy', 'yot') AS BLOB) WHERE seq = 1",
        "UPDATE log SET hash = zeroblob(32) WHERE seq = 1",
        "UPDATE log SET seq = 99 WHERE seq = 1",
        "INSERT INTO log SELECT seq + 1, body, hash FROM log ORDER BY seq DESC LIMIT 1",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 3",
        "PRAGMA application_id = 0",
        "DROP TABLE artefact",
        "CREATE TABLE more (x)",
        "DROP TABLE account; CREATE TABLE account (only)",
    ],
)
def test_an_altered_ledger_is_refused(path: Path, make_plan: MakePlan, statement: str) -> None:
    Ledger.create(path, TOTAL, horizon=9).charge(make_plan())
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
        "UPDATE account SET rho = 0",
        "UPDATE account SET total_epsilon = total_epsilon - 1",
        "UPDATE account SET spent_epsilon = total_epsilon + 1",
        "UPDATE account SET spent_epsilon = 'none'",
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


def test_a_record_that_is_altered_with_its_own_hash_does_not_lead_to_the_next(
    path: Path, make_plan: MakePlan
) -> None:
    ledger = Ledger.create(path, TOTAL)
    finish(ledger, ledger.charge(make_plan(), slot=0))
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
    finish(ledger, ledger.charge(make_plan(), slot=0))
    for damage in ("UPDATE artefact SET content = x'00'", "DELETE FROM artefact"):
        tamper(path, damage)
        with pytest.raises(LedgerDamaged, match="stored artefact"):
            Ledger.open(path).stored(make_plan(), 0)


def test_messages_name_no_folder(path: Path) -> None:
    for use in (lambda: Ledger.open(path), lambda: path.write_bytes(b"x") and Ledger.open(path)):
        with pytest.raises(LedgerError) as refusal:
            use()
        assert str(path.parent) not in str(refusal.value)


def test_a_ledger_that_forgets_to_write_would_be_seen(
    path: Path, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "append", lambda session, **facts: session.history.append(facts)[0])
    ledger = Ledger.create(path, TOTAL)
    ledger.charge(make_plan())
    with pytest.raises(LedgerDamaged, match="disagree"):
        Ledger.open(path)


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
