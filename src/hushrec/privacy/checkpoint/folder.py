"""A private folder that one process holds at a time and whose files are written atomically."""

import contextlib
import os
import re
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import safetensors

from hushrec import files
from hushrec.errors import CheckpointError
from hushrec.privacy.failpoints import failpoint

_LOCK, _DRAFTS = "lock", "drafts"


class Folder:
    """A folder that only its owner can read (0700), locked until it is closed or the process ends.

    Args:
        path: a dedicated folder, new or left by an earlier run; its parent exists.
        file_names: pattern that matches the names of its files in full.
        of: what the folder is, for errors.

    Privacy: private.
    """

    def __init__(self, path: Path, file_names: re.Pattern[str], of: str = "checkpoint") -> None:
        self.path, self._file_names, self._of = path, file_names, of
        self._lock: int | None = None
        _ALL.add(self)
        with self.translated():
            self._lock = self._claimed()
            try:
                if (path / _DRAFTS).exists():
                    shutil.rmtree(path / _DRAFTS)
                (path / _DRAFTS).mkdir(mode=0o700)
                files.sync(path.parent)
            except BaseException:
                self.close()
                raise

    @property
    def open(self) -> bool:
        return self._lock is not None

    def files(self) -> frozenset[str]:
        return frozenset(file.name for file in self.path.iterdir() if self._file_names.fullmatch(file.name))

    def draft(self, name: str) -> Path:
        """Path where a file is written before it is published."""
        return self.path / _DRAFTS / name

    def publish(self, name: str) -> None:
        """Move a draft to its final place, durably."""
        files.publish(self.draft(name), self.path / name)

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, durably."""
        handle = os.open(self.draft(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as draft:
            draft.write(content)
        self.publish(name)

    def shred(self, name: str) -> None:
        """Overwrite a file, then remove it, durably.

        Copies of overwritten blocks that a file system or disk keeps are out of reach.
        """
        # Move it away first: a half overwritten file must not be mistaken for an intact one.
        doomed = self.path / _DRAFTS / name
        (self.path / name).rename(doomed)
        with doomed.open("r+b") as file:
            file.write(bytes(os.fstat(file.fileno()).st_size))
        files.sync(doomed)
        doomed.unlink()
        files.sync(self.path)
        failpoint("after-shred")

    def clear(self) -> None:
        for name in self.files():
            (self.path / name).unlink()

    def remove(self) -> None:
        """Remove every file and the folder itself, and release the lock."""
        self.clear()
        shutil.rmtree(self.path / _DRAFTS)
        (self.path / _LOCK).unlink()
        with contextlib.suppress(OSError):  # somebody put another file there
            self.path.rmdir()
        files.sync(self.path.parent)
        self.close()

    def close(self) -> None:
        """Release the lock, so that another process can hold the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Translate the operating system's errors into hushrec's."""
        try:
            yield
        except (OSError, safetensors.SafetensorError) as error:
            cause = getattr(error, "strerror", None) or "it could not be written"
            raise CheckpointError(
                f"{self.path.name}: no {self._of} can be kept here ({cause}); make room, or choose a folder "
                "of your own on a local disk, and try again"
            ) from error

    def _claimed(self) -> int:
        """Create the folder, or take over an existing one, and lock it."""
        import fcntl  # imported here because not every system has it

        while True:
            self.path.mkdir(mode=0o700, exist_ok=True)
            self._require_own()
            self.path.chmod(0o700)
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(lock), (self.path / _LOCK).stat()):
                        return lock
            except BlockingIOError:
                os.close(lock)
                raise CheckpointError(
                    f"{self.path.name}: another process is using this {self._of}; wait for it, or end it"
                ) from None
            os.close(lock)  # the folder was removed in the meantime

    def _require_own(self) -> None:
        """Refuse a folder with other files in it, because it will be removed."""
        names = {file.name for file in self.path.iterdir()}
        strange = {name for name in names - {_LOCK, _DRAFTS} if not self._file_names.fullmatch(name)}
        if strange or (names and _LOCK not in names):
            removed = ", because it is removed when the release is published"
            raise CheckpointError(
                f"{self.path.name}: this folder contains other files; choose an empty one for the {self._of}"
                f"{removed if self._of == 'checkpoint' else ''}"
            )


_ALL: weakref.WeakSet[Folder] = weakref.WeakSet()


def _let_go() -> None:
    """In a forked child: it would share the lock, and hold the folder after its parent was killed."""
    for folder in _ALL:
        folder.close()


os.register_at_fork(after_in_child=_let_go)


def in_use(path: Path) -> bool:
    """Whether a process, which may be this one, holds the folder, or just makes it."""
    import fcntl  # imported here because not every system has it

    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True  # nobody holds it yet: the lock is the first that a new folder gets
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


class Holder:
    """Files in a folder, locked until they are closed or the ``with`` block ends.

    Args:
        folder: just opened.

    Privacy: private.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def close(self) -> None:
        """Release the folder, so that another process can hold it and go on."""
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
