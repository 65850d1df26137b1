"""The releases of a folder, each opened and checked before anybody can fetch it."""

import errno
import hashlib
import json
import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hushrec.errors import ReleaseError
from hushrec.escapes import escaped
from hushrec.pages.statement_page import statement_html
from hushrec.release.artefact import LARGEST_FILE, Release
from hushrec.release.signing.envelope import LARGEST as LARGEST_SIGNATURE
from hushrec.release.signing.key_file import KeyFile
from hushrec.release.signing.signature import SUFFIX, claimed, verified
from hushrec.service.answers import History, ReleaseFacts
from hushrec.service.stored import FOREVER, Stored

ENDING = ".safetensors"
_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})
"""What keeps the system from reading any file, for a while."""

_log = logging.getLogger("hushrec.service")

Print = tuple[str, int, int, int]
"""Name, size, time of change and number of a file: the same as long as the file is."""


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """One release with all that is served of it; its arrays are not kept.

    Attributes:
        path: its file.
        facts: what is told of it.
        file: its bytes.
        signature: its DSSE envelope, if it is signed.
        statement: its statement of privacy as JSON.
        statement_page: the same as a page.
        promise: the statement's sentence.

    Privacy: public.
    """

    path: Path
    facts: ReleaseFacts
    file: Stored
    signature: Stored | None
    statement: Stored
    statement_page: Stored
    promise: str


class PublicReleases:
    """The releases of one folder, which are of one ledger.

    Args:
        folder: what is served.
        key: the owner's key file, as text: releases that it does not verify are left out. Without it, a
            signature must only be of the file that it lies beside.

    Attributes:
        history: newest first.
        left_out: files that look like releases and are not served.
        hindered: whether the system had no room for a file, such as in a full ``/tmp``: it is opened again.
    """

    def __init__(self, folder: Path, key: str | None = None) -> None:
        self.folder, self.key = folder, key
        if key is not None:
            KeyFile.from_text(key)  # refuses a malformed one
        self.history: tuple[Published, ...] = ()
        self.left_out, self.hindered = 0, False
        self._opened: dict[tuple[Print, ...], Published | None] = {}
        self._highest = 0
        self._read()

    @property
    def latest(self) -> Published | None:
        """The release of the highest version."""
        return self.history[0] if self.history else None

    def find(self, sha256: str) -> Published | None:
        """The release of a digest."""
        return next((one for one in self.history if one.facts.sha256 == sha256), None)

    def facts(self) -> History:
        """What is told of all of them."""
        return History(releases=[one.facts for one in self.history])

    def read_again(self) -> bool:
        """Open what came since the last time, and forget what went.

        Returns:
            Whether anything is different.
        """
        before = self.history
        self._read()
        return before != self.history

    def _read(self) -> None:
        before, self._passing = self.latest, set[tuple[Print, ...]]()
        opened: dict[tuple[Print, ...], Published | None] = {}
        for path, prints in _files(self.folder):
            opened[prints] = self._opened[prints] if prints in self._opened else self._checked(path, prints)
        found = {one.facts.sha256: one for one in opened.values() if one is not None}
        ledgers = {one.facts.ledger for one in found.values()}
        if len(ledgers) > 1 and not self.history:
            raise ReleaseError(
                f"{self.folder} holds releases of {len(ledgers)} ledgers; give each ledger a folder, and a "
                "service, of its own"
            )
        ours = self.history[0].facts.ledger if self.history else next(iter(ledgers), None)
        for prints, one in opened.items():
            if one is not None and one.facts.ledger != ours and prints not in self._opened:
                _log.warning("%s is not served: it is of another ledger", escaped(one.path.name))
        kept = [one for one in found.values() if one.facts.ledger == ours]
        kept.sort(key=lambda one: (one.facts.version, one.facts.sha256), reverse=True)
        self.history, self.hindered = tuple(kept), bool(self._passing)
        self._opened = {prints: one for prints, one in opened.items() if prints not in self._passing}
        self.left_out = len(opened) - len(kept)
        if self.latest is not None and self.latest is not before:
            self._compare(self.latest.facts.version)

    def _compare(self, latest: int) -> None:
        """Say that the latest release is older than one served before: devices refuse to go back."""
        if latest < self._highest:
            _log.warning(
                "the latest release has number %d, below number %d that was served before: devices that saw "
                "it refuse this one; put it back, or sign this one with a larger number",
                latest,
                self._highest,
            )
        self._highest = max(self._highest, latest)

    def _checked(self, path: Path, prints: tuple[Print, ...]) -> Published | None:
        """What is served of a file; None if it is left out, which the log then says."""
        try:
            return _published(path, self.key)
        except ReleaseError as error:
            told = str(error)
        except (OSError, MemoryError) as error:  # not of the file: it is opened again at the next look
            self._passing.add(prints)
            told = f"{named(error)}; it is opened again at the next look"
        except Exception as error:  # whatever one file does, the others are served
            told = f"it cannot be checked ({named(error)})"
        _log.warning("%s is not served: %s", escaped(path.name), told)
        return None


def _published(path: Path, key: str | None) -> Published:
    data = _content(path, LARGEST_FILE)
    release = Release.from_bytes(data)
    if release.statement.caveat.startswith("NOT PRIVATE"):
        raise ReleaseError(f"it promises nothing. {release.statement.caveat}")
    beside = path.with_name(path.name + SUFFIX)
    envelope = _content(beside, LARGEST_SIGNATURE) if os.path.lexists(beside) else None
    version = _version(data, envelope, key, path.name)
    sha256 = hashlib.sha256(data).hexdigest()
    statement = release.statement
    facts = ReleaseFacts(
        sha256=sha256,
        version=int(statement.ledger.get("seq", 0)) if version is None else version,
        ledger=statement.ledger.get("id"),
        bytes=len(data),
        model=release.model,
        feedback=release.feedback,
        items=len(release.items),
        unit=statement.unit,
        adjacency=statement.adjacency,
        epsilon=statement.to_json()["epsilon"],
        delta=statement.delta,
        url=f"/releases/{sha256}.safetensors",
        signature=None if envelope is None else f"/releases/{sha256}.safetensors{SUFFIX}",
        statement=f"/statements/{sha256}.json",
        statement_page=f"/statements/{sha256}.html",
    )
    page = statement_html(release, "/statement.css", home="/", icon="/icon.svg")
    told = json.dumps(statement.to_json(), allow_nan=False)
    return Published(
        path=path,
        facts=facts,
        file=Stored.of(data, "application/octet-stream", FOREVER),
        signature=None if envelope is None else Stored.of(envelope, "application/json"),
        statement=Stored.of(told.encode(), "application/json", FOREVER),
        statement_page=Stored.of(page.encode(), "text/html; charset=utf-8"),
        promise=statement.sentence,
    )


def _version(data: bytes, envelope: bytes | None, key: str | None, name: str) -> int | None:
    """The number that the owner signed; None without a signature, if none is asked for."""
    if envelope is None:
        if key is None:
            return None
        raise ReleaseError(
            f"it is unsigned: sign it, or serve without --key; its signature is {name}{SUFFIX}"
        )
    try:
        text = envelope.decode()
    except UnicodeDecodeError:
        raise ReleaseError("its signature is not text; sign it again") from None
    signed = claimed(data, text, name) if key is None else verified(data, text, key, name=name)
    return signed.version


def named(error: BaseException) -> str:
    """An error by its type and what the system says of it: nothing of a file's content."""
    return f"{type(error).__name__}: {error.strerror}" if isinstance(error, OSError) else type(error).__name__


def _files(folder: Path) -> Iterator[tuple[Path, tuple[Print, ...]]]:
    """Every file that looks like a release, with prints of it and of its signature."""
    try:
        names = sorted(path for path in folder.iterdir() if path.name.endswith(ENDING))
    except OSError as error:
        raise ReleaseError(
            f"{folder} cannot be read: {error.strerror}; give the folder of the releases"
        ) from None
    for path in names:
        prints = [_print(path), _print(path.with_name(path.name + SUFFIX))]
        yield path, tuple(found for found in prints if found is not None)


def _print(path: Path) -> Print | None:
    try:
        facts = path.lstat()
    except OSError:
        return None
    return path.name, facts.st_size, facts.st_mtime_ns, facts.st_ino


def _content(path: Path, largest: int) -> bytes:
    """The bytes of a regular file in the folder itself: no link leads out of it.

    Raises:
        ReleaseError: It is anything else, too large, or cannot be read.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            facts = os.fstat(number)
            if not stat.S_ISREG(facts.st_mode):
                raise ReleaseError("it is not a file")
            if facts.st_size > largest:
                raise ReleaseError("it is larger than any release may be")
            return file.read()
    except OSError as error:
        if error.errno in _PASSING:
            raise
        told = "it is a link; put the file itself there" if path.is_symlink() else f"{error.strerror}"
        raise ReleaseError(told) from None
