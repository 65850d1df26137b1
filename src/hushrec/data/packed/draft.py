"""Folders of private ratings that are still being written, and what a killed run has left of them."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hushrec.escapes import escaped

_SUFFIX = ".hushrec-draft"

__all__ = ["draft"]


@contextmanager
def draft(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` that its owner alone may read, to be renamed to it when all of it is there.

    It is locked for as long as its process lives. What was left by a process that was killed is therefore
    known from what another one is writing: it is removed first, with a warning that names it.

    Raises:
        OSError: there is no room, or no such parent.

    Privacy: private.
    """
    _remove_remains(folder.parent)
    while True:
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=_SUFFIX, dir=folder.parent))
        lock = _locked(made, wait=True)
        if made.exists():  # and was not taken for remains before it was locked
            break
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _remove_remains(parent: Path) -> None:
    for found in sorted(parent.glob(f".*{_SUFFIX}")):
        lock = _locked(found, wait=False)
        if lock is None:
            continue
        full = any(found.iterdir())
        shutil.rmtree(found, ignore_errors=True)
        if full:
            warnings.warn(
                f"removed {escaped(str(found))}: private ratings that a killed run had left", stacklevel=4
            )
        os.close(lock)


def _locked(folder: Path, *, wait: bool) -> int | None:
    """A lock on a folder, which is given up when the process ends, however it ends; None if it is held."""
    try:
        import fcntl  # not every system has it
    except ImportError:
        return None
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return opened
        except OSError:
            os.close(opened)
    return None
