"""The signed content: an in-toto statement (v1) of a release's digest, number, ledger and promise."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hushrec.errors import ReleaseError
from hushrec.release.signing.envelope import is_digest
from hushrec.release.untrusted_json import parse, parsing

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:hushrec:release:1"
LARGEST_VERSION = 2**53 - 1
"""The largest integer that JavaScript's numbers hold exactly."""
_LONGEST = 1024  # characters of a text; chosen by hand


@dataclass(frozen=True, slots=True)
class Attestation:
    """An owner's statement about one file.

    Attributes:
        name: the file's name when it was signed; it may be renamed.
        sha256: of the file's bytes, hex.
        version: number of the release; a later release has a larger one.
        ledger: id of the ledger that was charged; None if it is not kept.
        statement: the statement of privacy as JSON values.
    """

    name: str
    sha256: str
    version: int
    ledger: str | None
    statement: Mapping[str, Any]

    @classmethod
    def of(
        cls, data: bytes, name: str, version: int, ledger: str | None, statement: Mapping[str, Any]
    ) -> Self:
        attestation = cls(name, hashlib.sha256(data).hexdigest(), version, ledger, statement)
        if not attestation._is_valid():
            raise ReleaseError(
                "the file's name is not printable or too long, or the number of the release is not between 0 "
                "and 2^53 - 1"
            )
        return attestation

    def to_bytes(self) -> bytes:
        fields = {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": self.name, "digest": {"sha256": self.sha256}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "version": self.version,
                "ledger": self.ledger,
                "statement": dict(self.statement),
            },
        }
        return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        with parsing("what this signature is of is malformed; ask the owner to sign the release again"):
            fields = parse(payload.decode())
            if set(fields) != {"_type", "subject", "predicateType", "predicate"}:
                raise ValueError
            if (fields["_type"], fields["predicateType"]) != (STATEMENT_TYPE, PREDICATE_TYPE):
                raise ReleaseError(
                    "this is the signature of something else than a release, or of a later version of "
                    "hushrec; fetch the release's own, or upgrade hushrec"
                )
            (subject,) = fields["subject"]
            if set(subject) != {"name", "digest"} or set(subject["digest"]) != {"sha256"}:
                raise ValueError
            predicate = fields["predicate"]
            if set(predicate) != {"version", "ledger", "statement"}:
                raise ValueError
            attestation = cls(subject["name"], subject["digest"]["sha256"], **predicate)
            if not attestation._is_valid():
                raise ValueError
            return attestation

    def _is_valid(self) -> bool:
        return (
            _is_text(self.name)
            and is_digest(self.sha256)
            and is_version(self.version)
            and (self.ledger is None or _is_text(self.ledger))
            and isinstance(self.statement, dict)
        )


def is_version(value: object) -> bool:
    """Whether a value can be the number of a release."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_VERSION


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= _LONGEST and value.isprintable()
