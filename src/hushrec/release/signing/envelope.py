"""DSSE envelopes: one payload with its type and one signature (github.com/secure-systems-lab/dsse, v1.0)."""

import json
from dataclasses import dataclass
from typing import Self

from hushrec.errors import ReleaseError
from hushrec.release.signing.keys import PrivateKey, PublicKey, from_base64, to_base64
from hushrec.release.untrusted_json import parse, parsing, typed

LARGEST = 1 << 20
"""Largest envelope in bytes; a statement has a few thousand."""
_FIELDS = {"payloadType", "payload", "signatures"}
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A signed payload; nothing is checked but its form.

    Attributes:
        payload_type: what the payload is.
        payload: what is signed.
        key_id: of the key that is said to have signed it, 64 hex digits.
        signature: 64 bytes.
    """

    payload_type: str
    payload: bytes
    key_id: str
    signature: bytes

    @classmethod
    def sealed(cls, payload_type: str, payload: bytes, key: PrivateKey) -> Self:
        envelope = cls(payload_type, payload, key.public.id, key.sign(pae(payload_type, payload)))
        if len(envelope.to_text()) > LARGEST:
            raise ReleaseError("this statement is too large to be signed: its envelope would exceed 1 MiB")
        return envelope

    @classmethod
    def from_text(cls, text: str) -> Self:
        with parsing("this is not a signature file, or it is damaged; fetch it again"):
            if len(text) > LARGEST:
                raise ValueError
            fields = parse(text, strings=64, others=256)
            if set(fields) != _FIELDS:
                raise ValueError
            if (count := len(typed(fields["signatures"], list))) != 1:
                raise ReleaseError(
                    f"this signature file holds {count:,} signatures, and must hold one; ask the owner for "
                    "the file that hushrec keys sign wrote"
                )
            (signature,) = fields["signatures"]
            if set(signature) != {"keyid", "sig"}:
                raise ValueError
            envelope = cls(
                typed(fields["payloadType"], str),
                from_base64(typed(fields["payload"], str)),
                typed(signature["keyid"], str),
                from_base64(typed(signature["sig"], str)),
            )
            if not is_digest(envelope.key_id) or len(envelope.signature) != 64:
                raise ValueError
            return envelope

    def to_text(self) -> str:
        signature = {"keyid": self.key_id, "sig": to_base64(self.signature)}
        fields = {
            "payloadType": self.payload_type,
            "payload": to_base64(self.payload),
            "signatures": [signature],
        }
        return json.dumps(fields, separators=(",", ":")) + "\n"

    def is_by(self, key: PublicKey) -> bool:
        """Whether the signature is by a key, over the type and the payload."""
        return self.key_id == key.id and key.signed(self.signature, pae(self.payload_type, self.payload))


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes to sign: DSSE's pre-authentication encoding, which keeps type and payload apart."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def is_digest(text: object) -> bool:
    """Whether a text is a SHA-256 as 64 hex digits."""
    return isinstance(text, str) and len(text) == 64 and set(text) <= _HEX
