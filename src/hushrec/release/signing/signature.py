"""Whether a release is signed, and by whom: a file's bytes are checked by the key file that a user pins."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hushrec import files
from hushrec.errors import ReleaseError
from hushrec.release.signing import envelope as envelopes
from hushrec.release.signing import key_file as key_files
from hushrec.release.signing.attestation import PAYLOAD_TYPE, Attestation
from hushrec.release.signing.envelope import Envelope
from hushrec.release.signing.key_file import KeyFile
from hushrec.release.signing.keys import grouped
from hushrec.release.signing.seen import Seen

SUFFIX = ".dsse.json"
"""A signature lies next to its release, under the release's name with this added."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The state of a release's signature.

    Attributes:
        state: ``unsigned``; ``unchecked``, which anybody can write; or ``verified`` by a key of the user's.
        key_id: SHA-256 of the public key, hex.
        version: number of the release, which only grows.
        ledger: id of the ledger that was charged; None if it is not kept.
        chain: the keys by which it was verified, as ``KeyFile.chain`` gives them.
        problem: why an unchecked signature cannot be right; empty if it may be.
    """

    state: Literal["unsigned", "unchecked", "verified"] = "unsigned"
    key_id: str = ""
    version: int | None = None
    ledger: str | None = None
    chain: tuple[str, ...] = ()
    problem: str = ""

    @property
    def seen(self) -> Seen | None:
        """The state for the next check; None unless verified."""
        return Seen(self.chain, self.ledger, self.version or 0) if self.state == "verified" else None

    @property
    def brief(self) -> str:
        """The addition to a repr: nothing for the usual release, which is unsigned."""
        return {"unsigned": "", "unchecked": ", signature not checked"}.get(self.state, ", signed")

    def to_json(self) -> dict[str, Any]:
        values = {"state": self.state}
        if self.problem:
            return values | {"problem": self.problem}
        if self.state == "unsigned":
            return values
        return values | {"key_id": self.key_id, "version": self.version, "ledger": self.ledger}

    def __str__(self) -> str:
        if self.problem:
            return f"signature not checked: {self.problem}"
        if self.state == "unsigned":
            return "unsigned"
        checked = "checked" if self.state == "verified" else "not checked"
        return (
            f"signed by {grouped(self.key_id)} as number {self.version:,}, {checked} against a key of yours"
        )


UNSIGNED = Signature()


def verified(data: bytes, text: str, key: str, seen: Seen | None = None, name: str = "") -> Signature:
    """The signature of a release, checked.

    Args:
        data: the release's bytes; read the release from these, and not from the file again.
        key: the key file that the user pins.
        seen: the last release that was verified; None accepts any number.
        name: the release's present name, for the message of a refusal.
    """
    keys, envelope = KeyFile.from_text(key), _of_release(text)
    if not envelope.is_by(keys.find(envelope.key_id)):
        raise ReleaseError(
            "the signature is wrong: the signature file was altered or forged; do not use this release, and "
            "fetch it again from its owner"
        )
    attestation = Attestation.from_bytes(envelope.payload)
    _require_same(data, attestation, name)
    keys.require(envelope.key_id, attestation.version)
    if seen is not None:
        seen.after(keys.chain, attestation.ledger, attestation.version)
    return Signature("verified", envelope.key_id, attestation.version, attestation.ledger, keys.chain)


def claimed(data: bytes, text: str, name: str = "") -> Signature:
    """Read a signature file without a key to check it by: anyone can write this.

    Args:
        name: the release's present name, for the message of a refusal.
    """
    envelope = _of_release(text)
    attestation = Attestation.from_bytes(envelope.payload)
    _require_same(data, attestation, name)
    return Signature("unchecked", envelope.key_id, attestation.version, attestation.ledger)


def of_file(
    data: bytes,
    path: Path,
    *,
    key: str | Path | None = None,
    signature: str | Path | None = None,
    seen: str | Path | None = None,
) -> Signature:
    """The signature of a release's file, checked if there is a key, and what was seen brought up to date.

    Args:
        key: the owner's key file, as the user pins it.
        signature: the signature file; by default next to the release.
        seen: the file of what was seen; by default older releases are accepted.
    """
    beside = Path(signature) if signature is not None else path.with_name(path.name + SUFFIX)
    if key is None:
        if seen is not None:
            raise ReleaseError(
                "what was seen is kept of verified releases only: give the owner's key as well"
            )
        if signature is None and not beside.is_file():
            return UNSIGNED
        try:
            return claimed(data, _envelope(beside), path.name)
        except ReleaseError as error:
            return Signature("unchecked", problem=str(error))
    if not beside.is_file():
        raise ReleaseError(
            f"{path.name} is unsigned, and you gave a key to check it by: {beside.name} is missing; ask the "
            "owner for it, and do not use the release without"
        )
    last_seen = None if seen is None else Seen.open(Path(seen))
    pinned = files.read_text(
        Path(key), ReleaseError, fix="give the owner's key file", largest=key_files.LARGEST
    )
    checked = verified(data, _envelope(beside), pinned, last_seen, path.name)
    if seen is not None and checked.seen is not None and checked.seen != last_seen:
        checked.seen.save(Path(seen))
    return checked


def _envelope(path: Path) -> str:
    return files.read_text(path, ReleaseError, fix="give the release's signature", largest=envelopes.LARGEST)


def _of_release(text: str) -> Envelope:
    envelope = Envelope.from_text(text)
    if envelope.payload_type != PAYLOAD_TYPE:
        raise ReleaseError(
            "this is the signature of something else than a release; fetch the release's own, whose name "
            f"ends in {SUFFIX}"
        )
    return envelope


def _require_same(data: bytes, attestation: Attestation, name: str) -> None:
    if hashlib.sha256(data).hexdigest() == attestation.sha256:
        return
    if name and name != attestation.name:
        raise ReleaseError(
            f"this signature is of another file, {attestation.name!r}; fetch the one that belongs to {name}"
        )
    raise ReleaseError(
        f"this is not the file that was signed as {attestation.name!r}: it was altered, or the signature is "
        "of another one; do not use it, and fetch both again from its owner"
    )
