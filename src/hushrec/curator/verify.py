"""Verifies an exported history, or a ledger, by its releases."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from hushrec import files
from hushrec.errors import ConfigError, LedgerDamaged, LedgerError, ReleaseError
from hushrec.local.dataset_files import SUFFIXES
from hushrec.local.released import ReleasedData
from hushrec.privacy.ledger import release_anchors
from hushrec.privacy.ledger.history import Charge, Head, History
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.release.artefact import LARGEST_FILE, Release
from hushrec.release.untrusted_json import parse


class Recorded(NamedTuple):
    """The facts that a verified history states about a release.

    Attributes:
        ledger: id of its ledger.
        records: number of its records.
        release_index: of the release; None if none was given.
        max_releases: how many releases the ledger was for when it was charged; None if it is not known.
    """

    ledger: str
    records: int
    release_index: int | None = None
    max_releases: int | None = None


def verify(history: Path, release: Path | None = None) -> Recorded:
    """Verify the hashes of an exported history, and that a release is one that it records, byte for byte.

    Raises:
        LedgerError: The history was altered, or does not record the release.
        ReleaseError: The release cannot be read.
    """
    replayed = _history(history)
    whole = replayed.id, replayed.head.seq + 1
    if release is None:
        return Recorded(*whole)
    ledger_facts, content = _release(release)
    charge = _charge(replayed, ledger_facts, history, release)
    if hashlib.sha256(content).hexdigest() != charge.sha256:
        raise LedgerError(
            f"{release} differs from what {history} records of its charge. A model of released data is not "
            "in the history: verify the data set. Any other release was altered: do not rely on it"
        )
    return Recorded(*whole, charge.release_index, ledger_facts.get("max_releases"))


def verify_ledger(named: str, releases: Sequence[Path]) -> tuple[Ledger, list[Head]]:
    """Verify that a ledger knows of its releases; one that was restored from a backup does not.

    Args:
        named: its file or its URL.
        releases: files or folders; those of other ledgers are passed over.

    Returns:
        The ledger, and which of its records each of its releases names.

    Raises:
        ConfigError: None of them is of the ledger.
        LedgerStale: The ledger does not know of one.
    """
    ledger = Ledger.open(named)
    if not releases:
        raise ConfigError(
            "a ledger is verified by its releases; add the release file: hushrec ledger verify "
            f"{quote(str(ledger.place))} week-01.safetensors"
        )
    for place in releases:
        Ledger.open(named, place)
    heads = [anchor.head for anchor in release_anchors.among(*releases) if anchor.ledger_id == ledger.id]
    if not heads:
        raise ConfigError(
            f"no release of this ledger is in {', '.join(map(str, releases))}; name the "
            "releases that the ledger must know, or folders of them"
        )
    return ledger, heads


def _history(path: Path) -> History:
    """Replay an exported history, which checks every hash."""
    text = files.read_text(path, LedgerError, fix="name what hushrec ledger export wrote")
    history = History()
    try:
        export = parse(text, others=len(text))
        for place, record in enumerate(export["records"]):
            parse(record["record"])  # in bounded memory
            try:
                history.load(record["seq"], record["record"].encode(), bytes.fromhex(record["hash"]))
            except LedgerDamaged:
                raise LedgerError(
                    f"{path}: record {place} was altered, or is not in its place, or is of a later hushrec; "
                    "do not rely on this history, and ask the ledger's owner for another export"
                ) from None
        as_told = export["ledger"], export["last_seq"], export["last_head"]
        as_replayed = history.id, history.head.seq, history.head.hash
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise LedgerError(
            f"{path} is not a history, or was altered; ask the ledger's owner for what hushrec ledger export "
            "writes"
        ) from None
    if as_told != as_replayed:
        raise LedgerError(
            f"{path}: its first lines name another ledger or another last record than its records do; do not "
            "rely on this history, and ask the ledger's owner for another export"
        )
    return history


def _charge(history: History, ledger_facts: Mapping[str, Any], path: Path, release: Path) -> Charge:
    """The charge of a release, as the history has it."""
    if "id" not in ledger_facts:
        raise LedgerError(f"{release} was charged to no ledger that is kept, so no history can record it")
    if ledger_facts["id"] != history.id:
        raise LedgerError(
            f"{release} was charged to another ledger, {ledger_facts['id']}; ask for that ledger's history"
        )
    seq = ledger_facts["seq"]
    if seq > history.head.seq:
        raise LedgerError(f"{path} ends before record {seq}, which {release} names; ask for a later export")
    charge = next((history.charges[entry.charge] for entry in history.entries() if entry.seq == seq), None)
    if charge is None or not history.holds(Head(seq, ledger_facts["head"])):
        raise LedgerError(
            f"{release} names a record {seq} that is not the one in {path}; the history was made again, or "
            "the release is forged: do not rely on either"
        )
    if not charge.sha256:
        raise LedgerError(f"{path} ends before {release} was stored; ask for a later export")
    return charge


def _release(path: Path) -> tuple[Mapping[str, Any], bytes]:
    """A release's claims about its ledger, and the bytes that the ledger recorded."""
    if path.suffix in SUFFIXES:
        data = ReleasedData.open(path)
        return data.statement.ledger, data.for_ledger()
    content = files.read(path, ReleaseError, fix="name the release file itself", largest=LARGEST_FILE)
    return Release.from_bytes(content).statement.ledger, content
