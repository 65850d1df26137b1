"""``hushrec ledger verify``: whether releases are as a history recorded them, or known to a ledger."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from hushrec.cli import account, console
from hushrec.errors import ConfigError, LedgerError, ReleaseError
from hushrec.release.untrusted_json import parse
from hushrec.uris import is_address

DATA_SETS = ".parquet", ".csv"
_SQLITE = b"SQLite format 3\0"


def verify(
    history: Annotated[
        str,
        typer.Argument(
            metavar="HISTORY|LEDGER",
            autocompletion=account.complete_ledger,
            help="The history, as hushrec ledger export writes it, or the ledger itself: its file, or "
            "postgresql://host/database[?ledger=NAME].",
        ),
    ],
    releases: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RELEASE", help="Releases or released data sets of it; of a ledger, also folders."
        ),
    ] = None,
) -> None:
    """Check an exported history, or a ledger, by its releases.

    Of a history: its hashes, and that a release is the one that it records. Of a ledger: that it knows of its
    releases; one that was restored from a backup does not.
    """
    if _is_ledger(history):
        _verify_ledger(history, releases or [])
        return
    path = Path(history)
    found = [checked(path, release) for release in releases or (None,)]
    screen = console.out()
    screen.print(
        f"{history}: {found[0].records:,} records of ledger {found[0].ledger}, all as they were hashed.",
        soft_wrap=True,
    )
    for release, one in zip(releases or (), found, strict=False):
        screen.print(
            f"{release}: {one.place} in this history, byte for byte as it was recorded.", soft_wrap=True
        )


def _is_ledger(named: str) -> bool:
    """Whether an argument is a ledger: the address of one, or a file of SQLite."""
    if is_address(named):
        return True
    try:
        with Path(named).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _verify_ledger(named: str, releases: list[Path]) -> None:
    """Refuse a ledger that does not know of its releases."""
    from hushrec.privacy.ledger import witnesses
    from hushrec.privacy.ledger.ledger import Ledger

    if not releases:
        raise ConfigError("name the releases that the ledger must know, or folders of them, after it")
    ledger = Ledger.open(named)
    for place in releases:
        Ledger.open(named, place)
    of_it = [told for told in witnesses.among(*releases) if told.ledger_id == ledger.id]
    if not of_it:
        raise ConfigError(f"no release of this ledger is in {', '.join(map(str, releases))}; name others")
    console.out().print(
        f"{ledger.place}: knows all {len(of_it):,} releases of it, the latest at record "
        f"{max(told.head.seq for told in of_it)} of {ledger.head.seq}",
        soft_wrap=True,
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
    """Check the hashes of an exported history, and that a release is the one that it records."""
    told = _history(history)
    records = told["records"]
    _check_chain(history, told)
    index, most = (None, None) if release is None else _check_release(history, records, release)
    return Checked(len(records), told["ledger"], index, most)


def sha256(path: Path) -> str:
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
    if path.suffix in DATA_SETS:
        from hushrec.local.released import ReleasedData

        data = ReleasedData.open(path)
        return data.statement.ledger, data.for_ledger()
    from hushrec.release.artefact import Release

    opened = Release.open(path)
    try:
        return opened.statement.ledger, path.read_bytes()
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}") from None
