"""Checkpoints: a fit that was killed goes on where it stopped, under the same charge and with the same noise.

Why a fit that went on promises what an uninterrupted one does:

1. Noise keys are HMAC(master key, commitment, measurement): a measurement made again is the same bits, so
   there is no second noise to compare with the first.
2. The commitment binds ratings, plan, ledger, slot and version and is part of every key, so that other
   ratings never meet the same noise; the ledger's record of the charge holds it too, and no other ledger
   takes it.
3. A released value is on disk before anything is made from it, and is from then on what every run is given.
4. The ledger takes one artefact a charge: of two runs, or of two copies of the folder, one publishes.
5. The master key never leaves the folder, and is overwritten once the release is published. So all that ever
   leaves the building has the joint law of one uninterrupted run.
"""

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from hushrec.errors import CheckpointError
from hushrec.privacy.checkpoint.folder import Folder
from hushrec.privacy.failpoints import failpoint

Fact = int | float | str

_KEY, _COMMITMENT = "key", "commitment"
_STATE = re.compile(r"[0-9a-f]{40}\.safetensors")
_KNOWN = re.compile(rf"{_KEY}|{_COMMITMENT}|{_STATE.pattern}")
_BYTES = 32


class State(NamedTuple):
    """What a checkpoint keeps under one name.

    Attributes:
        arrays: by name.
        facts: numbers and texts beside them.

    Privacy: private.
    """

    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Fact]


class Checkpoint:
    """A private folder from which one fit goes on: its noise key, its commitment, its named states.

    The folder is as private as the ratings: whoever has its key and the release takes the noise off again and
    has the exact sums. It is readable by its owner alone (0700); keep it out of backups. Deleting it gives
    the fit up. One process at a time holds it, until that process ends, however it ends.

    Args:
        folder: of its own, new or one that a fit left behind; on a local disk.

    Attributes:
        private: as for the operating system's entropy, from which the master key was drawn.

    Raises:
        CheckpointError: Another process holds it, it holds something else, or it cannot be made.

    Privacy: private.
    """

    private = True

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Folder(Path(folder).absolute(), _KNOWN)
        self._commitment, self._ledger = b"", ""
        try:
            self._master = self._key()
        except BaseException:
            self.close()
            raise

    @property
    def commitment(self) -> str:
        """What the ledger records of it, in hex: an HMAC, which tells nothing to those without the key.

        Raises:
            CheckpointError: It is not bound yet.

        Privacy: public.
        """
        return self._bound().hex()

    def bind(self, facts: Mapping[str, str], ledger: str = "") -> None:
        """Say what the fit is of: all that must be the same when it goes on.

        Args:
            facts: whatever decides which sums are measured, by the name that an error calls it.
            ledger: id of the ledger that is charged; bound to none, it is refused by every ledger.

        Raises:
            CheckpointError: It was bound to something else.

        Privacy: public; only HMACs are kept.
        """
        known = {**facts, "ledger": ledger}
        marks = {name: self._mac("fact", name, value).hex() for name, value in known.items()}
        text = json.dumps(marks, sort_keys=True).encode()
        with self._folder.translated():
            files = self._folder.files()
            if _COMMITMENT not in files:
                if any(map(_STATE.fullmatch, files)):
                    raise self._damaged()
                self._folder.write(_COMMITMENT, text)
                failpoint("after-bind")
            kept = (self._folder.path / _COMMITMENT).read_bytes()
        if kept != text:
            raise self._other(kept, marks)
        self._commitment, self._ledger = self._mac("commitment", text), ledger

    def commitment_to(self, ledger: str) -> str:
        """The commitment, for the ledger that it was bound to and for no other.

        The commitment, and so every key, depends on the ledger's id: charged to a second ledger, the same
        noise could meet other sums.

        Args:
            ledger: id of the ledger that is to be charged.

        Raises:
            CheckpointError: It is bound to another ledger, or to none.

        Privacy: public.
        """
        commitment = self.commitment
        if not ledger or ledger != self._ledger:
            raise CheckpointError(
                f"{self._folder.path.name}: this checkpoint is bound to another ledger, or to none; charge "
                "the one that it was started with, or delete the folder, which gives its charge up"
            )
        return commitment

    def key(self, name: str = "", purpose: str = "noise") -> bytes:
        """32 bytes, always the same for the same fit, name and purpose.

        Args:
            name: of a measurement; nothing is drawn without one here.
            purpose: what tells two keys of one measurement apart.

        Raises:
            CheckpointError: It is not bound yet, or no name was given.

        Privacy: private.
        """
        if not name:
            raise CheckpointError("ask a checkpoint for a key by the name of what is drawn from it")
        return self._mac("key", self._bound(), purpose, name)

    def key_for(self, name: str) -> bytes:
        """32 bytes for a model's own draws, independent of all that noise is drawn from.

        Privacy: private.
        """
        return self.key(name, "model")

    def keep(self, name: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Fact]) -> None:
        """Put a state on disk, whole or not at all, in place of the one of that name.

        Args:
            name: any; it is in no file's name.
            arrays: of numbers or booleans.
            facts: finite numbers and texts.

        Raises:
            CheckpointError: It could not be written; the one before is still there.

        Privacy: private.
        """
        whole = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
        text = json.dumps(dict(facts), sort_keys=True, allow_nan=False)
        about = {"facts": text, "tag": self._tag(name, whole, text)}
        with self._folder.translated():
            draft = self._folder.draft(_file(name))
            safetensors.numpy.save_file(whole, draft, about)
            draft.chmod(0o600)
            failpoint("inside-keep")
            self._folder.publish(draft.name)
        failpoint("after-keep")

    def recall(self, name: str) -> State | None:
        """The state that was kept under a name; None if there is none.

        Raises:
            CheckpointError: It was altered or cut short.

        Privacy: private.
        """
        self._bound()
        file = self._folder.path / _file(name)
        if not file.exists():
            return None
        try:
            with safetensors.safe_open(file, "np") as content:
                about = content.metadata() or {}
                arrays = {key: content.get_tensor(key) for key in content.keys()}  # noqa: SIM118
        except (safetensors.SafetensorError, OSError, ValueError) as error:
            raise self._damaged() from error
        text = about.get("facts", "")
        if not hmac.compare_digest(about.get("tag", "").encode(), self._tag(name, arrays, text).encode()):
            raise self._damaged()
        return State(arrays, json.loads(text))

    def drop(self, name: str) -> None:
        """Remove a state that no run will ask for again, if there is one.

        Privacy: public.
        """
        (self._folder.path / _file(name)).unlink(missing_ok=True)

    def forget(self) -> None:
        """Overwrite and remove the key, then all the rest: the release is published, or the fit given up.

        Privacy: public.
        """
        with self._folder.translated():
            self._folder.shred(_KEY)
            self._folder.remove()
        self._master = self._commitment = b""

    def close(self) -> None:
        """Let another process go on from here."""
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _key(self) -> bytes:
        """The master key; where there is none, a new one: ``forget`` removes it before all else."""
        with self._folder.translated():
            if _KEY not in self._folder.files():
                self._folder.clear()
                self._folder.write(_KEY, os.urandom(_BYTES))
                failpoint("after-key")
            master = (self._folder.path / _KEY).read_bytes()
        if len(master) != _BYTES:
            raise self._damaged()
        return master

    def _bound(self) -> bytes:
        if not (self._commitment and self._folder.open):
            raise CheckpointError("open a checkpoint and bind it to its fit before anything else")
        return self._commitment

    def _mac(self, *parts: str | bytes) -> bytes:
        return hmac.digest(self._master, b"".join(map(_framed, parts)), "sha256")

    def _tag(self, name: str, arrays: Mapping[str, NDArray[Any]], facts: str) -> str:
        tag = hmac.new(self._mac("state", self._bound(), name), _framed(facts), "sha256")
        for key in sorted(arrays):
            array = arrays[key]
            tag.update(b"".join(map(_framed, (key, array.dtype.str, repr(array.shape)))))
            tag.update(array.reshape(-1).view(np.uint8).data)
        return tag.hexdigest()

    def _other(self, kept: bytes, marks: Mapping[str, str]) -> CheckpointError:
        try:
            before = dict(json.loads(kept))
        except (ValueError, TypeError):
            return self._damaged()
        names = sorted(name for name in {*marks, *before} if before.get(name) != marks.get(name))
        if not names:
            return self._damaged()
        return CheckpointError(
            f"{self._folder.path.name}: this checkpoint belongs to a fit with other {' and '.join(names)}; "
            "fit with what it was started with, or delete the folder, which gives its charge up"
        )

    def _damaged(self) -> CheckpointError:
        return CheckpointError(
            f"{self._folder.path.name}: the checkpoint is damaged; delete the folder, which gives its charge "
            "up, and fit anew"
        )


def _file(name: str) -> str:
    return f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.safetensors"


def _framed(part: str | bytes) -> bytes:
    content = part.encode() if isinstance(part, str) else part
    return len(content).to_bytes(8, "big") + content
