"""``hushrec ledger verify``: whether an exported history, and a release of it, are as they were recorded."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from hushrec.cli import console
from hushrec.errors import LedgerError, ReleaseError
from hushrec.release.untrusted_json import parse

_DATA_SETS = ".parquet", ".csv"


def verify(
    history: Annotated[Path, typer.Argument(help="The history, as hushrec ledger export writes it.")],
    release: Annotated[Path | None, typer.Argument(help="A release or released data set of it.")] = None,
) -> None:
    """Check the hashes of an exported history, and that a release is the one that it records."""
    found = checked(history, release)
    screen = console.out()
    screen.print(
        f"{history}: {found.records:,} records of ledger {found.ledger}, all as they were hashed.",
        soft_wrap=True,
    )
    if release is not None:
        screen.print(
            f"{release}: {found.place} in this history, byte for byte as it was recorded.", soft_wrap=True
        )


class Checked(NamedTuple):
    """What was found of a history that holds together.

    Attributes:
        records: number of its records.
        ledger: id of its ledger.
        release_index: of the release that it records; None if none was given.
        max_releases: how many releases the ledger was for when it was charged; None if it is not known.
    """

    records: int
    ledger: str
    release_index: int | None
    max_releases: int | None = None

    @property
    def place(self) -> str:
        """Which release it is, counted from 1 as in statements."""
        most = "" if self.max_releases is None else f" of at most {self.max_releases:,}"
        return "" if self.release_index is None else f"release {self.release_index + 1:,}{most}"


def checked(history: Path, release: Path | None) -> Checked:
    """Check the hashes of an exported history, and that a release is the one that it records.

    Raises:
        LedgerError: The history was altered, or does not record the release as it is.
    """
    told = _history(history)
    records = told["records"]
    _check_chain(history, told)
    index, most = (None, None) if release is None else _check_release(history, records, release)
    return Checked(len(records), told["ledger"], index, most)


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _history(path: Path) -> dict[str, Any]:
    """An exported history, with every record's text and what it says as ``facts``; no hash is checked."""
    try:
        text = path.read_text("utf-8")
        told = parse(text, others=len(text))
        told["last_seq"], told["last_head"], told["ledger"]
        for record in told["records"]:
            record["text"], record["facts"] = record["record"].encode(), parse(record["record"])
            record["hash"], record["seq"], record["facts"]["kind"]
        told["records"][0]["facts"]["id"]
    except OSError as error:
        raise LedgerError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise LedgerError(
            f"{path} is not a history, or was altered; ask the ledger's owner for what hushrec ledger export "
            "writes"
        ) from None
    return dict(told)


def _check_chain(path: Path, told: Mapping[str, Any]) -> None:
    """Refuse a history of which a record does not follow from those before it."""
    last, records = bytes(32), told["records"]
    for place, record in enumerate(records):
        last = hashlib.sha256(last + place.to_bytes(8, "big") + record["text"]).digest()
        if (record["seq"], record["hash"]) != (place, last.hex()):
            raise LedgerError(
                f"{path}: record {place} was altered, or is not in its place; do not rely on this history, "
                "and ask the ledger's owner for another export"
            )
    opened = records[0]["facts"]["id"]
    if (told["ledger"], told["last_seq"], told["last_head"]) != (opened, len(records) - 1, last.hex()):
        raise LedgerError(
            f"{path}: its first lines name another ledger or another last record than its records do; do "
            "not rely on this history, and ask the ledger's owner for another export"
        )


def _check_release(history: Path, records: list[dict[str, Any]], path: Path) -> tuple[Any, Any]:
    """Refuse a release that the history does not record; returns its index, and how many there may be."""
    ledger, content = _release(path)
    if "id" not in ledger:
        raise LedgerError(f"{path} was charged to no ledger that is kept, so no history can record it")
    if ledger["id"] != records[0]["facts"]["id"]:
        raise LedgerError(
            f"{path} was charged to another ledger, {ledger['id']}; ask for that ledger's history"
        )
    seq = ledger["seq"]
    if seq >= len(records):
        raise LedgerError(f"{history} ends before record {seq}, which {path} names; ask for a later export")
    charged = records[seq]["facts"]
    if records[seq]["hash"] != ledger["head"] or charged["kind"] != "charged":
        raise LedgerError(
            f"{path} names a record {seq} that is not the one in {history}; the history was made again, or "
            "the release is forged: do not rely on either"
        )
    stored = [
        facts.get("sha256")
        for facts in (record["facts"] for record in records[seq:])
        if facts["kind"] == "sampled" and facts.get("charge") == charged.get("charge")
    ]
    if not stored:
        raise LedgerError(f"{history} ends before {path} was stored; ask for a later export")
    if hashlib.sha256(content).hexdigest() not in stored:
        raise LedgerError(
            f"{path} differs from what {history} records of its charge. A model of released data is not in "
            "the history: verify the data set. Any other release was altered: do not rely on it"
        )
    return charged.get("release_index"), ledger.get("max_releases")


def _release(path: Path) -> tuple[Mapping[str, Any], bytes]:
    """What a release says about its ledger, and the bytes that the ledger recorded."""
    if path.suffix in _DATA_SETS:
        from hushrec.local.released import ReleasedData

        data = ReleasedData.open(path)
        return data.statement.ledger, data.for_ledger()
    from hushrec.release.artefact import Release

    opened = Release.open(path)
    try:
        return opened.statement.ledger, path.read_bytes()
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}") from None
