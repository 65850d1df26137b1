"""Folders of private ratings while they are being written, and removal of what a killed run left."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from weakref import finalize

from hushrec.errors import DataError
from hushrec.escapes import escaped

_SUFFIX = ".hushrec-draft"

__all__ = ["Temporary", "draft"]


class Temporary:
    """A folder for private ratings among the temporary files of this machine, which only its owner may read.

    It is deleted when it is closed or forgotten, or when the program ends; if the program is killed, the next
    that makes one deletes it.

    Privacy: private.
    """

    def __init__(self) -> None:
        held = ExitStack()
        try:
            self.folder = held.enter_context(draft(Path(tempfile.gettempdir()) / "ratings"))
        except OSError as error:
            reason = f"temporary files cannot be written: {error.strerror}"
            raise DataError(f"{reason}; name another folder for them in TMPDIR") from None
        self._end = finalize(self, _closed, held, os.getpid())

    def close(self) -> None:
        self._end()


def _closed(held: ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # not in a copy of the process
        held.close()


@contextmanager
def draft(folder: Path) -> Iterator[Path]:
    """A folder next to ``folder`` that only its owner may read; rename it to ``folder`` when it is complete.

    The folder is locked while its process lives. So leftovers of a killed process can be told apart from a
    folder that another process is writing; they are removed first, with a warning that names them.

    Privacy: private.
    """
    _remove_remains(folder.parent)
    while True:
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=_SUFFIX, dir=folder.parent))
        lock = _locked(made, wait=True)
        if made.exists():  # it was not removed as a leftover before it was locked
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
    """A lock on a folder, released when the process ends for any reason; None if it is held elsewhere."""
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
