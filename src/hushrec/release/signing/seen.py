"""The releases of an owner that a user's device has seen, so that it refuses an older one afterwards.

Privacy: public; the file says which releases a device has opened, and stays there.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hushrec import files
from hushrec.errors import ReleaseError
from hushrec.release.signing.attestation import is_version
from hushrec.release.signing.envelope import is_digest
from hushrec.release.untrusted_json import parse, parsing

_LARGEST = 1 << 16  # bytes; chosen by hand
_FIX = "name another file for what was seen"


@dataclass(frozen=True, slots=True)
class Seen:
    """The latest release that was verified.

    Attributes:
        chain: the owner's keys, as ``KeyFile.chain`` gives them.
        ledger: id of the ledger that was charged; None if it is not kept.
        version: the largest number of a release.
    """

    chain: tuple[str, ...]
    ledger: str | None
    version: int

    def after(self, chain: tuple[str, ...], ledger: str | None, version: int) -> Self:
        fix = "; if the owner says so, through a channel that you trust, delete what was seen and begin again"
        if chain[: len(self.chain)] != self.chain:
            raise ReleaseError(
                "this key file begins with another key than the one by which releases were verified before, "
                f"or lacks one of its rotations: do not use it{fix}"
            )
        if ledger != self.ledger:
            raise ReleaseError(
                f"this release is charged to ledger {ledger}, and those verified before to {self.ledger}: "
                f"their losses of privacy may not be added up{fix}"
            )
        if version < self.version:
            raise ReleaseError(
                f"this release has number {version:,}, and number {self.version:,} was verified before: it "
                "is an older release (a rollback); fetch the latest"
            )
        return type(self)(chain, ledger, version)

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """Read a file of what was seen; None if there is no file."""
        with files.refusing(path, "read", ReleaseError, _FIX):
            if not path.exists():
                return None
        data = files.read(path, ReleaseError, fix=_FIX, largest=_LARGEST)
        with parsing(
            f"{path} does not say what was seen, or is damaged; if you delete it, an older release is "
            "accepted once"
        ):
            fields = parse(data.decode(), strings=64, others=256)
            seen = cls(**{**fields, "chain": tuple(fields["chain"])})
            if not (seen.chain and all(map(is_digest, seen.chain)) and is_version(seen.version)):
                raise ValueError
            if not isinstance(seen.ledger, str | None):
                raise ValueError
            return seen

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        text = json.dumps({"chain": self.chain, "ledger": self.ledger, "version": self.version})
        files.write(path, text + "\n", ReleaseError, fix=_FIX)
