"""The page that a folder holds, whose readers remember its key and the number of its release.

Privacy: public.
"""

import json
from pathlib import Path

from hushrec.errors import ReleaseError
from hushrec.release.signing.attestation import Attestation
from hushrec.release.signing.envelope import Envelope
from hushrec.release.signing.key_file import KeyFile
from hushrec.release.signing.signature import SUFFIX

__all__ = ["conflict"]


def conflict(folder: Path, release: Path, key: str | None) -> str | None:
    """Why readers of the page in a folder will refuse the page of a release in its place, and what to do.

    Args:
        folder: may hold an earlier page.
        release: the file; its signature lies beside.
        key: the key file of the page to come.

    Returns:
        One sentence; None if they will not, or if there is no earlier page that was checked by a key.

    Privacy: public.
    """
    try:
        contents = json.loads((folder / "contents.json").read_text("utf-8"))
        old_keys = KeyFile.from_text((folder / contents["key"]).read_text("utf-8"))
        before = _said(folder / contents["release"])
    except (OSError, ValueError, KeyError, TypeError, ReleaseError):
        return None
    begin = "all readers of the page in this folder will refuse this one: "
    if key is None:
        return f"{begin}it has no key, and theirs has one; give --key"
    new_keys = KeyFile.from_text(key)
    if new_keys.chain[: len(old_keys.chain)] != old_keys.chain:
        return (
            f"{begin}its key is another one, and not a rotation of theirs; rotate the key with hushrec keys "
            "rotate, or tell readers that they may trust the new one"
        )
    now = _said(release)
    if now.ledger == before.ledger and now.version < before.version:
        return (
            f"{begin}its release has number {now.version:,}, and theirs {before.version:,}; write the page "
            "of the latest release"
        )
    return None


def _said(release: Path) -> Attestation:
    """What the signature of a release says of it."""
    text = release.with_name(release.name + SUFFIX).read_text("utf-8")
    return Attestation.from_bytes(Envelope.from_text(text).payload)
