"""The storage that a ledger needs: a store, and a session, which verifies all records."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from hushrec.errors import LedgerDamaged, LedgerError
from hushrec.privacy.ledger.history import Charge, History

Record = tuple[int, bytes, bytes]
"""Number, text and hash of a record."""

UNRECORDED = "the ledger did not record this step"
"""How every error begins that a store explains. Earlier records stay, a charge above all."""


class Session(ABC):
    """One transaction on a verified ledger.

    Args:
        known: what this process replayed and checked before, of the same ledger; it is only continued.

    Attributes:
        history: the whole chain, replayed and checked.
    """

    def __init__(self, known: History | None = None) -> None:
        self.history = known or History()
        try:
            self._replay()
        except LedgerDamaged:
            if known is None:
                raise
            self.history = History()  # another ledger may have been put in its place: look at all of it
            self._replay()

    def _replay(self) -> None:
        for record in self.rows(self.history.length):
            self.history.load(*record)
        if not self.history.id:
            raise LedgerDamaged("the ledger's records are gone; restore it and release nothing until then")
        # The chain verifies itself except for its end; the account records the end and the sums.
        if self.account() != [totals(self.history)]:
            raise LedgerDamaged(
                "the ledger's records and its account disagree; restore it and release nothing until then"
            )

    @abstractmethod
    def rows(self, first: int = 0) -> Iterable[tuple[Any, Any, Any]]:
        """Number, text and hash of every record from this one on, in order, as they are stored."""

    @abstractmethod
    def account(self) -> list[tuple[Any, ...]]:
        """The account, as ``totals`` gives it from the records."""

    @abstractmethod
    def add(self, record: Record, facts: dict[str, Any]) -> None:
        """Write a record that was replayed, and what it makes of its charge."""

    @abstractmethod
    def settle(self) -> None:
        """Update the account from the records; the database refuses what exceeds the total."""

    @abstractmethod
    def save_artefact(self, charge: int, artefact: bytes) -> None:
        """Store the artefact of a charge."""

    @abstractmethod
    def content(self, charge: int) -> object:
        """The stored artefact of a charge; None if there is none."""

    def append(self, **facts: object) -> int:
        """Add a record; returns its number."""
        record = self.history.append(facts)
        self.add(record, facts)
        return record[0]

    def extend(self, facts: dict[str, Any]) -> None:
        """Record the owner's decision to allow more; a store with two keys keeps it as a proposal."""
        self.append(**facts)

    def proposal(self) -> dict[str, Any] | None:
        """The proposal that waits for a second person: total, max_releases and proposed_by."""
        return None

    def confirm(self, facts: dict[str, Any]) -> None:
        """Record what another person proposed, if it is this."""
        raise LedgerError("a ledger in a file is extended at once, so nothing waits to be confirmed")

    def records(self) -> list[dict[str, object]]:
        """Number, text and hash of every record, as JSON values."""
        return [
            {"seq": seq, "record": body.decode(), "hash": digest.hex()} for seq, body, digest in self.rows()
        ]

    def artefact(self, charge: Charge) -> bytes:
        """The artefact of a charge."""
        content = self.content(charge.number)
        if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != charge.sha256:
            raise LedgerDamaged(
                "a stored artefact is gone or altered; restore the ledger from an intact copy"
            )
        return content


class Replayed:
    """The history that this process has replayed, so that a commit does not replay it from the start.

    One transaction at a time has it; another one, and whatever follows one that was undone, starts anew.
    """

    def __init__(self) -> None:
        self._kept: list[History] = []

    def pop(self) -> History | None:
        try:
            return self._kept.pop()
        except IndexError:
            return None

    def keep(self, history: History) -> None:
        self._kept[:] = [history]


class Store(Protocol):
    """A place that keeps a ledger.

    Attributes:
        path: its file; None in memory or in a database.
        name: its public name, which stands in statements; empty in memory.
        place: where it is, for people: the file's name or the database's address, without user and password.
    """

    path: Path | None
    name: str
    place: str

    def exists(self) -> bool:
        """Whether a ledger is kept there."""

    def create(self, first: dict[str, Any]) -> None:
        """Create the ledger with its first record, at once and durably.

        Raises:
            LedgerError: There is one already, or none can be created there.
        """

    def neighbours(self) -> "Sequence[Store]":
        """The other ledgers in its folder or database. The ledger itself need not exist."""

    def inspect(self) -> None:
        """Check the place as a whole.

        Raises:
            LedgerDamaged: It was altered, or is corrupt.
            LedgerError: It does not keep what it is given.
        """

    def reading(self) -> AbstractContextManager[Session]:
        """A consistent view."""

    def writing(self) -> AbstractContextManager[Session]:
        """An exclusive transaction: durable when the block ends, undone if it raises.

        Raises:
            LedgerError: It could not be written, so nothing is granted.
        """


def totals(history: History) -> tuple[object, ...]:
    """The state of an account: number and hash of the last record, and the cost that is spent and allowed."""
    return history.head.seq, bytes.fromhex(history.head.hash), history.spent, history.allowed
