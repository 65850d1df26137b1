"""The key file that users pin: the owner's first public key, and every rotation to a later one.

The file is the PEM of the first key, followed by one DSSE envelope a line. Each is signed by the key that it
replaces, so users who pinned the first key need to trust no more than that.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Self

from hushrec.errors import ReleaseError
from hushrec.release.signing.attestation import is_version
from hushrec.release.signing.envelope import Envelope
from hushrec.release.signing.keys import PrivateKey, PublicKey, grouped
from hushrec.release.untrusted_json import parse, parsing

ROTATION_TYPE = "application/vnd.hushrec.rotation+json"
LARGEST = 1 << 16
"""Largest key file in bytes; a rotation has some 500."""

_END = "-----END PUBLIC KEY-----"
_BLANKS = " \t\r\n"


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The keys of one owner, oldest first.

    Attributes:
        keys: the first key, which users pin, and those that replaced it.
        starts: number of the first release that each key signs; 0 for the first.
        rotations: the envelopes of the rotations.
    """

    keys: tuple[PublicKey, ...]
    starts: tuple[int, ...] = (0,)
    rotations: tuple[Envelope, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> Self:
        if len(text) > LARGEST:
            raise ReleaseError("this is not a key file: it is too large")
        first, end, others = text.partition(_END)
        key_file = cls((PublicKey.from_pem(f"{first.rstrip(_BLANKS)}\n{_END}\n" if end else text),))
        for line in filter(None, (line.rstrip(_BLANKS) for line in others.split("\n"))):
            key_file = key_file._followed(Envelope.from_text(line))
        return key_file

    def to_text(self) -> str:
        return self.pinned.pem + "".join(rotation.to_text() for rotation in self.rotations)

    @property
    def pinned(self) -> PublicKey:
        """The first key, which users pin."""
        return self.keys[0]

    @property
    def chain(self) -> tuple[str, ...]:
        """The first key's id, and the SHA-256 of what each rotation says, hex: later files begin with it."""
        return (self.pinned.id, *(hashlib.sha256(turn.payload).hexdigest() for turn in self.rotations))

    def rotated(self, old: PrivateKey, new: PublicKey, from_version: int) -> Self:
        """The key file after a rotation.

        Args:
            old: the key in use.
            new: the key that replaces it.
            from_version: number of the first release that the new key signs; the old key's signatures of this
                and of later releases are refused.
        """
        fields = {"replaces": old.public.id, "public": new.pem, "from_version": from_version}
        payload = json.dumps(fields, separators=(",", ":")).encode()
        return self._followed(Envelope.sealed(ROTATION_TYPE, payload, old))

    def require(self, key_id: str, version: int) -> None:
        """Refuse a key that may not sign a release of this number."""
        place = [key.id for key in self.keys].index(key_id)
        if version < self.starts[place]:
            raise ReleaseError(
                f"this release has number {version:,}, and its key signs only from number "
                f"{self.starts[place]:,} on; ask the owner for a release that their key at the time signed"
            )
        if place + 1 < len(self.keys) and version >= self.starts[place + 1]:
            raise ReleaseError(
                f"this release has number {version:,}, and its key was replaced from number "
                f"{self.starts[place + 1]:,} on: it may be forged with the old key; ask the owner for one "
                "that their present key signed"
            )

    def find(self, key_id: str) -> PublicKey:
        for key in self.keys:
            if key.id == key_id:
                return key
        raise ReleaseError(
            f"this release is signed by another key, {grouped(key_id)}, and not by the owner's, "
            f"{grouped(self.keys[-1].id)}: do not use it; if the owner rotated their key, fetch their key "
            "file again"
        )

    def _followed(self, rotation: Envelope) -> Self:
        """With one more rotation, if it is right."""
        last = self.keys[-1]
        with parsing("a rotation in this key file is malformed; fetch the file again"):
            if rotation.payload_type != ROTATION_TYPE:
                raise ValueError
            if not rotation.is_by(last):
                raise ReleaseError(
                    "a rotation in this key file is not signed by the key that it replaces: do not use the "
                    "file; fetch it again where you got the owner's first key"
                )
            fields = parse(rotation.payload.decode(), strings=64, others=256)
            if set(fields) != {"replaces", "public", "from_version"} or fields["replaces"] != last.id:
                raise ValueError
            if not is_version(fields["from_version"]) or not isinstance(fields["public"], str):
                raise ValueError
        new, start = PublicKey.from_pem(fields["public"]), fields["from_version"]
        if new in self.keys or start < self.starts[-1]:
            raise ReleaseError(
                "a rotation leads back to a key that was replaced, or begins before the last one; rotate to "
                "a key of its own, from a later number on"
            )
        return type(self)((*self.keys, new), (*self.starts, start), (*self.rotations, rotation))
