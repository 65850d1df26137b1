"""Signs a release, so that users can tell whose file it is."""

from pathlib import Path

from hushrec import files
from hushrec.errors import ReleaseError
from hushrec.release.artefact import LARGEST_FILE, Release
from hushrec.release.signing.attestation import PAYLOAD_TYPE, Attestation
from hushrec.release.signing.envelope import Envelope
from hushrec.release.signing.key_file import KeyFile
from hushrec.release.signing.keys import PrivateKey, grouped
from hushrec.release.signing.signature import SUFFIX, claimed


def sign(release: str | Path, key: str | Path, *, passphrase: str = "", version: int | None = None) -> Path:
    """Sign a release's file with the owner's private key.

    Ed25519 (RFC 8032, section 5.1) over a DSSE envelope of an in-toto statement: the SHA-256 of the file, the
    number of the release, the ledger's id and the statement of privacy.

    Args:
        release: the release's file.
        key: the owner's private key, as ``hushrec keys new`` writes it.
        passphrase: of the private key; "" if it has none.
        version: number of the release, by which clients refuse an older one: it may only grow. By default the
            number of its entry in the ledger that was charged.

    Returns:
        Path of the signature, ``NAME.dsse.json`` next to the release. One that lies there is replaced, unless
        its number is larger.

    Raises:
        ReleaseError: The file is not a release, the key cannot be used, or there is neither a number nor a
            ledger; the key file next to the key (``.pub``) says that it was replaced for this number; or the
            release is already signed with a larger number.

    Privacy: public; the private key is read, and written nowhere.
    """
    path = Path(release)
    if path.suffix in (".parquet", ".csv"):
        raise ReleaseError(
            f"{path} is a data set: only releases of models are signed; its readers check it by its ledger's "
            "history (hushrec ledger export and verify)"
        )
    data = files.read(path, ReleaseError, fix="name the release file itself", largest=LARGEST_FILE)
    text = files.read_text(Path(key), ReleaseError, fix="give the private key")
    statement = Release.from_bytes(data).statement
    number = statement.ledger.get("seq") if version is None else version
    if number is None:
        raise ReleaseError(
            "this release names no ledger, so it has no number by which users tell an older release: give "
            "one, larger than any before (version=, --version)"
        )
    attestation = Attestation.of(data, path.name, number, statement.ledger.get("id"), statement.to_json())
    private = PrivateKey.from_pem(text, passphrase)
    _require_present(private, Path(key).with_suffix(".pub"), number)
    beside = path.with_name(path.name + SUFFIX)
    _require_not_lower(data, beside, number)
    sealed = Envelope.sealed(PAYLOAD_TYPE, attestation.to_bytes(), private)
    files.write(beside, sealed.to_text(), ReleaseError, fix="sign a copy in a folder of your own")
    return beside


def _require_present(private: PrivateKey, public: Path, number: int) -> None:
    """Refuse a key whose key file says that another one signs releases of this number."""
    if not public.is_file():
        return
    keys = KeyFile.from_text(files.read_text(public, ReleaseError, fix="put the key file there again"))
    if private.public not in keys.keys:
        return
    later = keys.starts[keys.keys.index(private.public) + 1 :]
    if later and number >= later[0]:
        present = max(place for place, start in enumerate(keys.starts) if start <= number)
        raise ReleaseError(
            f"{public} says that this key was replaced from number {later[0]:,} on, so users refuse what it "
            f"signs as number {number:,}: sign with the present key, {grouped(keys.keys[present].id)}"
        )


def _require_not_lower(data: bytes, beside: Path, number: int) -> None:
    """Refuse to lower the number of a release that is signed already."""
    try:
        signed = claimed(data, beside.read_text("utf-8")).version
    except (OSError, UnicodeDecodeError, ReleaseError):
        return  # none, or not of this release
    if signed is not None and signed > number:
        raise ReleaseError(
            f"{beside} signs this release as number {signed:,} already, and users who saw that refuse number "
            f"{number:,}: give --version {signed} or a larger one; delete the file first if it is not yours"
        )
