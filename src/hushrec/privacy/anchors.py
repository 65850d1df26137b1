"""What the releases beside a ledger remember of it: a second memory, against loss and restored backups.

A ledger that is deleted, or put back from a backup, has forgotten what was spent since. The releases have
not: each names the ledger's id, its file, and the head of its history. Only the JSON header of a release is
read (8 bytes of length, little endian, then JSON: the safetensors format), and of a released data set the
JSON file beside it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushrec.errors import LedgerMissing, LedgerStale
from hushrec.privacy.chain import Head, History

_LARGEST_HEADER = 100_000_000


@dataclass(frozen=True, slots=True)
class Anchor:
    """What one release says about its ledger.

    Privacy: public.
    """

    release: str
    ledger_id: str
    ledger_file: str
    head: Head


def beside(ledger: Path) -> list[Anchor]:
    """Read the anchors of all releases in the folder of a ledger, whichever ledger they name.

    A file that is no release, or cannot be read as one, says nothing.

    Privacy: public.
    """
    files = [(path, _header) for path in ledger.parent.glob("*.safetensors")]
    files += [(path, _text) for path in ledger.parent.glob("*.statement.json")]
    return [
        anchor for path, read in sorted(files, key=lambda found: found[0]) for anchor in _anchor(path, read)
    ]


def require_new(ledger: Path) -> None:
    """Refuse to start a ledger under a name that a release beside it knows.

    Raises:
        LedgerMissing: There was one: it was lost, not never made.

    Privacy: public.
    """
    for anchor in beside(ledger):
        if anchor.ledger_file == ledger.name:
            raise LedgerMissing(
                f"{anchor.release} was charged to {ledger.name}, so that ledger existed: put it back, for a "
                "new one would forget what was spent; for another population choose another name"
            )


def require_known(found: list[Anchor], ledger: Path | None, history: History) -> None:
    """Refuse a ledger that has forgotten what a release says of it.

    Raises:
        LedgerMissing: A release names another ledger of this name.
        LedgerStale: A release names a record that is not in the history.

    Privacy: public.
    """
    for anchor in found:
        if anchor.ledger_id == history.id:
            if not history.holds(anchor.head):
                raise LedgerStale(
                    f"the ledger does not know of {anchor.release}, which was charged to it: a backup was "
                    "restored; put the latest copy back"
                )
        elif ledger and anchor.ledger_file == ledger.name:
            raise LedgerMissing(
                f"{anchor.release} was charged to another ledger of this name; put that one back, or move "
                "the release elsewhere"
            )


def _anchor(path: Path, read: Callable[[Path], Any]) -> Iterator[Anchor]:
    try:
        ledger = read(path)["statement"]["ledger"]
        # Strange values are kept: they match no history, and a ledger that they name stays closed.
        yield Anchor(path.name, ledger["id"], ledger["file"], Head(ledger["seq"], ledger["head"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return


def _header(path: Path) -> Any:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _LARGEST_HEADER:
            raise ValueError("no header is so long")
        return json.loads(json.loads(file.read(length))["__metadata__"]["hushrec"])


def _text(path: Path) -> Any:
    with path.open("rb") as file:
        text = file.read(_LARGEST_HEADER + 1)
    if len(text) > _LARGEST_HEADER:
        raise ValueError("no statement is so long")
    return json.loads(text)
