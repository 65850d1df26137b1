"""Checkpoints: a killed fit resumes where it stopped, under the same charge and with the same noise.

Why a resumed fit has the same guarantee as an uninterrupted one:

1. Noise keys are HMAC(master key, commitment, measurement). A repeated measurement gives the same bits, so
   there is no second noise to compare with the first.
2. The commitment binds ratings, plan, ledger, release index and version, and is part of every key. So other
   ratings never get the same noise. The ledger's record of the charge holds the commitment too, and no other
   ledger accepts it.
3. A released value is on disk before anything is computed from it, and every later run gets this value.
4. The ledger accepts one artefact per charge: of two runs, or two copies of the folder, only one publishes.
5. The master key never leaves the folder, and is overwritten once the release is published. So everything
   that is published has the joint distribution of one uninterrupted run.
"""

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from hushrec.errors import CheckpointError
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.bounded import Noisy, NoisyMatrix
from hushrec.privacy.checkpoint.folder import Folder, Holder
from hushrec.privacy.confined import Confined
from hushrec.privacy.failpoints import failpoint

Fact = int | float | str

_KEY, _COMMITMENT, _CHARGED = "key", "commitment", "charged"
_STATE = re.compile(r"[0-9a-f]{40}\.safetensors")
_KNOWN = re.compile(rf"{_KEY}|{_COMMITMENT}|{_CHARGED}|{_STATE.pattern}")
_BYTES = 32  # length of the key of an HMAC-SHA-256


class State(NamedTuple):
    """The values that a checkpoint keeps under one name.

    Attributes:
        arrays: arrays by name.
        facts: numbers and texts by name.

    Privacy: private.
    """

    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Fact]


class Checkpoint(Confined, Holder):
    """A private folder from which one fit resumes: its noise key, its commitment and its released values.

    The folder is as private as the ratings: anyone with its key and the release can subtract the noise and
    get the exact sums. Only its owner can read it (0700); keep it out of backups. Deleting it abandons the
    fit. One process at a time holds it, until that process ends for any reason.

    Args:
        folder: a dedicated folder on a local disk, new or left by an earlier run of the fit.

    Attributes:
        private: True: the master key comes from the operating system's entropy.

    Privacy: private.
    """

    private = True

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(Folder(Path(folder).absolute(), _KNOWN))
        self._commitment, self._ledger = b"", ""
        try:
            self._master = self._key()
        except BaseException:
            self.close()
            raise

    @property
    def commitment(self) -> str:
        """The ledger's record of it, in hex: an HMAC, which reveals nothing without the key.

        Privacy: public.
        """
        return self._bound().hex()

    @property
    def resumed(self) -> str:
        """The commitment of the fit that an earlier run bound this folder to; empty for a new folder.

        Privacy: public.
        """
        with self._folder.translated():
            if _COMMITMENT not in self._folder.files():
                return ""
            kept = (self._folder.path / _COMMITMENT).read_bytes()
        return _mark(self._master, kept).hex()

    def knows(self, name: str, value: str) -> bool:
        """Whether an earlier run bound this folder to a fit with this fact.

        Args:
            name: the fact's name, as for ``bind``.
            value: what it is now.

        Privacy: public; whether the ratings are the same is for the curator alone.
        """
        if not self.resumed:
            return False
        try:
            marks = dict(json.loads((self._folder.path / _COMMITMENT).read_bytes()))
        except (ValueError, TypeError):
            raise self._damaged() from None
        return bool(marks.get(name) == self._mac("fact", name, value).hex())

    @property
    def charged(self) -> bool:
        """Whether its fit was charged: it has the mark, or released values, which come after it.

        Privacy: public.
        """
        files = self._folder.files()
        return _CHARGED in files or any(map(_STATE.fullmatch, files))

    def mark_charged(self) -> None:
        """Write down, durably, that its fit was charged. Call it before any noise is drawn.

        Privacy: public.
        """
        self._bound()
        with self._folder.translated():
            self._folder.write(_CHARGED, b"")
        failpoint("after-mark")

    def bind(self, facts: Mapping[str, str], ledger: str = "") -> None:
        """Bind the checkpoint to its fit: to everything that must be the same when it resumes.

        Args:
            facts: everything that determines the measured sums, under the name that an error shows.
            ledger: id of the ledger that is charged. Without one, every ledger refuses the checkpoint.

        Privacy: public; only HMACs are kept.
        """
        bound_facts = {**facts, "ledger": ledger}
        marks = {name: self._mac("fact", name, value).hex() for name, value in bound_facts.items()}
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
        self._commitment, self._ledger = _mark(self._master, text), ledger

    def commitment_to(self, ledger: str) -> str:
        """The commitment, given only to the ledger that the checkpoint is bound to.

        The commitment, and so every key, depends on the ledger's id. Under a second ledger, the same noise
        could be added to other sums.

        Args:
            ledger: id of the ledger that will be charged.

        Privacy: public.
        """
        commitment = self.commitment
        if not ledger or ledger != self._ledger:
            raise CheckpointError(
                f"{self._folder.path.name}: this checkpoint is bound to another ledger, or to none; charge "
                "the one that it was started with, or delete the folder, which abandons its charge"
            )
        return commitment

    def key(self, name: str = "", purpose: str = "noise") -> bytes:
        """32 bytes, always the same for the same fit, name and purpose.

        Args:
            name: name of the measurement; required here, except for values of several measurements.
            purpose: distinguishes several keys of one measurement.

        Privacy: private.
        """
        if not name and purpose == "noise":
            raise CheckpointError("a key of a checkpoint needs a name; give the name of the measurement")
        return self._mac("key", self._bound(), purpose, name)

    def save_state(self, name: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Fact]) -> None:
        """Store a state on disk atomically, replacing the one of that name.

        Args:
            name: any text; it does not appear in file names.
            arrays: arrays of numbers or booleans.
            facts: finite numbers and texts.

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

    def load_state(self, name: str) -> State | None:
        """The state stored under a name; None if there is none.

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

    def forget(self) -> None:
        """Overwrite and remove the key, then everything else: the release is published, or the fit abandoned.

        Privacy: public.
        """
        with self._folder.translated():
            self._folder.shred(_KEY)
            self._folder.remove()
        self._master = self._commitment = b""

    def _key(self) -> bytes:
        """The master key, new if there is none. ``forget`` removes it before everything else."""
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
            raise CheckpointError(
                "this checkpoint is not open and bound; open it and bind it to its fit first"
            )
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
            "fit with what it was started with, or delete the folder, which abandons its charge"
        )

    def _damaged(self) -> CheckpointError:
        return CheckpointError(
            f"{self._folder.path.name}: the checkpoint is damaged; delete the folder, which abandons its "
            "charge, and fit again"
        )


def mark_of(folder: Path) -> str:
    """The commitment of the fit that a folder is bound to, without holding the folder; empty without one.

    Args:
        folder: of a checkpoint, which a process may be using.
    """
    try:
        master, kept = (folder / _KEY).read_bytes(), (folder / _COMMITMENT).read_bytes()
    except OSError:  # not bound yet, or just removed
        return ""
    return _mark(master, kept).hex()


def _mark(master: bytes, kept: bytes) -> bytes:
    return hmac.digest(master, _framed("commitment") + _framed(kept), "sha256")


def _file(name: str) -> str:
    return f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.safetensors"


def _framed(part: str | bytes) -> bytes:
    content = part.encode() if isinstance(part, str) else part
    return len(content).to_bytes(8, "big") + content


_PREFIX = "released: "


def save(checkpoint: Checkpoint, noisy: Noisy | NoisyMatrix) -> None:
    """Store a released value on disk.

    Privacy: the value is public; its folder is private.
    """
    arrays: dict[str, NDArray[Any]] = {"values": noisy.values}
    facts: dict[str, Fact] = {"sigma": noisy.sigma, "step": noisy.step}
    if isinstance(noisy, NoisyMatrix):
        rows, columns = noisy.shape
        arrays |= {"indptr": noisy.indptr, "columns": noisy.columns}
        facts |= {"rows": rows, "columns": columns}
    checkpoint.save_state(_PREFIX + noisy.name, arrays, facts)


def load(checkpoint: Checkpoint, event: Event) -> Noisy | NoisyMatrix | None:
    """The value that was released for an event, or None if it is not on disk.

    Privacy: charged (``event``).
    """
    state = checkpoint.load_state(_PREFIX + event.name)
    if state is None:
        return None
    arrays, facts = state.arrays, state.facts
    sigma, step = float(facts["sigma"]), float(facts["step"])
    if "indptr" not in arrays:
        return Noisy(event.name, arrays["values"], sigma, step, event)
    shape = cast(int, facts["rows"]), cast(int, facts["columns"])
    parts = arrays["indptr"], arrays["columns"], arrays["values"]
    return NoisyMatrix(event.name, shape, *parts, sigma, step, event)
