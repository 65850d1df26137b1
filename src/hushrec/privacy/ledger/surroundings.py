"""The folder of a ledger: other ledgers and releases in it, which may be of the same people.

A second ledger for the same people would allow the first one's total once more. A single ledger cannot show
this. But a wrong name, a lost ledger, or a ledger created for a fresh budget leaves traces in the folder.
Ledgers and releases are of the same people if domain, unit and adjacency are equal. (Losses under two
adjacencies do not add, so people who lose under both need a ledger for each.)

Privacy: public.
"""

import sqlite3
import stat
from pathlib import Path

from hushrec.errors import LedgerError, LedgerMissing
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger import witnesses
from hushrec.privacy.ledger.regular_files import shown
from hushrec.privacy.ledger.sqlite import APPLICATION, TAKEN, Store

_LOGS = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's auxiliary files, which hold its locks."""
_RELEASES = (".safetensors", ".statement.json")
_LISTED = 4


def ledgers(path: Path) -> list[Path]:
    """The other ledgers in the folder of a ledger, which need not exist, by their SQLite application id."""
    try:
        entries = sorted(path.parent.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if entry.name != path.name and _is_ledger(entry)]


def beside(path: Path) -> str:
    """Names of the ledgers and releases beside a ledger, as part of a sentence; empty without any."""
    found = [shown(other.name) for other in ledgers(path)]
    found += [shown(anchor.release) for anchor in witnesses.beside(path)]
    return _listed(found)


def missing(path: Path) -> LedgerError:
    """The error for a missing ledger, with the two remedies and similar names.

    Args:
        path: absolute; the message shows only its last two parts.
    """
    meant = _listed([shown(other.name) for other in ledgers(path)], " or ")
    folder = shown(path.parent.name or path.parent)
    absent = "" if path.parent.is_dir() else ", which does not exist either"
    guess = f" (did you mean {meant}?)" if meant else ""
    return LedgerMissing(
        f"there is no ledger {shown(path.name)} in the folder {folder}{absent}{guess}; correct the path, or "
        "create it, once for these people: hushrec.Ledger.create(path, total), hushrec ledger create, or "
        "--new-ledger"
    )


def require_startable(path: Path, total: Budget, domain: str | None) -> None:
    """Refuse to create a ledger that exists, that existed before, or whose people have another one.

    Args:
        path: absolute.
        total: its total.
        domain: digest of its domain; None if unknown.

    Raises:
        LedgerError: The ledger exists already, it has the name of a release, or see ``require_alone``.
        LedgerMissing: A release names a ledger of this file name, which was lost.
    """
    if path.exists():
        raise LedgerError(f"{shown(path.name)}: {TAKEN}")
    if path.name.endswith(_RELEASES):
        raise LedgerError(
            f"{shown(path.name)} is the name of a release; choose another for the ledger, such as .db"
        )
    witnesses.require_new(path)
    if domain is not None:
        require_alone(path, domain, total)


def require_alone(path: Path, domain: str, total: Budget) -> None:
    """Refuse a ledger if another ledger, or its releases, in the same folder are of the same people.

    Args:
        path: the ledger's file, which need not exist.
        domain: digest of a domain that this ledger was never charged for, so that a release for it must
            belong to another ledger.
        total: the ledger's total, with unit and adjacency.

    Raises:
        LedgerError: A ledger, or a release of another ledger, is of the same people; or another ledger
            cannot be read.
    """
    population = (domain, total.unit, total.adjacency)
    found = [shown(other.name) for other in ledgers(path) if population in _populations(other)]
    found += [
        f"{shown(anchor.release)} (charged to {shown(anchor.ledger_file)})"
        for anchor in witnesses.beside(path)
        if anchor.population == population
    ]
    if found:
        raise LedgerError(
            f"{shown(path.name)} would be a second ledger of one population: in its folder lies "
            f"{_listed(found)}, charged for the same domain, unit and adjacency. Charge that ledger (its "
            "owner can raise the total: hushrec ledger extend), or put it back if it was lost; keep ledgers "
            "and releases of other people in another folder"
        )


def _populations(path: Path) -> set[tuple[object, ...]]:
    try:
        with Store(path).reading() as session:
            history = session.history
    except LedgerError as error:
        raise LedgerError(
            f"{shown(path.name)}, another ledger in the folder, cannot be read, so it may be of the same "
            f"people ({error}); restore it, or move it away if it is of other people"
        ) from None
    about = history.total.unit, history.total.adjacency
    return {(charge.domain, *about) for charge in history.charges.values()}


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


def _listed(names: list[str], last: str = " and ") -> str:
    if len(names) > _LISTED:
        names = [*names[:_LISTED], f"{len(names) - _LISTED} more"]
    return last.join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
