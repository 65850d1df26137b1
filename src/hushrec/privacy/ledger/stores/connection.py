"""Connections to a database that keeps ledgers: verified before each use, and errors that tell no secret."""

import functools
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hushrec.errors import LedgerDamaged, LedgerError, LedgerMissing
from hushrec.privacy.ledger.stores.addresses import Address
from hushrec.privacy.ledger.stores.store import UNRECORDED

if TYPE_CHECKING:
    import psycopg

    Database = psycopg.Connection[tuple[Any, ...]]

_ALIVE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "hushrec",
    "client_encoding": "utf8",
}
_PATIENCE = {
    "synchronous_commit": "on",
    "lock_timeout": "60s",
    "statement_timeout": "300s",
    "idle_in_transaction_session_timeout": "60s",
    "search_path": "pg_catalog, pg_temp",
    "bytea_output": "hex",
}
"""Of every transaction, so that a pooler between keeps nothing of it. The last timeout frees the ledger if
this host is gone; it ends a transaction, and with it the lock, and nothing is granted."""

_CLASSES = {
    "28": "the database refuses this user; correct the user, the password or pg_hba.conf",
    "42501": "this user may not do that; have the administrator grant hushrec_spender, or hushrec_raiser to "
    "who raises totals",
    "3D000": "there is no such database; correct the URL",
    "55P03": "another process holds the ledger; try again",
    "57014": "the database took too long; try again",
    "25P03": "this process held the ledger too long; try again",
    "25006": "the database is read-only, or a standby; give the URL of the primary",
    "40": "another transaction came between; try again",
    "53100": "the database's disk is full; make room",
    "53": "the database is out of connections or memory; try again",
    "58": "the database's disk failed",
    "23": "it would exceed the total, or undo a record",
    "54": "the artefact is larger than a ledger can store",
    "57": "the database is stopping or starting; try again",
    "08": "the connection broke; try again",
}
"""The advice by SQLSTATE or its class."""

_REFUSALS = (
    (re.compile(r"authentication|pg_hba\.conf|no password supplied|FATAL:  role "), "28"),
    (re.compile(r'FATAL:  database "'), "3D000"),
    (re.compile(r"FATAL:  .*(too many|reserved)"), "53"),
    (re.compile(r"FATAL:  .*(starting up|shutting down)"), "57"),
)
"""Words of libpq for a refused connection, which has no SQLSTATE and may name the user, and their meaning."""

EXPECTED = "9c6b6501842a713e5535828ad738925c454845b7594bdfbd81e073c54b12dd88"
"""SHA-256 of all functions, triggers, columns, constraints and rights, as ``postgres.sql`` makes them and
``structure.sql`` lists them."""


@contextmanager
def connected(address: Address, *passing: type[Exception]) -> Iterator["Database"]:
    """A connection for one transaction, so that threads and forked processes share nothing.

    Args:
        address: of the database.
        passing: errors that the caller explains.
    """
    import psycopg

    database = None
    try:
        settings = _ALIVE | address.parameters
        database = psycopg.connect(autocommit=True, prepare_threshold=None, **settings)
        yield database
    except passing:
        raise
    except psycopg.Error as error:
        raise explained(error, address) from None
    finally:
        if database is not None:
            database.close()


def begin(database: "Database", mode: str) -> None:
    """Start a transaction on a server that keeps what it commits.

    Args:
        mode: isolation level and access, as in SQL.
    """
    database.execute(f"BEGIN ISOLATION LEVEL {mode}".encode())
    settings = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _PATIENCE.items())
    database.execute(f"SELECT {settings}".encode())
    setting_names = "fsync", "full_page_writes", "synchronous_commit", "server_encoding"
    facts = ", ".join(f"current_setting('{name}')" for name in setting_names)
    row = database.execute(f"SELECT pg_is_in_recovery(), {facts}".encode()).fetchone()
    assert row is not None
    standby, *settled = row
    if standby:
        raise LedgerError(f"{UNRECORDED}: {_CLASSES['25006']}")
    *kept, encoding = settled
    for name, value in zip(setting_names, kept, strict=False):
        if value != "on":
            raise LedgerError(
                f"the database has {name} = {value}, so it may lose what it was given; set {name} = on"
            )
    if encoding != "UTF8":
        raise LedgerError(f"the database has server_encoding = {encoding}; create one WITH ENCODING 'UTF8'")


def require_intact(database: "Database") -> None:
    """Refuse tables, functions or rights that are not those that were set up."""
    if not installed(database):
        raise LedgerMissing(
            "there is no ledger in this database; correct the URL, or create it, once for these people: "
            "hushrec ledger create"
        )
    if fingerprint(database) != EXPECTED:
        raise LedgerDamaged(
            "the ledger's tables, functions or rights were altered, or another version of hushrec set them "
            "up; restore them and release nothing until then"
        )


def installed(database: "Database") -> bool:
    return database.execute("SELECT to_regnamespace('hushrec') IS NOT NULL").fetchone() == (True,)


def fingerprint(database: "Database") -> str:
    """SHA-256 of what was set up, in hex."""
    lines = sorted(line for (line,) in database.execute(script("structure").encode()))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@functools.cache
def script(name: str) -> str:
    """The SQL that sets up (``postgres``), or lists (``structure``), tables, functions and rights."""
    return files(__package__).joinpath(f"{name}.sql").read_text("utf-8")


def explained(error: "psycopg.Error", address: Address) -> LedgerError:
    """An error of the database in hushrec's words. Only hushrec's own messages, and those about the
    connection itself, are repeated, and no password in them."""
    state = error.sqlstate or ""
    if state.startswith("HR"):
        kind = LedgerMissing if state == "HR000" else LedgerError
        return kind(f"{UNRECORDED}: {error.diag.message_primary}")
    for length in (5, 2):
        if cause := _CLASSES.get(state[:length]):
            return LedgerError(f"{UNRECORDED}: {cause}")
    if not state:
        lines = str(error).strip().splitlines()
        line = lines[0] if lines else "the connection broke"
        for words, state in _REFUSALS:
            if words.search(line):
                return LedgerError(f"{UNRECORDED}: {address.place}: {_CLASSES[state]}")
        line, fatal, _ = line.partition("FATAL:")  # what the server says after it may name the user
        line += "the server refuses the connection; see its log" if fatal else ""
        for name in ("password", "sslpassword"):
            if secret := address.parameters.get(name):
                line = line.replace(str(secret), "…")
        return LedgerError(f"{UNRECORDED}: {address.place} cannot be reached ({line})")
    if state in ("3F000", "42P01", "42883", "42703"):
        return LedgerDamaged("the ledger's tables were altered; restore them and release nothing until then")
    return LedgerError(f"{UNRECORDED}: the database refused it (SQLSTATE {state})")
