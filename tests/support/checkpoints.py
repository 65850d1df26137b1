"""Folders that a fit goes on from."""

from pathlib import Path

from hushrec.errors import CheckpointError
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.ledger.ledger import Ledger

FIT = {"ratings": "a digest", "settings": "a plan"}


def bound(folder: Path, ledger: Ledger | None = None, **other: str) -> Checkpoint:
    checkpoint = Checkpoint(folder)
    try:
        checkpoint.bind(FIT | other, ledger.id if ledger else "")
    except CheckpointError:
        checkpoint.close()
        raise
    return checkpoint


def with_key(folder: Path, key: bytes) -> Path:
    """A folder whose key is known beforehand."""
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "key").write_bytes(key)
    return folder
