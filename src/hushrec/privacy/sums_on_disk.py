"""Sums on disk: every value that a charge has measured, kept until its release is made.

A stopped fit goes on from them at no cost. What makes that safe is neither a key nor equal data: of each
booked measurement, at most one value is ever recorded or returned (``docs/crash.md`` has the proof). A value
is written and synced as a *draft*; then the ledger records its SHA-256, once for each measurement; only then
is it renamed and returned. A draft that the ledger did not record is dropped unseen.

::

    NAME.sums/                        next to the ledger; 0700, as private as the ratings
    ├── <ledger>-<number>.mark        the last charge that was made from here; outlives the sums
    ├── <ledger>-<token>.carried      what the next release of the year takes over; outlives the sums
    └── <ledger>-<token>/             the sums of one charge, locked while in use; its record holds the token
        ├── people                    a salted digest of the rows that were charged for
        ├── drafts/
        ├── <name>.public             what later sums are measured under, such as which items
        └── <name>.safetensors        the value of a measurement, under a digest of its name
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from hushrec import files
from hushrec.errors import LedgerStale, SumsError
from hushrec.privacy.carried import Carried
from hushrec.privacy.confined import Confined
from hushrec.privacy.failpoints import failpoint

Arrays = dict[str, NDArray[Any]]
_PEOPLE, _DRAFTS, _ROOM, _MARK = "people", "drafts", "room", "mark"
_CARRIED, _REMOVED = ".carried", "removed."
_VALUE = re.compile(r"[0-9a-f]{40}\.safetensors")
_FIXED = ".public"
_KNOWN = re.compile(rf"{_PEOPLE}|{_DRAFTS}|{_VALUE.pattern}|[0-9a-f]{{40}}\{_FIXED}")
_ID = 16  # hex digits of a ledger's id in names: another ledger of its name has others
_HEADER = 1 << 14
"""Bytes for what a file holds beside its arrays."""


class SumsFolder:
    """The folder of all charges that are made from here to one ledger.

    Args:
        path: the folder; made with the first charge.
        ledger: id of the ledger.

    Privacy: private.
    """

    def __init__(self, path: Path, ledger: str) -> None:
        self.path, self._prefix = path.absolute(), f"{ledger[:_ID]}-"

    def new(self) -> "ChargeSums":
        """Make the folder of a charge, before it is charged, and hold it."""
        with translated(self.path):
            while True:
                folder = self.path / f"{self._prefix}{secrets.token_hex(8)}"
                # Another process may remove the folder of sums while it is empty, or take the new one for
                # what a killed process left.
                with contextlib.suppress(_InUse, FileNotFoundError):
                    self.path.mkdir(mode=0o700, exist_ok=True)
                    files.sync(self.path.parent)
                    folder.mkdir(mode=0o700)
                    return ChargeSums(folder)
                if not self.path.parent.is_dir():
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def free(self) -> "Iterator[ChargeSums]":
        """Hold each folder of a charge in turn that no process holds; a removed one that is left goes."""
        for gone in self.path.glob(f"{_REMOVED}*"):
            shutil.rmtree(gone, ignore_errors=True)
        for folder in sorted(self.path.glob(f"{self._prefix}*")):
            if folder.is_dir():
                with contextlib.suppress(_InUse):
                    yield ChargeSums(folder)

    def marks(self) -> list[tuple[int, str]]:
        """Number and hash of the last record that charged from here; earlier ones are implied."""
        found = []
        for mark in self.path.glob(f"{self._prefix}*.mark"):
            with contextlib.suppress(FileNotFoundError):  # a later one just took its place
                found.append((int(mark.stem.removeprefix(self._prefix)), mark.read_text()))
        return found

    def carried(self, token: str, sha256: str) -> Carried | None:
        """What a made release hands to the next; None if it is not here as the ledger knows it.

        Args:
            token: of its charge.
            sha256: of the file, hex, as the ledger has it.
        """
        with translated(self.path):
            place = self.path / f"{self._prefix}{token}{_CARRIED}"
            known = place.is_file() and files.sha256(place) == sha256
            return Carried.open(place) if known else None

    def carrieds(self) -> dict[str, Path]:
        """What charges hand over, by their token; their releases need not be made yet."""
        found = self.path.glob(f"{self._prefix}*{_CARRIED}")
        return {place.stem.removeprefix(self._prefix): place for place in found}


class ChargeSums(Confined):
    """The folder of one charge, held by one process until it is closed or the process ends.

    Args:
        path: of the folder, new or left by a fit that was stopped.

    Attributes:
        token: what the ledger's record of the charge holds of it.

    Privacy: private: keep it out of backups. A value becomes public once the ledger has recorded it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.token = path, path.name.rpartition("-")[2]
        self._lock: int | None = None
        _ALL.add(self)
        with translated(path):
            self._lock = self._claimed()
            (path / _DRAFTS).mkdir(mode=0o700, exist_ok=True)
            files.sync(path.parent)

    @property
    def folder(self) -> SumsFolder:
        """The folder that it lies in."""
        return SumsFolder(self.path.parent, self.path.name)

    def mark(self, seq: int, digest: str) -> None:
        """Write down, durably, that the ledger had this record: one that does not know it was restored.

        Args:
            seq: number of the record.
            digest: its hash, hex.
        """
        with translated(self.path):
            folder, prefix = self.path.parent, self.path.name.removesuffix(self.token)
            earlier = [mark for mark, _ in self.folder.marks() if mark < seq]
            place = folder / f"{prefix}{seq}.mark"
            if not place.exists():
                self._publish(_MARK, digest, place)
            for mark in earlier:
                (folder / f"{prefix}{mark}.mark").unlink(missing_ok=True)

    def set_people(self, people: str) -> None:
        """Write down, before the charge, for whom it will be.

        Args:
            people: digest of their rows; a salt hides it.
        """
        with translated(self.path):
            salt = secrets.token_hex(16)
            self._publish(_PEOPLE, json.dumps([salt, _salted(salt, people)]), self.path / _PEOPLE)

    def is_of(self, people: str) -> bool:
        """Whether it was charged for these people; not if a kill came before ``set_people``.

        Args:
            people: digest of their rows.

        Privacy: private; whether the rows are the same is for the curator alone.
        """
        with translated(self.path):
            place = self.path / _PEOPLE
            if not place.exists():
                return False
            salt, known = json.loads(place.read_text())
        return bool(_salted(salt, people) == known)

    def settle(self, recorded: Mapping[str, str]) -> None:
        """Keep what the ledger recorded, and drop every other draft.

        Args:
            recorded: SHA-256, hex, by name of measurement.

        Raises:
            SumsError: A recorded value is not here.
            LedgerStale: A value has its place here, and the ledger has no record of it.
        """
        with translated(self.path):
            places = {self._place(name) for name in recorded}
            if any(_VALUE.fullmatch(file.name) and file not in places for file in self.path.iterdir()):
                raise LedgerStale(
                    "the ledger does not know a value that it had recorded: a backup was restored; put the "
                    "latest copy back"
                )
            (self.path / _DRAFTS / _ROOM).unlink(missing_ok=True)
            drafts = {files.sha256(draft): draft for draft in (self.path / _DRAFTS).iterdir()}
            for name, digest in recorded.items():
                place = self._place(name)
                if not place.exists() and digest in drafts:
                    files.publish(drafts.pop(digest), place)
                if not place.exists() or files.sha256(place) != digest:
                    raise SumsError(
                        f"{self.path.name}: the ledger has recorded the value of {name}, and the file of it "
                        "is not here, or was altered; no second one is drawn. Put the folder back, or give "
                        "the charge up: hushrec ledger forfeit"
                    )
            for draft in drafts.values():
                draft.unlink()

    def load(self, name: str) -> Arrays | None:
        """The recorded value of a measurement, after ``settle``; None if there is none."""
        with translated(self.path):
            place = self._place(name)
            return safetensors.numpy.load_file(place) if place.exists() else None

    def fixed(self, name: str, arrays: Arrays) -> Arrays:
        """Keep public arrays before sums are measured under them; return those that a fit kept before.

        Args:
            name: of what they are.
            arrays: made from released values.
        """
        with translated(self.path):
            place = self._place(name).with_suffix(_FIXED)
            if not place.exists():
                draft = self.path / _DRAFTS / secrets.token_hex(8)
                _save(arrays, draft)
                files.publish(draft, place)
            return safetensors.numpy.load_file(place)

    def hold(self, size: int) -> None:
        """Allocate room for a value before it is drawn, so that no full disk comes in between.

        Args:
            size: the most bytes of its arrays.

        Privacy: private; a size may count what the rows hold.
        """
        if not hasattr(os, "posix_fallocate"):  # macOS
            return
        with translated(self.path), open(self.path / _DRAFTS / _ROOM, "wb") as room:
            os.posix_fallocate(room.fileno(), 0, size + _HEADER)

    def keep(self, name: str, arrays: Arrays, record: Callable[[str], None]) -> None:
        """Write a value, have it recorded, and only then give it its place.

        Args:
            name: of the measurement.
            arrays: the value.
            record: records the SHA-256 of its file in the ledger, or refuses; then the value is not used, and
                its draft goes with the folder or when a fit goes on.
        """
        with translated(self.path):
            (self.path / _DRAFTS / _ROOM).unlink(missing_ok=True)
            draft = self.path / _DRAFTS / secrets.token_hex(8)
            _save(arrays, draft)
            files.sync(draft.parent)
        failpoint("after-draft")
        record(files.sha256(draft))  # if the answer is lost, the next run finds the draft
        failpoint("after-record")
        with translated(self.path):
            files.publish(draft, self._place(name))
        failpoint("after-keep")

    def hand_over(self, carried: Carried) -> str:
        """Write what the next release of the year takes over; it stays when the sums go.

        Returns:
            The SHA-256 of the file, hex, for the ledger.
        """
        with translated(self.path):
            draft = self.path / _DRAFTS / "carried"
            draft.touch(mode=0o600)
            carried.save(draft)
            files.sync(draft)
            digest = files.sha256(draft)
            files.publish(draft, self.path.with_name(self.path.name + _CARRIED))
        return digest

    def remove(self) -> None:
        """Remove the folder: its release is made, or its charge given up. The mark stays."""
        with translated(self.path):
            for inner in [each for each in self.path.iterdir() if each.name != _PEOPLE]:
                shutil.rmtree(inner) if inner.is_dir() else inner.unlink()
            # At once: as long as it is there, with its people, the same call writes the same file again.
            gone = self.path.rename(self.path.with_name(f"{_REMOVED}{self.token}"))
            shutil.rmtree(gone, ignore_errors=True)
            files.sync(self.path.parent)
            with contextlib.suppress(OSError):  # others are in it, or a mark
                self.path.parent.rmdir()
        self.close()

    def close(self) -> None:
        """Let go of the folder, so that another process can hold it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _publish(self, name: str, text: str, place: Path) -> None:
        """Write a file; what a kill leaves of it is dropped with the other drafts."""
        draft = self.path / _DRAFTS / name
        draft.touch(mode=0o600)
        draft.write_text(text)
        files.publish(draft, place)

    def _place(self, name: str) -> Path:
        return self.path / f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.safetensors"

    def _claimed(self) -> int:
        """Lock the folder; refuse one that another process holds, or just removed."""
        import fcntl  # imported here because not every system has it

        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock), self.path.stat()):
                    self._require_own()
                    return lock
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)
        raise _InUse(f"{self.path.name}: another process is using these sums; wait for it, or end it")

    def _require_own(self) -> None:
        if any(not _KNOWN.fullmatch(file.name) for file in self.path.iterdir()):
            raise SumsError(f"{self.path.name}: this folder contains other files; move them away")


class _InUse(SumsError):
    """Another process holds the folder."""


@contextlib.contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Translate the operating system's errors into hushrec's."""
    try:
        yield
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        cause = getattr(error, "strerror", None) or "a file of it cannot be read"
        raise SumsError(
            f"{folder.name}: no sums can be kept here ({cause}); make room, or name a folder of your own on "
            "a local disk with sums= (--sums), and try again"
        ) from error


def _save(arrays: Arrays, draft: Path) -> None:
    whole = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
    safetensors.numpy.save_file(whole, draft)
    draft.chmod(0o600)
    files.sync(draft)


def _salted(salt: str, digest: str) -> str:
    return hashlib.sha256(f"{salt} {digest}".encode()).hexdigest()


_ALL: weakref.WeakSet[ChargeSums] = weakref.WeakSet()


def _let_go() -> None:
    """In a forked child: it would share the lock, and hold the folder after its parent was killed."""
    for folder in _ALL:
        folder.close()


os.register_at_fork(after_in_child=_let_go)
