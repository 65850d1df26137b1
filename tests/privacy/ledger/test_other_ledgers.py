"""One population, one ledger: what a wrong name, a lost ledger or a second one leaves in the folder."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.errors import LedgerError, LedgerMissing
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.history import extension
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.sqlite import SqliteStore
from support.ledgers import write_release

MakePlan = Callable[..., Plan]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
SECOND = "would be a second ledger, next to "


@pytest.fixture
def other(path: Path) -> Path:
    return path.with_name("other.db")


# -- a name that leads to no ledger -----------------------------------------------------------------------


def test_a_wrong_name_starts_nothing(path: Path, other: Path) -> None:
    Ledger.create(path, TOTAL)
    with pytest.raises(LedgerMissing) as refused:
        Ledger.open(other)
    text = str(refused.value)
    assert text.startswith(f"there is no ledger other.db in the folder {path.parent.name};")
    for way in ("hushrec.Ledger.create(path, total)", "hushrec ledger create", "--new-ledger"):
        assert way in text
    assert str(path.parent.parent) not in text
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


# -- a second ledger --------------------------------------------------------------------------------------


def test_a_folder_holds_one_ledger(path: Path, other: Path, make_plan: MakePlan) -> None:
    """Also where its people may be others, and where it cannot be read."""
    ledger = Ledger.create(path, TOTAL, max_releases=9)
    replace = TOTAL.model_copy(update={"adjacency": "replace"})
    for total in (TOTAL, replace):
        with pytest.raises(LedgerError, match=rf"other\.db {SECOND}ledger\.db\. One population has one"):
            Ledger.create(other, total)
    write_release(path.parent, "films", ledger.charge(make_plan(0.1)).ledger)
    with pytest.raises(
        LedgerError, match=rf"{SECOND}ledger\.db and films\.safetensors \(charged to ledger\.db\)"
    ):
        Ledger.create(other, TOTAL)
    path.write_bytes(path.read_bytes().replace(b'"model":"toy"', b'"model":"yot"'))
    with pytest.raises(LedgerError, match=SECOND):
        Ledger.create(other, TOTAL)
    assert not other.exists()


def test_a_ledger_that_was_deleted_is_missed_under_another_name(
    path: Path, other: Path, make_plan: MakePlan
) -> None:
    file = write_release(path.parent, "films", Ledger.create(path, TOTAL).charge(make_plan()).ledger)
    path.unlink()
    with pytest.raises(LedgerError, match=rf"{SECOND}films\.safetensors \(charged to ledger\.db\)"):
        Ledger.create(other, TOTAL)
    file.unlink()
    Ledger.create(other, TOTAL)  # what nothing in the folder tells, nobody can know


def test_strange_files_are_no_ledgers(path: Path) -> None:
    folder = path.parent
    (folder / "empty.db").touch()
    (folder / "text.csv").write_text("user_id,item_id,rating\n" * 100)
    (folder / "half.db").write_bytes(b"SQLite format 3\0" + bytes(52) + b"hush")
    (folder / "folder.db").mkdir()
    (folder / "gone.db").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.db")
    signal.alarm(20)  # a reader of a pipe waits for good
    database = sqlite3.connect(folder / "books.db")
    database.execute("CREATE TABLE book (title)")
    database.close()
    before = {file.name for file in folder.iterdir()}
    Ledger.create(path, TOTAL)
    assert SqliteStore(path).neighbours() == []
    assert [found.name for found in SqliteStore(folder / "other.db").neighbours()] == ["ledger.db"]
    signal.alarm(0)
    assert {file.name for file in folder.iterdir()} - before == {"ledger.db"}


def test_a_ledger_is_told_by_what_it_holds_not_by_its_name(path: Path, other: Path) -> None:
    Ledger.create(path, TOTAL)
    path.rename(path.with_name("holiday.jpg"))
    path.write_bytes(b"SQLite format 3\0")
    assert [found.name for found in SqliteStore(other).neighbours()] == ["holiday.jpg"]
    assert SqliteStore(path.with_name("holiday.jpg")).neighbours() == []
    assert SqliteStore(path.parent / "nowhere" / "ledger.db").neighbours() == []


TRY = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=0.2, isolation_level=None)
try:
    database.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


def seen_by_another_process(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", TRY, path], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_looking_around_drops_no_lock_of_this_process(path: Path, other: Path) -> None:
    """POSIX: the first close of a file drops all of a process's locks on it, whoever took them."""
    ledger = Ledger.create(path, TOTAL)
    with ledger._writing() as session:
        assert [found.name for found in SqliteStore(other).neighbours()] == ["ledger.db"]
        with pytest.raises(LedgerMissing):
            Ledger.open(other)
        with pytest.raises(LedgerError, match=SECOND):
            Ledger.create(other, TOTAL)
        assert seen_by_another_process(path) == "database is locked"
        session.append(**extension(session.history, TOTAL, 5))
    assert Ledger.open(path).state().max_releases == 5


def test_a_ledger_has_not_the_name_of_a_release(tmp_path: Path) -> None:
    """Releases are opened without SQLite."""
    for name in ("ledger.safetensors", "ledger.statement.json"):
        with pytest.raises(LedgerError, match="is the name of a release"):
            Ledger.create(tmp_path / name, TOTAL)
    assert not [*tmp_path.iterdir()]
