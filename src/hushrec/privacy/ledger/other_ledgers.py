"""The place of a ledger, a folder or a database: ledgers and releases in it, perhaps of the same people.

A second ledger for the same people would allow the first one's total once more. A single ledger cannot show
this. But a wrong name, a lost ledger, or a ledger created for a fresh budget leaves traces in its place.
Ledgers and releases are of the same people if domain, unit and adjacency are equal. (Losses under two
adjacencies do not add, so people who lose under both need a ledger for each.)
"""

from hushrec.errors import LedgerError, LedgerMissing
from hushrec.escapes import shown
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger import release_anchors
from hushrec.privacy.ledger.release_anchors import ReleaseAnchor
from hushrec.privacy.ledger.stores.sqlite import TAKEN
from hushrec.privacy.ledger.stores.store import Store

_RELEASES = (".safetensors", ".statement.json")
_LISTED = 4  # names that a message lists at most; chosen by hand


def beside(store: Store, releases: list[ReleaseAnchor]) -> str:
    """Name the ledgers and releases next to a ledger, as part of a sentence; empty without any."""
    ledgers = [shown(other.name) for other in store.neighbours()]
    return _listed(ledgers + [shown(anchor.release) for anchor in releases])


def missing(store: Store) -> LedgerError:
    """The error for a missing ledger, with the two remedies and similar names. Of a file it shows only the
    last two parts of its path."""
    candidates = _listed([shown(other.name) for other in store.neighbours()], " or ")
    where, absent = f"at {store.place}", ""
    if store.path:
        folder = store.path.parent
        where = f"in the folder {shown(folder.name or folder)}"
        absent = "" if folder.is_dir() else ", which does not exist either"
    guess, address = f" (did you mean {candidates}?)" if candidates else "", "path" if store.path else "URL"
    return LedgerMissing(
        f"there is no ledger {shown(store.name)} {where}{absent}{guess}; correct the {address}, or "
        f"create it, once for these people: hushrec.Ledger.create({address.lower()}, total), hushrec ledger "
        "create, or --new-ledger"
    )


def require_startable(store: Store, total: Budget, domain: str | None, releases: list[ReleaseAnchor]) -> None:
    """Refuse to create a ledger that exists, that existed before, or whose people have another one.

    Args:
        store: where it would be kept.
        total: its total.
        domain: digest of its domain; None if unknown.
        releases: the releases in its folder, or wherever the caller keeps them.
    """
    if store.exists():
        raise LedgerError(f"{shown(store.name)}: {TAKEN}")
    if store.name.endswith(_RELEASES):
        raise LedgerError(
            f"{shown(store.name)} is the name of a release; choose another for the ledger, such as .db"
        )
    release_anchors.require_new(releases, store)
    if domain is not None:
        require_alone(store, domain, total, releases)


def require_alone(store: Store, domain: str, total: Budget, releases: list[ReleaseAnchor]) -> None:
    """Refuse a ledger if another ledger, or its releases, in the same place are of the same people.

    Args:
        store: the ledger, which need not exist.
        domain: digest of a domain that this ledger was never charged for, so that a release for it must
            belong to another ledger.
        total: the ledger's total, with unit and adjacency.
        releases: the releases in its folder, or wherever the caller keeps them.
    """
    population = (domain, total.unit, total.adjacency)
    conflicts = [shown(other.name) for other in store.neighbours() if population in _populations(other)]
    conflicts += [
        f"{shown(anchor.release)} (charged to {shown(anchor.ledger_file)})"
        for anchor in releases
        if anchor.population == population
    ]
    if conflicts:
        raise LedgerError(
            f"{shown(store.name)} would be a second ledger of one population: in its {_kind(store)} lies "
            f"{_listed(conflicts)}, charged for the same domain, unit and adjacency. Charge that ledger (its "
            "owner can raise the total: hushrec ledger extend), or put it back if it was lost; keep ledgers "
            f"and releases of other people in another {_kind(store)}"
        )


def _populations(store: Store) -> set[tuple[object, ...]]:
    try:
        with store.reading() as session:
            history = session.history
    except LedgerError as error:
        raise LedgerError(
            f"{shown(store.name)}, another ledger in the {_kind(store)}, cannot be read, so it may be of the "
            f"same people ({error}); restore it, or move it away if it is of other people"
        ) from None
    about = history.total.unit, history.total.adjacency
    return {(charge.domain, *about) for charge in history.charges.values()}


def _kind(store: Store) -> str:
    return "folder" if store.path else "database"


def _listed(names: list[str], last: str = " and ") -> str:
    if len(names) > _LISTED:
        names = [*names[:_LISTED], f"{len(names) - _LISTED} more"]
    return last.join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
