"""Files and folders that appear whole, and one error for those that cannot be written or read.

New content is first written to a draft, a private folder next to its place. Once it is on the disk it is
renamed, and the new name is synced too. So a killed process or a power cut leaves the old content or the new,
never a part. Only a folder that replaces another is missing for an instant: if a process is killed then, the
next draft in the same place puts the earlier one back.
"""

import errno
import hashlib
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from hushrec.errors import HushrecError
from hushrec.text import escaped

SUFFIX = ".hushrec-draft"
_NEW, _EARLIER = "new", "earlier"


@contextmanager
def refusing(
    path: str | Path, verb: Literal["read", "written"], error: type[HushrecError], fix: str
) -> Iterator[None]:
    """Turn a system error about a file into one of ours: which file, why, and what to do."""
    try:
        yield
        return
    except OSError as failed:
        reason = failed.strerror or os.strerror(failed.errno or errno.EIO)
    raise error(f"{path} cannot be {verb}: {reason}; {fix}") from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading. A pipe could block, and a device might never end.

    Raises:
        OSError: The file is of another kind, or missing.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a folder fails with a clear message
        raise OSError(errno.EINVAL, "it is not a regular file")
    with open(path, "rb", opener=_at_once) as file:
        yield file


def read(path: Path, error: type[HushrecError], *, fix: str, largest: int | None = None) -> bytes:
    """Read a regular file.

    Args:
        error: raised if the file cannot be read.
        fix: the second clause of that error.
        largest: limit on its bytes; a larger file is not read.
    """
    with refusing(path, "read", error, fix), opened(path) as file:
        if largest is not None and os.fstat(file.fileno()).st_size > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest:,} bytes")
        return file.read()


def read_text(path: Path, error: type[HushrecError], *, fix: str, largest: int | None = None) -> str:
    """Read a regular file of text in UTF-8, as ``read`` does."""
    data = read(path, error, fix=fix, largest=largest)
    with refusing(path, "read", error, fix):
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise OSError(errno.EILSEQ, "it is not text in UTF-8") from None


def sha256(path: Path) -> str:
    """Hash a file by SHA-256, in hex.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(
    path: Path,
    content: bytes | str,
    error: type[HushrecError],
    *,
    fix: str,
    mode: int = 0o666,
    new: bool = False,
) -> None:
    """Write a file whole, as ``whole`` does; text in UTF-8.

    Args:
        error: raised if the file cannot be written.
        fix: the second clause of that error.
        mode, new: as of ``whole``.
    """
    with refusing(path, "written", error, fix), whole(path, mode=mode, new=new) as file:
        file.write(content if isinstance(content, bytes) else content.encode())


@contextmanager
def whole(path: Path, *, mode: int = 0o666, new: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place when the block ends without an error.

    Args:
        path: its place. A link is refused, because the link would be replaced and not its target.
        mode: its permissions, less the process's umask; 0o600 for private files.
        new: whether to refuse to replace an existing file.

    Raises:
        OSError: it cannot be written.
    """
    with suppress(FileNotFoundError):
        mode_there = path.lstat().st_mode
        if new:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        if not stat.S_ISREG(mode_there):
            raise OSError(errno.EINVAL, "it is a link, a folder or a device")
    with draft(path) as folder:
        unfinished = folder / _NEW
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
        publish(unfinished, path, new=new)


@contextmanager
def whole_folder(folder: Path, *, mode: int = 0o700, new: bool = False) -> Iterator[Path]:
    """Make a folder that takes its place when the block ends without an error.

    Args:
        folder: its place.
        mode: its permissions, less the process's umask.
        new: whether to refuse to replace a folder that holds files.

    Raises:
        OSError: it cannot be written.
    """
    with draft(folder) as aside:
        finished = aside / _NEW
        finished.mkdir(mode=mode)
        yield finished
        if not new and folder.exists():
            (aside / _EARLIER).mkdir()
            os.rename(folder, aside / _EARLIER / folder.name)
        publish(finished, folder)


def publish(finished: Path, path: Path, *, new: bool = False) -> None:
    """Move a finished file or folder to its place, once all of it is on the disk.

    Args:
        finished: on the same file system.
        new: whether to refuse to replace an existing file.
    """
    for inner in finished.rglob("*"):
        sync(inner)
    sync(finished)
    if new:
        _move_to_free(finished, path)
    else:
        os.replace(finished, path)
    # The name is on the disk only once its folder is.
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    if os.name == "nt" and path.is_dir():
        return  # no handle of a folder there
    # Windows flushes only what is open for writing.
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:  # some file systems take this call for files alone
        if not (path.is_dir() and error.errno in (errno.EBADF, errno.EINVAL)):
            raise
    finally:
        os.close(handle)


@contextmanager
def draft(path: Path, *, quiet: bool = False) -> Iterator[Path]:
    """Make a folder next to a path, readable by its owner alone, and remove it in the end.

    It is locked while its process lives, so drafts of killed processes differ from drafts in use. The former
    are removed first, with a warning that names them, unless it is to be quiet.
    """
    sweep(path.parent, quiet=quiet)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=SUFFIX, dir=path.parent))
        lock = _lock(folder, wait=True)
        if folder.exists():  # it was not removed as a leftover before it was locked
            break
    try:
        yield folder
    finally:
        _remove(folder)
        if lock is not None:
            os.close(lock)


def sweep(folder: Path, *, quiet: bool = False) -> None:
    """Remove the drafts that killed processes left in a folder, with a warning that names them."""
    for leftover in sorted(folder.glob(f".*{SUFFIX}")):
        lock = _lock(leftover, wait=False)
        if lock is None:
            continue
        full = leftover.exists() and any(leftover.iterdir())  # its process may have ended meanwhile
        _remove(leftover)
        if full and not quiet:
            warnings.warn(f"removed {escaped(str(leftover))}: a killed run had left it", stacklevel=5)
        os.close(lock)


def _move_to_free(finished: Path, path: Path) -> None:
    """Rename a file, unless the name is taken, which ``os.rename`` would not notice."""
    try:
        os.link(finished, path)
    except FileExistsError:
        raise
    except OSError:  # this file system has no hard links: hold the name with an empty file
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.replace(finished, path)


def _remove(draft: Path) -> None:
    """Remove a draft. A folder that it was to replace goes back, if nothing took its place."""
    for earlier in draft.glob(f"{_EARLIER}/*"):
        place = draft.with_name(earlier.name)
        if not os.path.lexists(place):
            os.rename(earlier, place)
    shutil.rmtree(draft, ignore_errors=True)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder until the process ends for any reason; None if another process holds the lock."""
    try:
        import fcntl  # not every system has it
    except ImportError:
        return None
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except OSError:
            os.close(handle)
    return None


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # in case it has become a pipe meanwhile
