"""Connections to a database that keeps ledgers: its URL, a check before each use, errors that tell no secret.

Privacy: public, except for ``parameters``, which may hold a password.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from hushrec.errors import LedgerDamaged, LedgerError, LedgerMissing
from hushrec.privacy.ledger.stores.store import UNRECORDED

if TYPE_CHECKING:
    import psycopg

    Database = psycopg.Connection[tuple[Any, ...]]

SCHEMES = ("postgresql", "postgres")
NEEDED = "a ledger in PostgreSQL needs psycopg: pip install 'hushrec[postgres]'"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger is.

    Args:
        name: the ledger's name: ``?ledger=`` of the URL, or the database's name.
        place: the URL without user, password and settings.
        parameters: what libpq connects with.
    """

    name: str
    place: str
    parameters: dict[str, Any] = field(repr=False)

    def named(self, name: str) -> "Address":
        return Address(name, f"{self.place.partition('?')[0]}?{urlencode({'ledger': name})}", self.parameters)


def address_of(url: str) -> Address:
    """Read a URL.

    Args:
        url: as libpq takes it (``postgresql://user@host:port/database?sslmode=verify-full``), and perhaps
            ``ledger=NAME`` among libpq's settings.
    """
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise LedgerError(NEEDED) from None
    malformed = LedgerError(
        "this is not the URL of a database: write postgresql://user@host:port/database, and in a user's name "
        "or a password %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?. Better keep the password "
        "out of it: libpq reads PGPASSWORD, ~/.pgpass and service files"
    )
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise malformed from None
    user, _, hosts = parts.netloc.rpartition("@")
    # What is left of a password that was not written with % must not pass for a host or a database.
    strays = "@" in user + parts.path + parts.query or "/" in parts.path[1:] or bool(parts.fragment)
    if strays or not all(map(_HOST.fullmatch, hosts.split(","))):
        raise malformed
    kept = [(name, value) for name, value in query if name != "ledger"]
    try:
        parameters = conninfo_to_dict(
            f"postgresql://{parts.netloc}{parts.path}?{urlencode(kept, quote_via=quote)}"
        )
    except Error:
        raise malformed from None
    database = str(parameters.get("dbname") or "")
    name = dict(query).get("ledger", database)
    if not _NAME.fullmatch(name):
        raise LedgerError(
            "the URL names no ledger: add ?ledger=NAME, of letters, digits, dots, dashes and underscores; "
            "without it, the ledger has the name of the database"
        )
    place = f"postgresql://{unquote(hosts)}/{database}"
    return Address(name, place if name == database else f"{place}?{urlencode({'ledger': name})}", parameters)


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

EXPECTED = "119f7340dcee561c18a5d18270ce5c9866a1b6589065995721f318e583485800"
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
        line, fatal, _ = (lines[0] if lines else "the connection broke").partition("FATAL:")
        if fatal:  # a refused connection has no SQLSTATE, and what the server says may name the user
            return LedgerError(
                f"{UNRECORDED}: {address.place} refuses the connection; correct the user, the password, the "
                "database's name or pg_hba.conf, or try again if it is starting or full: its log says which"
            )
        for name in ("password", "sslpassword"):
            if secret := address.parameters.get(name):
                line = line.replace(str(secret), "…")
        return LedgerError(f"{UNRECORDED}: {address.place} cannot be reached ({line})")
    if state in ("3F000", "42P01", "42883", "42703"):
        return LedgerDamaged("the ledger's tables were altered; restore them and release nothing until then")
    return LedgerError(f"{UNRECORDED}: the database refused it (SQLSTATE {state})")
