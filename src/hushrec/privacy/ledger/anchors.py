"""Witnesses of a ledger in its folder: its releases, and whatever belongs to another ledger.

A ledger that is deleted, or restored from a backup, has lost what was spent since. The releases still show
it: each names the ledger's id, its file, and the head of its history. Only the JSON header of a release is
read (8 bytes of length, little endian, then JSON: the safetensors format). For a released data set the JSON
file next to it is read. An unreadable file is skipped, with a warning that names it.

A second ledger for the same people would allow the first one's total once more. A single ledger cannot show
this. So a folder holds one ledger with its releases, and none is created beside another ledger, or beside a
release of one. In a database, which is no folder, the database itself refuses a charge for people whom
another of its ledgers was charged for (``postgres.sql``).
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushrec.errors import LedgerError, LedgerMissing, LedgerStale, LedgerWarning
from hushrec.files import opened
from hushrec.privacy.ledger.history import Head, History
from hushrec.privacy.ledger.stores.sqlite import TAKEN
from hushrec.privacy.ledger.stores.store import Store
from hushrec.text import shown

_LARGEST_HEADER = 100_000_000
"""Bytes; safetensors does not read a longer header."""
_MOST_PARTS = 4_000_000
"""Commas, colons and brackets in a header. An id needs one; with more, a crafted file takes gigabytes."""


@dataclass(frozen=True, slots=True)
class ReleaseAnchor:
    """The facts that one release states about its ledger."""

    release: str
    ledger_id: str
    ledger_file: str
    head: Head


def among(*places: Path) -> list[ReleaseAnchor]:
    """Read the anchors of all releases in these folders or files, whichever ledger they name.

    Files that are not releases are ignored.
    """
    files: list[tuple[Path, Callable[[Path], Any]]] = []
    for place in dict.fromkeys(places):
        if place.is_dir():
            files += [(path, _header) for path in place.glob("*.safetensors")]
            files += [(path, _text) for path in place.glob("*.statement.json")]
        elif place.exists():
            files.append((place, _text if place.name.endswith(".json") else _header))
    return [
        anchor for path, read in sorted(files, key=lambda file: file[0]) for anchor in _anchor(path, read)
    ]


def require_not_lost(store: Store, releases: list[ReleaseAnchor]) -> None:
    """Refuse a ledger that is not there, under a name that a release mentions."""
    for anchor in releases:
        if anchor.ledger_file == store.name:
            elsewhere = "choose another folder" if store.path else "choose another name (?ledger=NAME)"
            raise LedgerMissing(
                f"{shown(anchor.release)} was charged to {store.name}, so that ledger existed: put it back, "
                f"because a new one would forget what was spent; for other people {elsewhere}"
            )


def require_known(anchors: list[ReleaseAnchor], name: str, history: History) -> None:
    """Refuse a ledger that contradicts a release.

    Args:
        anchors: the releases.
        name: the ledger's name; empty in memory.
        history: the ledger's history.
    """
    unmade = [charge for charge in history.charges.values() if charge.state == "charged"]
    for anchor in anchors:
        if anchor.ledger_id == history.id:
            if not history.holds(anchor.head):
                raise LedgerStale(
                    f"the ledger does not know of {shown(anchor.release)}, which was charged to it: a backup "
                    "was restored; put the latest copy back"
                )
            if any(charge.number == anchor.head.seq for charge in unmade):
                raise LedgerStale(
                    f"the ledger does not know that {shown(anchor.release)} was made: a backup was restored; "
                    "put the latest copy back"
                )
        elif name and anchor.ledger_file == name:
            raise LedgerMissing(
                f"{shown(anchor.release)} was charged to another ledger of this name; put that one back, or "
                "move the release elsewhere"
            )


def _anchor(path: Path, read: Callable[[Path], Any]) -> Iterator[ReleaseAnchor]:
    try:
        facts = read(path)
        statement = facts["statement"] if isinstance(facts, Mapping) and "statement" in facts else {}
        ledger = statement["ledger"] if isinstance(statement, Mapping) and "ledger" in statement else {}
        if not ledger:  # another kind of file, or made without a ledger
            return
        # Malformed values are kept: they match no history, so a ledger that they name stays closed.
        yield ReleaseAnchor(path.name, ledger["id"], ledger["file"], Head(ledger["seq"], ledger["head"]))
    except OSError as error:
        _skip(path, error.strerror or str(error))
    except _Large as error:
        _skip(path, str(error))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError):
        _skip(path, "damaged, or of another kind than its name says")


def _skip(path: Path, why: str) -> None:
    warnings.warn(
        f"{shown(path.name)} lies next to the ledger and cannot be read as a release ({why}): it cannot show "
        "a lost or restored ledger; repair it, or move it away",
        LedgerWarning,
        stacklevel=2,
    )


class _Large(ValueError):
    """The file is larger than any release."""


def _header(path: Path) -> Any:
    with opened(path) as file:
        length = int.from_bytes(file.read(8), "little")
        if length > os.fstat(file.fileno()).st_size - 8:
            raise ValueError("shorter than it says")
        if length > _LARGEST_HEADER:
            raise _Large("its header is larger than any release's")
        outer = _parsed(file.read(length))
    text = outer.get("__metadata__", {}).get("hushrec")
    return None if text is None else _parsed(text.encode())


def _text(path: Path) -> Any:
    with opened(path) as file:
        text = file.read(_LARGEST_HEADER + 1)
    if len(text) > _LARGEST_HEADER:
        raise _Large("it is larger than any statement")
    return _parsed(text)


def _parsed(text: bytes) -> Any:
    if sum(map(text.count, (b",", b":", b"[", b"{"))) > _MOST_PARTS:
        raise _Large("it has more parts than any release")
    return json.loads(text)


_RELEASES = (".safetensors", ".statement.json")
"""Files that are opened without SQLite, which would drop its locks on a ledger of such a name."""
_LISTED = 4  # names that a message lists at most; chosen by hand


def missing(store: Store) -> LedgerError:
    """The error for a missing ledger, with the two remedies. Of a path it shows only the last two parts."""
    where, address = f"at {store.place}", "URL"
    if store.path:
        folder = store.path.parent
        where, address = f"in the folder {shown(folder.name or folder)}", "path"
    return LedgerMissing(
        f"there is no ledger {shown(store.name)} {where}; correct the {address}, or create it, once for "
        f"these people: hushrec.Ledger.create({address.lower()}, total), hushrec ledger create, or "
        "--new-ledger"
    )


def require_new(store: Store, releases: list[ReleaseAnchor]) -> None:
    """Refuse to create a ledger that exists or existed, or that another ledger may make a second one.

    Args:
        store: where it would be kept.
        releases: the releases in its folder, or wherever the caller keeps them.
    """
    if store.exists():
        raise LedgerError(f"{shown(store.name)}: {TAKEN}")
    if store.name.endswith(_RELEASES):
        raise LedgerError(
            f"{shown(store.name)} is the name of a release; choose another for the ledger, such as .db"
        )
    require_not_lost(store, releases)
    others = [shown(other.name) for other in store.neighbours()] if store.path else []
    others += [f"{shown(one.release)} (charged to {shown(one.ledger_file)})" for one in releases]
    if others:
        raise LedgerError(
            f"{shown(store.name)} would be a second ledger, next to {_listed(others)}. One population has "
            "one ledger: if these are of the same people, charge theirs (its owner can raise the total: "
            "hushrec ledger extend), or put it back if it was lost; if not, keep this one, with its "
            "releases, in a folder of its own"
        )


def _listed(names: list[str]) -> str:
    if len(names) > _LISTED:
        names = [*names[:_LISTED], f"{len(names) - _LISTED} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
