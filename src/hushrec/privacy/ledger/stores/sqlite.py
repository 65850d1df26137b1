"""The ledger's file: SQLite in WAL mode, with every commit forced to disk and constraints in SQL.

A connection lives for one transaction. So threads and forked processes share nothing, and at rest the ledger
is a single file without a log. Each connection is made under a lock of the file itself: those of SQLite lie
next to the name that was opened, and a file may have two names.
"""

import functools
import glob
import os
import sqlite3
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hushrec.errors import LedgerDamaged, LedgerError, LedgerMissing
from hushrec.privacy.failpoints import failpoint
from hushrec.privacy.ledger.history import History
from hushrec.privacy.ledger.stores.store import UNRECORDED, Record, Replayed, Session, totals

APPLICATION = 0x68757368
"""SQLite application id of a ledger."""
_LOGS = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's auxiliary files, which hold its locks."""


def _is_ledger(path: Path) -> bool:
    """Whether a file has the application id of a ledger. Only SQLite may open it: closing a file that was
    opened by other means drops all locks of this process on it, also those of a charge in another thread."""
    try:
        if path.name.endswith(_LOGS) or not stat.S_ISREG(path.stat().st_mode):
            return False
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            return bool(database.execute("PRAGMA application_id").fetchone() == (APPLICATION,))
        finally:
            database.close()
    except (OSError, sqlite3.Error):
        return False


TAKEN = "there is a ledger already; open it (without --new-ledger)"
_VERSION = 6  # of the schema
_PATIENCE = 60.0  # seconds that one process waits for another's transaction

_SCHEMA = """
CREATE TABLE account (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    seq INTEGER NOT NULL,
    head BLOB NOT NULL,
    spent INTEGER NOT NULL CHECK (spent >= 0),
    allowed INTEGER NOT NULL,
    CHECK (spent <= allowed)
) STRICT;
CREATE TABLE log (seq INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE TABLE artefact (charge INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
CREATE TABLE charge (number INTEGER PRIMARY KEY, state TEXT NOT NULL, branch TEXT NOT NULL) STRICT;
CREATE TABLE measured (
    charge INTEGER NOT NULL REFERENCES charge,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (charge, name)
) STRICT;
CREATE TRIGGER charge_open BEFORE UPDATE ON charge
    WHEN OLD.state <> 'charged' OR OLD.branch NOT IN ('', NEW.branch) OR NEW.number <> OLD.number
    BEGIN SELECT RAISE(ABORT, 'a charge ends once, and takes one branch'); END;
CREATE TRIGGER measured_open BEFORE INSERT ON measured
    WHEN NOT EXISTS (SELECT 1 FROM charge WHERE number = NEW.charge AND state = 'charged')
    BEGIN SELECT RAISE(ABORT, 'only an open charge is measured'); END;
CREATE TRIGGER charge_delete BEFORE DELETE ON charge BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER measured_update BEFORE UPDATE ON measured BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER measured_delete BEFORE DELETE ON measured BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER log_update BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER log_delete BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER artefact_update BEFORE UPDATE ON artefact BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER artefact_delete BEFORE DELETE ON artefact BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER account_delete BEFORE DELETE ON account BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER account_shrink BEFORE UPDATE ON account
    WHEN NEW.seq < OLD.seq OR NEW.spent < OLD.spent OR NEW.allowed < OLD.allowed
    BEGIN SELECT RAISE(ABORT, 'nothing spent is taken back'); END;
"""

_PASSING = {
    sqlite3.SQLITE_BUSY: "another process holds the ledger; try again",
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_IOERR: "the disk failed, or is full; make room, or have it checked",
    sqlite3.SQLITE_READONLY: "the ledger is read-only; let this process write to it and its folder",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened; give this process the right to read and write it",
    sqlite3.SQLITE_CONSTRAINT: "it would exceed the total, or undo a record",
    sqlite3.SQLITE_TOOBIG: "the artefact is larger than a ledger can store",
}


class SqliteSession(Session):
    """One transaction on a verified ledger in SQLite."""

    def __init__(self, database: sqlite3.Connection, known: History | None = None) -> None:
        self._database = database
        super().__init__(known)

    def rows(self, first: int = 0) -> Iterator[tuple[Any, Any, Any]]:
        return self._database.execute("SELECT seq, body, hash FROM log WHERE seq >= ? ORDER BY seq", (first,))

    def account(self) -> list[tuple[Any, ...]]:
        accounts = self._database.execute("SELECT * FROM account").fetchall()
        return [account[1:] if account[0] == 1 else account for account in accounts]

    def add(self, record: Record, facts: dict[str, Any]) -> None:
        run, kind, charge = self._database.execute, facts["kind"], facts.get("charge")
        run("INSERT INTO log VALUES (?, ?, ?)", record)
        if kind == "charged":
            run("INSERT INTO charge VALUES (?, 'charged', '')", (record[0],))
        elif kind == "measured":
            run("INSERT INTO measured VALUES (?, ?, ?)", (charge, facts["name"], facts["sha256"]))
        elif kind == "taken":
            run("UPDATE charge SET branch = ? WHERE number = ?", (facts["branch"], charge))
        elif kind in ("made", "forfeited"):
            run("UPDATE charge SET state = ? WHERE number = ?", (kind, charge))

    def settle(self) -> None:
        self._database.execute(
            "UPDATE account SET (seq, head, spent, allowed) = (?, ?, ?, ?)", totals(self.history)
        )

    def save_artefact(self, charge: int, artefact: bytes) -> None:
        self._database.execute("INSERT INTO artefact VALUES (?, ?)", (charge, artefact))

    def content(self, charge: int) -> object:
        rows = self._database.execute("SELECT content FROM artefact WHERE charge = ?", (charge,)).fetchall()
        return rows[0][0] if rows else None


class SqliteStore:
    """A ledger's database, in a file, or in memory if ``path`` is None."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = self.place = path.name if path else ""
        self._lock, self._replayed = threading.RLock(), Replayed()
        self._memory = _connect(":memory:") if path is None else None
        if self._memory:
            weakref.finalize(self, self._memory.close)

    def exists(self) -> bool:
        return self.path is None or self.path.exists()

    def create(self, first: dict[str, Any]) -> None:
        """Create a ledger file with its first record, atomically; or fill an empty database in memory."""
        path = self.path
        if path is None:
            assert self._memory is not None
            _fill(self._memory, first)
            return
        try:
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
                draft = Path(folder) / path.name
                _draft(draft, first)
                failpoint("inside-create")
                os.link(draft, path)  # unlike a rename, this never replaces a ledger
                _sync(path.parent)
        except FileExistsError:
            raise LedgerError(f"{path.name}: {TAKEN}") from None
        except OSError as error:
            raise LedgerError(
                f"{path.name}: no ledger can be made here ({error.strerror}); choose an existing folder on a "
                "local disk"
            ) from error

    def neighbours(self) -> "list[SqliteStore]":
        """The other ledgers in the folder of the file, which need not exist."""
        try:
            entries = sorted(self.path.parent.iterdir()) if self.path else []
        except OSError:
            return []
        return [SqliteStore(entry) for entry in entries if entry != self.path and _is_ledger(entry)]

    def inspect(self) -> None:
        """Check every page of the file."""
        with self._connection() as database:
            (width,) = database.execute("PRAGMA page_size").fetchone()
            # SQLite notices missing pages, but reads a truncated last page as if it ended in zeros.
            cut = self.path and not self._log() and self.path.stat().st_size % width
            if cut or database.execute("PRAGMA integrity_check").fetchall() != [(b"ok",)]:
                raise LedgerDamaged("the ledger's file is corrupt; restore it and release nothing until then")

    @contextmanager
    def reading(self) -> Iterator[SqliteSession]:
        with self._connection() as database, _transaction(database, "BEGIN"):
            session = SqliteSession(database, self._replayed.pop())
            yield session
            self._replayed.keep(session.history)

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        """An exclusive transaction: on disk when the block ends, rolled back if it raises."""
        before = self._identity()
        with self._connection() as database, _transaction(database, "BEGIN IMMEDIATE"):
            session = SqliteSession(database, self._replayed.pop())
            yield session
            session.settle()
        self._replayed.keep(session.history)
        if self._identity() != before:
            raise LedgerMissing("the ledger's file was moved or replaced during a write; put it back")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _translated():
            if self._memory is not None:
                yield self._memory
                return
            self._identity()
            assert self.path is not None
            with _alone(self.path):
                database = _connect(f"{self.path.as_uri()}?mode=rw")
                try:
                    _recognise(database)
                    yield database
                finally:
                    database.close()

    def _log(self) -> bool:
        """Whether a crash left committed pages in a log file."""
        log = self.path and self.path.with_name(f"{self.path.name}-wal")
        return bool(log and log.exists() and log.stat().st_size)

    def _identity(self) -> tuple[int, int] | None:
        if self.path is None:
            return None
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise LedgerMissing(
                f"{self.path.name}: there is no ledger here; create one, or put it back"
            ) from None
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(f"{self.path.name} is not a regular file, so not a ledger; correct the path")
        if status.st_nlink > 1:
            _require_one_name(self.path)
        return status.st_dev, status.st_ino


def _require_one_name(path: Path) -> None:
    """Refuse a hard link: what a killed process left in a log lies next to the name that it used."""
    drafts = glob.glob(f".{glob.escape(path.name)}.*/{glob.escape(path.name)}", root_dir=path.parent)
    unfinished = sum(_same(path.parent / draft, path) for draft in drafts)
    if path.stat().st_nlink > 1 + unfinished:
        raise LedgerError(
            f"{path.name}: this ledger has a second name, a hard link, under which charges could be lost; "
            f"delete the other name (find / -samefile {path.name} shows it), and for a backup make a copy"
        )


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except FileNotFoundError:  # just removed
        return False


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock of a file, whatever name it was reached by; wait for it, but not for ever.

    Closing a file drops the locks that SQLite has on it in this process, so it is closed after the
    connection, and no other thread has a connection then.
    """
    import fcntl  # imported here because not every system has it

    handle, patient_until = os.open(path, os.O_RDONLY), time.monotonic() + _PATIENCE
    _HELD.add(handle)
    try:
        while not _locked(handle, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if time.monotonic() > patient_until:
                raise LedgerError(f"{UNRECORDED}: {_PASSING[sqlite3.SQLITE_BUSY]}")
            time.sleep(0.001 * (1 + os.urandom(1)[0] % 10))  # s; not all at once
        yield
    finally:
        if handle in _HELD:  # and not in a forked child
            _HELD.discard(handle)
            os.close(handle)


def _locked(handle: int, how: int) -> bool:
    import fcntl

    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        return False
    return True


_HELD: set[int] = set()


def _let_go() -> None:
    """In a forked child, which would share the lock for as long as it lives."""
    while _HELD:
        os.close(_HELD.pop())


os.register_at_fork(after_in_child=_let_go)


def _connect(where: str) -> sqlite3.Connection:
    uri = where.startswith("file:")
    database = sqlite3.connect(
        where, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=uri
    )
    database.text_factory = bytes  # damaged text must fail verification, not decoding
    try:
        for setting in (
            "synchronous = FULL",
            "fullfsync = ON",
            "trusted_schema = OFF",
            "cell_size_check = ON",
        ):
            database.execute(f"PRAGMA {setting}")
    except BaseException:
        database.close()
        raise
    return database


def _draft(path: Path, first: dict[str, Any]) -> None:
    # Only for its owner, whatever the umask; SQLite gives its other files the same rights.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    path.chmod(0o600)
    with _translated():
        database = _connect(str(path))
        try:
            database.execute("PRAGMA journal_mode = WAL")
            _fill(database, first)
        finally:
            database.close()
    _sync(path)


def _fill(database: sqlite3.Connection, first: dict[str, Any]) -> None:
    history = History()
    record = history.append(first)
    database.executescript(
        f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {_VERSION}; {_SCHEMA}"
    )
    with _transaction(database, "BEGIN"):
        database.execute("INSERT INTO log VALUES (?, ?, ?)", record)
        database.execute("INSERT INTO account VALUES (1, ?, ?, ?, ?)", totals(history))


def _recognise(database: sqlite3.Connection) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise LedgerDamaged("this file is not a ledger of hushrec; correct the path")
    if version != _VERSION:
        raise LedgerDamaged(
            f"the ledger's schema is version {version}, this hushrec knows {_VERSION}; use the version of "
            "hushrec that wrote it"
        )
    if _schema(database) != _expected_schema():
        raise LedgerDamaged("the ledger's tables were altered; restore it and release nothing until then")


def _schema(database: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


@functools.cache
def _expected_schema() -> frozenset[tuple[object, ...]]:
    database = _connect(":memory:")
    try:
        database.executescript(_SCHEMA)
        return _schema(database)
    finally:
        database.close()


@contextmanager
def _transaction(database: sqlite3.Connection, begin: str) -> Iterator[None]:
    database.execute(begin)
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (
        sqlite3.Error,
        UnicodeDecodeError,
    ) as error:  # the latter if SQLite quotes damaged bytes in its message
        cause = _PASSING.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if cause:
            raise LedgerError(f"{UNRECORDED}: {cause}") from error
        raise LedgerDamaged(
            "the ledger's file is corrupt; restore it and release nothing until then"
        ) from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
