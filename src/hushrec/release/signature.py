"""Signatures of releases by their owner's one key: Ed25519 (RFC 8032) over the SHA-256 of a file.

A public key is 32 bytes in base64, ``OWNER.pub``; a signature is 64 bytes in base64, ``RELEASE.sig`` next to
the release. ``cryptography`` is imported when a key is made, or a signature is made or checked.

Privacy: public; a private key is its owner's secret, and is shown nowhere.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hushrec import files
from hushrec.errors import ReleaseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SUFFIX = ".sig"
"""A signature lies next to its release, under the release's name with this added."""
_LARGEST = 1 << 14  # bytes of a key or a signature; chosen by hand
_KEY = re.compile(r"[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=")
"""The one base64 text of each 32 bytes."""
_SIGNATURE = re.compile(r"[A-Za-z0-9+/]{85}[AQgw]==")
"""The one base64 text of each 64 bytes."""


def new_key(path: str | Path, *, passphrase: str = "") -> str:
    """Make an owner's key pair: the private key, and the public key next to it as ``.pub``.

    Args:
        path: the private key to write (PEM, PKCS #8), for its owner alone to read.
        passphrase: to encrypt it by; "" leaves it in the clear.

    Returns:
        The public key, as its file holds it.

    Raises:
        ReleaseError: One of the files exists, or cannot be written, or ``cryptography`` is not installed.

    Privacy: public; the private key is written to its file alone.
    """
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise _missing_package() from None
    private = Path(path)
    public = private.with_suffix(".pub")
    fix = "choose another name"
    if private == public:
        raise ReleaseError(f"{path} is the name of a public key; {fix}, such as owner.key")
    for file in (private, public):
        if file.exists():
            raise ReleaseError(f"{file} exists, and a key is never replaced; {fix}")
    key = Ed25519PrivateKey.generate()
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase.encode())
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    text = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    files.write(
        private, key.private_bytes(*form, encryption).decode(), ReleaseError, fix=fix, mode=0o600, new=True
    )
    files.write(public, f"{text}\n", ReleaseError, fix=fix, mode=0o644, new=True)
    return text


def sign(release: str | Path, key: str | Path, *, passphrase: str = "") -> str:
    """Sign a release's file with the owner's private key: write ``RELEASE.sig``, or replace it.

    Ed25519 (RFC 8032, section 5.1) over a line ``hushrec release v1`` and the SHA-256 of the file in hex.

    Args:
        release: the release's file.
        key: the owner's private key, as ``new_key`` writes it.
        passphrase: of the private key; "" if it has none.

    Returns:
        The public key that checks it, as ``new_key`` returns it.

    Raises:
        ReleaseError: The file cannot be read, the key cannot be used, or the signature cannot be written.

    Privacy: public; the private key is read, and written nowhere.
    """
    path = Path(release)
    private = _private(Path(key), passphrase)
    with files.refusing(path, "read", ReleaseError, "name the release file itself"):
        digest = files.sha256(path)
    text = base64.b64encode(private.sign(_bytes_to_sign(digest))).decode()
    beside = path.with_name(path.name + SUFFIX)
    files.write(beside, f"{text}\n", ReleaseError, fix="sign a copy in a folder of your own")
    return base64.b64encode(private.public_key().public_bytes_raw()).decode()


def require_signed(data: bytes, path: Path, key: str | Path) -> str:
    """Refuse a release that the owner of a key did not sign.

    Args:
        data: the release's bytes; read the release from these, and not from the file again.
        path: where they were read; the signature lies next to it.
        key: the owner's public key, as ``public_key`` takes it.

    Returns:
        The public key.
    """
    public = public_key(key)
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise _missing_package() from None
    beside = path.with_name(path.name + SUFFIX)
    if not beside.is_file():
        raise ReleaseError(
            f"{path.name} is unsigned, and you gave a key to check it by: {beside.name} is missing; ask the "
            "owner for it, and do not use the release without"
        )
    fix = "give the release's signature"
    signature = files.read_text(beside, ReleaseError, fix=fix, largest=_LARGEST).strip()
    try:
        if not _SIGNATURE.fullmatch(signature):
            raise ValueError
        verifier = Ed25519PublicKey.from_public_bytes(base64.b64decode(public))
        verifier.verify(base64.b64decode(signature), _bytes_to_sign(hashlib.sha256(data).hexdigest()))
    except (InvalidSignature, ValueError):
        raise ReleaseError(
            f"{path.name} is not signed by this key: the file or its signature was altered, or is another "
            "owner's; do not use it, and fetch both again from the owner"
        ) from None
    return public


def public_key(key: str | Path) -> str:
    """A public key as text, from this text or from its file, which ``new_key`` writes as ``.pub``."""
    if _KEY.fullmatch(str(key)):
        return str(key)
    text = files.read_text(
        Path(key), ReleaseError, fix="give the owner's public key, a file or its text", largest=_LARGEST
    ).strip()
    if "PRIVATE KEY-----" in text:
        raise ReleaseError(
            f"{key} is a private key: give the public key, whose name ends in .pub, and show the private "
            "one to no one"
        )
    if not _KEY.fullmatch(text):
        raise ReleaseError(f"{key} holds no public key; give the owner's .pub file")
    return text


def is_encrypted(key: Path) -> bool:
    """Whether a private key needs a passphrase."""
    return "ENCRYPTED PRIVATE KEY-----" in _pem(key)


def _private(path: Path, passphrase: str) -> "Ed25519PrivateKey":
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise _missing_package() from None
    encrypted = is_encrypted(path)
    if encrypted and not passphrase:
        raise ReleaseError(f"{path} is encrypted: give its passphrase, in HUSHREC_KEY_PASSPHRASE")
    try:
        key = load_pem_private_key(_pem(path).encode(), passphrase.encode() if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            raise ReleaseError(f"the passphrase of {path} is wrong, or the file is damaged") from None
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ReleaseError(f"{path} is not a private key of Ed25519; give one that hushrec made")
    return key


def _pem(path: Path) -> str:
    return files.read_text(path, ReleaseError, fix="give the owner's private key", largest=_LARGEST)


def _bytes_to_sign(digest: str) -> bytes:
    """The bytes to sign for a file; their first line keeps the signature from meaning anything elsewhere."""
    return f"hushrec release v1\n{digest}".encode()


def _missing_package() -> ReleaseError:
    return ReleaseError("signatures need the package cryptography: pip install cryptography")
