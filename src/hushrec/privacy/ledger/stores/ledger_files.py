"""Which files of a folder are ledgers."""

import sqlite3
import stat
from pathlib import Path

APPLICATION = 0x68757368
"""SQLite application id of a ledger."""
_LOGS = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's auxiliary files, which hold its locks."""


def others(path: Path) -> list[Path]:
    """The other ledgers in the folder of a ledger, which need not exist, by their SQLite application id."""
    try:
        entries = sorted(path.parent.iterdir())
    except OSError:
        return []
    return [entry for entry in entries if entry.name != path.name and _is_ledger(entry)]


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
