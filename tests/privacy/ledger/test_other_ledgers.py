"""One population, one ledger: what a wrong name, a lost ledger or a second one leaves in the folder."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.errors import LedgerError, LedgerMissing, LedgerWarning
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger import anchors
from hushrec.privacy.ledger.history import extension
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.sqlite import SqliteStore
from hushrec.privacy.noise.entropy import Seeded

MakePlan = Callable[..., Plan]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
DOMAIN, OTHER = "d" * 64, "e" * 64
SECOND = "a second ledger of one population"


def of(plan: Plan, domain: str = DOMAIN, **budget: str) -> Plan:
    limit = plan.budget.model_copy(update=budget)
    return dataclasses.replace(plan, domain_digest=domain, budget=limit)


def saved(folder: Path, name: str, grant: Grant, plan: Plan) -> Path:
    """A release with nothing in it but what its ledger is told."""
    budget = plan.budget
    said = {"ledger": grant.ledger, "unit": budget.unit, "adjacency": budget.adjacency}
    header = json.dumps({"__metadata__": {"hushrec": json.dumps({"statement": said})}}).encode()
    file = folder / f"{name}.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header)
    return file


@pytest.fixture
def other(path: Path) -> Path:
    return path.with_name("other.db")


# -- a name that leads to no ledger -----------------------------------------------------------------------


def test_a_wrong_name_starts_nothing_and_names_what_was_meant(path: Path, other: Path) -> None:
    Ledger.create(path, TOTAL)
    with pytest.raises(LedgerMissing) as refused:
        Ledger.open(other)
    text = str(refused.value)
    assert text.startswith(
        f"there is no ledger other.db in the folder {path.parent.name} (did you mean ledger.db?)"
    )
    for way in ("hushrec.Ledger.create(path, total)", "hushrec ledger create", "--new-ledger"):
        assert way in text
    assert str(path.parent.parent) not in text
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerMissing, match="in the folder nowhere, which does not exist either; correct"):
        Ledger.open(tmp_path / "nowhere" / "ledger.db")


def test_many_ledgers_are_not_all_named(tmp_path: Path) -> None:
    for n in range(6):
        with pytest.warns(LedgerWarning) if n else contextlib.nullcontext():
            Ledger.create(tmp_path / f"{n}.db", TOTAL)
    with pytest.raises(LedgerMissing, match=r"did you mean 0\.db, 1\.db, 2\.db, 3\.db or 2 more\?"):
        Ledger.open(tmp_path / "x.db")


# -- a second ledger --------------------------------------------------------------------------------------


def test_a_second_ledger_for_the_same_people_is_not_started(
    path: Path, other: Path, make_plan: MakePlan
) -> None:
    Ledger.create(path, TOTAL, domain=DOMAIN).charge(make_plan(0.5))
    with pytest.raises(LedgerError, match=SECOND) as refused:
        Ledger.create(other, TOTAL, domain=DOMAIN)
    assert "lies ledger.db, charged for the same domain" in str(refused.value)
    assert not other.exists()
    with pytest.warns(LedgerWarning, match=r"next to ledger\.db\. .* also with a catalogue that grew"):
        Ledger.create(other, TOTAL, domain=OTHER)  # other people, or the same with another catalogue


def test_a_second_ledger_that_was_minted_is_not_charged(path: Path, other: Path, make_plan: MakePlan) -> None:
    first = Ledger.create(path, TOTAL, max_releases=9)
    with pytest.warns(LedgerWarning, match=r"other\.db is started next to ledger\.db\. One population"):
        minted = Ledger.create(other, TOTAL, max_releases=9)
    first.charge(make_plan(0.5))
    with pytest.raises(LedgerError, match=SECOND):
        minted.charge(make_plan(0.5))
    assert minted.state().head.seq == 0
    first.charge(make_plan(0.5))  # the first one goes on
    minted.charge(of(make_plan(0.5), OTHER))  # and the other serves other people
    with pytest.raises(LedgerError, match=SECOND):
        first.charge(of(make_plan(0.5), OTHER))


def test_a_renamed_copy_of_a_ledger_is_not_charged(path: Path, other: Path, make_plan: MakePlan) -> None:
    first = Ledger.create(path, TOTAL, max_releases=9)
    shutil.copy(path, other)
    first.charge(make_plan(0.5))
    with pytest.raises(LedgerError, match=SECOND):
        Ledger.open(other).charge(make_plan(0.5))


def test_a_ledger_that_was_deleted_is_missed_under_another_name(
    path: Path, other: Path, make_plan: MakePlan
) -> None:
    grant = Ledger.create(path, TOTAL).charge(make_plan())
    file = saved(path.parent, "films", grant, make_plan())
    path.unlink()
    with pytest.raises(LedgerError, match=SECOND) as refused:
        Ledger.create(other, TOTAL, domain=DOMAIN)
    assert "lies films.safetensors (charged to ledger.db), charged" in str(refused.value)
    with pytest.warns(LedgerWarning, match=r"next to films\.safetensors"):
        fresh = Ledger.create(other, TOTAL)
    with pytest.raises(LedgerError, match=SECOND):
        fresh.charge(make_plan())
    assert fresh.state().charges == ()
    file.unlink()
    fresh.charge(make_plan())  # what nothing in the folder tells, nobody can know


def test_a_release_of_the_ledger_itself_is_no_other(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=9)
    grant = ledger.charge(make_plan(0.5))
    ledger.finish(grant, b"")
    saved(path.parent, "films", grant, make_plan())
    ledger.charge(make_plan(0.5))
    Ledger.open(path).charge(of(make_plan(0.5), OTHER))


def test_other_adjacencies_do_not_add_and_need_another_ledger(
    path: Path, other: Path, make_plan: MakePlan
) -> None:
    grant = Ledger.create(path, TOTAL, domain=DOMAIN).charge(make_plan())
    saved(path.parent, "films", grant, make_plan())
    replace = TOTAL.model_copy(update={"adjacency": "replace"})
    with pytest.warns(LedgerWarning, match=r"next to ledger\.db and films\.safetensors"):
        second = Ledger.create(other, replace, domain=DOMAIN)
    second.charge(of(make_plan(), adjacency="replace"))
    with pytest.raises(LedgerError, match=r"lies other\.db, charged for the same domain"):
        Ledger.create(path.with_name("third.db"), replace, domain=DOMAIN)


def test_what_claims_nothing_is_charged_anywhere(path: Path, other: Path, make_plan: MakePlan) -> None:
    Ledger.create(path, TOTAL).charge(make_plan())
    Ledger.ephemeral(TOTAL).charge(make_plan())
    with pytest.warns(LedgerWarning):
        scratch = Ledger.create(other, TOTAL, max_releases=9)
    assert not scratch.charge(make_plan(0.5), entropy=Seeded(1)).private
    assert not scratch.charge(make_plan(0.5)).private  # nor does what follows on that ledger


def test_a_ledger_beside_that_cannot_be_read_is_no_reason_to_go_on(
    path: Path, other: Path, make_plan: MakePlan
) -> None:
    Ledger.create(other, TOTAL).charge(make_plan())
    other.write_bytes(other.read_bytes().replace(b'"model":"toy"', b'"model":"yot"'))
    with pytest.raises(LedgerError, match=r"other\.db, another ledger in the folder, cannot be read"):
        Ledger.create(path, TOTAL, domain=DOMAIN)
    assert not path.exists()


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
        assert anchors.beside(SqliteStore(other), []) == "ledger.db"
        with pytest.raises(LedgerMissing):
            Ledger.open(other)
        assert seen_by_another_process(path) == "database is locked"
        session.append(**extension(session.history, TOTAL, 5))
    assert Ledger.open(path).state().max_releases == 5


def test_a_look_by_other_means_would_drop_it(path: Path) -> None:
    """A planted fault: first bytes read without SQLite, of the file that holds the locks."""
    ledger = Ledger.create(path, TOTAL)
    with contextlib.suppress(LedgerError), ledger._writing():
        path.with_name("ledger.db-shm").read_bytes()
        assert seen_by_another_process(path) == ""


def test_a_ledger_has_not_the_name_of_a_release(tmp_path: Path) -> None:
    """Releases are opened without SQLite."""
    for name in ("ledger.safetensors", "ledger.statement.json"):
        with pytest.raises(LedgerError, match="is the name of a release"):
            Ledger.create(tmp_path / name, TOTAL)
    assert not [*tmp_path.iterdir()]
