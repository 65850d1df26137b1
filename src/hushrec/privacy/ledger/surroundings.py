"""What lies in a ledger's folder beside it: other ledgers, and releases, perhaps of the same people.

A second ledger for the same people allows once more what the first one allows. Nobody can see that from one
ledger by itself, but a wrong name, a ledger that was lost, and one that was minted for a fresh budget leave
something in the folder. Of the same people are those of the same domain, unit and adjacency. (Losses under
two adjacencies do not add, so people who lose under both need a ledger for each.)

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
"""Files of SQLite's own, which hold its locks."""
_RELEASES = (".safetensors", ".statement.json")
_LISTED = 4


def ledgers(path: Path) -> list[Path]:
    """The other ledgers in the folder of a ledger, which need not exist, by their files' first bytes."""
    try:
        entries = sorted(path.parent.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if entry.name != path.name and _is_ledger(entry)]


def beside(path: Path) -> str:
    """Ledgers and releases beside a ledger, named as a sentence needs them; empty where there are none."""
    found = [shown(other.name) for other in ledgers(path)]
    found += [shown(anchor.release) for anchor in witnesses.beside(path)]
    return _listed(found)


def missing(path: Path) -> LedgerError:
    """What to say where there is no ledger: the two ways out, and what the name may have been meant for.

    Args:
        path: absolute; only its last two names are told.
    """
    meant = _listed([shown(other.name) for other in ledgers(path)], " or ")
    folder = shown(path.parent.name or path.parent)
    absent = "" if path.parent.is_dir() else ", which does not exist either"
    guess = f" (did you mean {meant}?)" if meant else ""
    return LedgerMissing(
        f"there is no ledger {shown(path.name)} in the folder {folder}{absent}{guess}; correct the path, or "
        "start it, once for these people: hushrec.Ledger.create(path, total), hushrec ledger create, or "
        "--new-ledger"
    )


def require_startable(path: Path, total: Budget, domain: str | None) -> None:
    """Refuse to start a ledger where there is one, or was, or where the same people have another.

    Args:
        path: absolute.
        total: what it would allow.
        domain: digest of the domain that it is for; None if that is not known.

    Raises:
        LedgerError: There is a ledger already, it has the name of a release, or see ``require_alone``.
        LedgerMissing: A release names a ledger of this file name: it was lost, not never made.
    """
    if path.exists():
        raise LedgerError(f"{shown(path.name)}: {TAKEN}")
    if path.name.endswith(_RELEASES):
        raise LedgerError(f"{shown(path.name)} is the name of a release; call the ledger by another, as .db")
    witnesses.require_new(path)
    if domain is not None:
        require_alone(path, domain, total)


def require_alone(path: Path, domain: str, total: Budget) -> None:
    """Refuse a ledger for people whose losses something beside it books elsewhere.

    Args:
        path: the ledger's file, which need not exist.
        domain: digest of a domain that it was never charged for, so that a release of it is another's.
        total: its total, which says unit and adjacency.

    Raises:
        LedgerError: A ledger, or a release of another ledger, is of the same people; or a ledger beside it
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
            f"{_listed(found)}, charged for the same domain, unit and adjacency. Charge that ledger (if its "
            "owner allows more: hushrec ledger extend), or put it back if it was lost; keep the ledger and "
            "releases of other people in another folder"
        )


def _populations(path: Path) -> set[tuple[object, ...]]:
    try:
        with Store(path).reading() as session:
            history = session.history
    except LedgerError as error:
        raise LedgerError(
            f"{shown(path.name)}, another ledger in the folder, cannot be read, so nobody can tell whether "
            f"it is of the same people ({error}); restore it, or move it away if it is of others"
        ) from None
    about = history.total.unit, history.total.adjacency
    return {(charge.domain, *about) for charge in history.charges.values()}


def _is_ledger(path: Path) -> bool:
    """Whether a file says that it is a ledger. SQLite reads it: the first to close a file that was opened by
    other means drops all locks that this process has on it, those of a charge in another thread too."""
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
