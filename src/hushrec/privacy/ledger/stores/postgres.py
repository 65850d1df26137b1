"""A ledger in PostgreSQL, charged from many hosts.

One transaction at a time writes a ledger: each locks the ledger's account first, at READ COMMITTED. So what
it reads after that is the latest state, no one waits for a second lock while holding the first, and no
serialization failure needs a retry. Rights are in the database (``postgres.sql``): a client can append what
the functions there accept, and nothing else.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushrec.errors import LedgerError
from hushrec.privacy.failpoints import failpoint
from hushrec.privacy.ledger.history import History
from hushrec.privacy.ledger.stores.connection import (
    Address,
    begin,
    connected,
    installed,
    require_intact,
    script,
)
from hushrec.privacy.ledger.stores.sqlite import TAKEN
from hushrec.privacy.ledger.stores.store import UNRECORDED, Record, Replayed, Session

if TYPE_CHECKING:
    from hushrec.privacy.ledger.stores.connection import Database

_RETURNS = 30.0
"""Seconds to wait for a database whose answer to a commit was lost."""
_WRITE, _READ = "READ COMMITTED", "REPEATABLE READ READ ONLY"


class PostgresSession(Session):
    """One transaction on a verified ledger in PostgreSQL."""

    def __init__(self, database: "Database", name: str, known: History | None = None) -> None:
        self._database, self._name = database, name
        self._added: list[Record] = []
        self.proof: tuple[str, tuple[object, ...]] | None = None
        super().__init__(known)

    def rows(self, first: int = 0) -> Iterator[tuple[Any, Any, Any]]:
        query = "SELECT seq, body, hash FROM hushrec.log WHERE ledger = %s AND seq >= %s ORDER BY seq"
        return iter(self._database.execute(query, (self._name, first), binary=True).fetchall())

    def account(self) -> list[tuple[Any, ...]]:
        query = "SELECT seq, head, spent, allowed, max_releases FROM hushrec.account WHERE ledger = %s"
        accounts = self._database.execute(query, (self._name,), binary=True).fetchall()
        return [account[:-1] for account in accounts if account[-1] == self.history.max_releases]

    def add(self, record: Record, facts: dict[str, Any]) -> None:
        """Write a record that was replayed, when the transaction ends; the database does the rest."""
        self._added.append(record)

    def settle(self) -> None:
        """Write the records; the database derives the sums, and refuses what exceeds the total."""
        if not self._added:
            return
        _, bodies, hashes = (list(part) for part in zip(*self._added, strict=True))
        self._database.execute("SELECT hushrec.append(%s, %b, %b)", (self._name, bodies, hashes))
        seq, _, digest = self._added[-1]
        self.proof = ("log WHERE ledger = %s AND seq = %s AND hash = %s", (self._name, seq, digest))

    def save_artefact(self, charge: int, artefact: bytes) -> None:
        self._database.execute(
            "INSERT INTO hushrec.artefact VALUES (%s, %s, %b)", (self._name, charge, artefact)
        )

    def content(self, charge: int) -> object:
        query = "SELECT content FROM hushrec.artefact WHERE ledger = %s AND charge = %s"
        row = self._database.execute(query, (self._name, charge), binary=True).fetchone()
        return row[0] if row else None

    def extend(self, facts: dict[str, Any]) -> None:
        """Propose the owner's decision to allow more, which another raiser confirms."""
        row = self._database.execute(
            "SELECT hushrec.propose(%s, %s::jsonb, %s, %s)",
            (self._name, json.dumps(facts["total"]), facts["allowed"], facts["max_releases"]),
        ).fetchone()
        assert row is not None
        self.proof = ("proposal WHERE ledger = %s AND number = %s", (self._name, row[0]))

    def proposal(self) -> dict[str, Any] | None:
        """The proposal that waits for a second raiser: total, max_releases and proposed_by."""
        query = (
            "SELECT p.total, p.max_releases, p.proposed_by"
            " FROM hushrec.proposal p JOIN hushrec.account a USING (ledger)"
            " WHERE ledger = %s AND p.number > a.decided ORDER BY p.number DESC LIMIT 1"
        )
        row = self._database.execute(query, (self._name,)).fetchone()
        return dict(zip(("total", "max_releases", "proposed_by"), row, strict=True)) if row else None

    def confirm(self, facts: dict[str, Any]) -> None:
        """Record what another raiser proposed, if it is this."""
        open, me = self.proposal(), self._database.execute("SELECT session_user").fetchone()
        if open is None:
            raise LedgerError("nothing is proposed; propose it first: hushrec ledger extend")
        if (open["total"], open["max_releases"]) != (facts["total"], facts["max_releases"]):
            raise LedgerError(
                f"{open['proposed_by']} proposed ε = {open['total']['epsilon']} and {open['max_releases']} "
                "releases; confirm exactly that, or propose another: hushrec ledger extend"
            )
        assert me is not None
        signed = facts | {"proposed_by": open["proposed_by"], "confirmed_by": me[0]}
        number, body, digest = self.history.append(signed)
        self._database.execute("SELECT hushrec.confirm(%s, %b, %b)", (self._name, body, digest))
        self.proof = ("log WHERE ledger = %s AND seq = %s AND hash = %s", (self._name, number, digest))


class PostgresStore:
    """A ledger in a PostgreSQL database."""

    path: Path | None = None

    def __init__(self, address: Address) -> None:
        self._address, self._replayed = address, Replayed()
        self.name, self.place = address.name, address.place

    def exists(self) -> bool:
        """Whether the database has a ledger of this name."""
        return self.name in self._names()

    def neighbours(self) -> "list[PostgresStore]":
        return [PostgresStore(self._address.named(name)) for name in self._names() if name != self.name]

    def create(self, first: dict[str, Any]) -> None:
        """Create a ledger with its first record; the first one in a database sets up tables and roles."""
        import psycopg

        record = History().append(first)
        try:
            refused = psycopg.errors.UniqueViolation, psycopg.errors.InsufficientPrivilege
            with connected(self._address, *refused) as database:
                begin(database, _WRITE)
                database.execute("SELECT pg_advisory_xact_lock(hashtext('hushrec'))")
                if not installed(database):
                    database.execute(script("postgres").encode())
                database.execute("SELECT hushrec.create_ledger(%s, %b, %b)", (self.name, *record[1:]))
                failpoint("inside-create")
                database.execute("COMMIT")
        except psycopg.errors.UniqueViolation:
            raise LedgerError(f"{self.place}: {TAKEN}") from None
        except psycopg.errors.InsufficientPrivilege:
            raise LedgerError(
                "this user may not create a ledger; have the database's administrator do it: hushrec ledger "
                "create, and before it, if they want to read it first, what hushrec ledger "
                "sql prints"
            ) from None

    def inspect(self) -> None:
        """Check tables, functions and rights, and that the server keeps what it commits."""
        with connected(self._address) as database:
            begin(database, _WRITE)
            require_intact(database)

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        with connected(self._address) as database:
            begin(database, _READ)
            require_intact(database)
            session = PostgresSession(database, self.name, self._replayed.pop())
            yield session
            self._replayed.keep(session.history)

    @contextmanager
    def writing(self) -> Iterator[PostgresSession]:
        """An exclusive transaction: on disk when the block ends, undone if it raises.

        If the answer to the commit is lost, the record itself is looked up, once the transaction is over.
        """
        with connected(self._address) as database:
            begin(database, _WRITE)
            require_intact(database)
            database.execute("SELECT hushrec.hold(%s)", (self.name,))
            session = PostgresSession(database, self.name, self._replayed.pop())
            yield session
            session.settle()
            self._commit(database, session)
        self._replayed.keep(session.history)

    def _commit(self, database: "Database", session: PostgresSession) -> None:
        import psycopg

        try:
            ended = database.execute("COMMIT").statusmessage
        except psycopg.Error:
            if not database.closed:
                raise  # the server answered: it undid the transaction
            ended = "COMMIT" if self._recorded(session.proof) else ""
        if ended != "COMMIT":
            raise LedgerError(f"{UNRECORDED}: the connection broke before; try again")

    def _recorded(self, proof: tuple[str, tuple[object, ...]] | None) -> bool:
        """Whether a transaction whose answer was lost was committed. Its lock is waited for, so it is over;
        and this one commits as well, so a synchronous standby has both."""
        if proof is None:
            return True
        until = time.monotonic() + _RETURNS
        while True:
            try:
                with connected(self._address) as database:
                    begin(database, _WRITE)
                    database.execute("SELECT hushrec.hold(%s)", (self.name,))
                    where, values = proof
                    query = f"SELECT EXISTS (SELECT FROM hushrec.{where})".encode()
                    row = database.execute(query, values).fetchone()
                    database.execute("COMMIT")
                    return row == (True,)
            except LedgerError:
                if time.monotonic() > until:
                    raise LedgerError(
                        f"the connection to {self.place} broke during a commit, and the database does not "
                        "answer: whether the record was written is unknown. Nothing is granted. Look when it "
                        "is back, with hushrec ledger show; a charge without a release stays spent"
                    ) from None
                time.sleep(0.2)

    def _names(self) -> list[str]:
        with connected(self._address) as database:
            begin(database, _READ)
            if not installed(database):
                return []
            rows = database.execute("SELECT ledger FROM hushrec.account ORDER BY ledger")
            return [name for (name,) in rows]
