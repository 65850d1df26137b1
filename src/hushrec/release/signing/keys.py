"""Ed25519 keys (RFC 8032) as PEM: public as SPKI, private as PKCS #8.

Privacy: public; a private key is the owner's secret, and is shown nowhere.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from hushrec.errors import ReleaseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SPKI = bytes.fromhex("302a300506032b6570032100")
"""The bytes before the 32 bytes of the key in its SPKI encoding (RFC 8410)."""
_LENGTH = 32  # bytes of an Ed25519 key (RFC 8032)
_PEM = re.compile(r"-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=\n]{1,4096})\n-----END PUBLIC KEY-----\n?")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key, by which a signature is checked.

    Attributes:
        raw: the 32 bytes of the key.
    """

    raw: bytes

    @classmethod
    def from_pem(cls, text: str) -> Self:
        text = text.replace("\r\n", "\n")
        if "PRIVATE KEY-----" in text:
            raise ReleaseError(
                "this is a private key: give the public key, whose name ends in .pub, and show the private "
                "one to no one"
            )
        match = _PEM.fullmatch(text)
        der = from_base64(match[1].replace("\n", "")) if match else b""
        if not match:
            raise ReleaseError("this is not a public key; give the file that hushrec keys new wrote as .pub")
        if len(der) != len(_SPKI) + _LENGTH or not der.startswith(_SPKI):
            raise ReleaseError("this public key is not of Ed25519; make one with hushrec keys new")
        return cls(der[len(_SPKI) :])

    @property
    def der(self) -> bytes:
        return _SPKI + self.raw

    @property
    def pem(self) -> str:
        return f"-----BEGIN PUBLIC KEY-----\n{to_base64(self.der)}\n-----END PUBLIC KEY-----\n"

    @property
    def id(self) -> str:
        return hashlib.sha256(self.der).hexdigest()

    def signed(self, signature: bytes, message: bytes) -> bool:
        """Whether a signature of a message is by this key.

        Raises:
            ReleaseError: ``cryptography`` is not installed.
        """
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError:
            raise _missing() from None
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class PrivateKey:
    """A private key, by which its owner signs.

    Args:
        key: the key of ``cryptography``.
    """

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key

    def __repr__(self) -> str:
        return f"PrivateKey({grouped(self.public.id)})"

    @classmethod
    def new(cls) -> Self:
        """A key from the operating system's entropy.

        Raises:
            ReleaseError: ``cryptography`` is not installed.
        """
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        except ImportError:
            raise _missing() from None
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, text: str, passphrase: str = "") -> Self:
        """The key in a PEM file.

        Args:
            text: the file's text.
            passphrase: by which it is encrypted; "" if it is not.
        """
        try:
            from cryptography.exceptions import UnsupportedAlgorithm
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
        except ImportError:
            raise _missing() from None
        wrong = "not a private key of Ed25519; give the .key file that hushrec keys new wrote"
        if "PUBLIC KEY-----" in text:
            raise ReleaseError(f"this is a public key, {wrong}")
        encrypted = is_encrypted(text)
        if encrypted and not passphrase:
            raise ReleaseError("this key is encrypted: give its passphrase, in HUSHREC_KEY_PASSPHRASE")
        try:
            key = load_pem_private_key(text.encode(), passphrase.encode() if encrypted else None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            if encrypted:
                raise ReleaseError("the passphrase is wrong, or the key file is damaged") from None
            raise ReleaseError(f"this is {wrong}") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ReleaseError(f"this is {wrong}")
        return cls(key)

    def to_pem(self, passphrase: str = "") -> str:
        """The key as a PEM file.

        Args:
            passphrase: to encrypt it by; "" leaves it in the clear.
        """
        from cryptography.hazmat.primitives import serialization

        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if passphrase:
            encryption = serialization.BestAvailableEncryption(passphrase.encode())
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return self._key.private_bytes(*form, encryption).decode()

    @property
    def public(self) -> PublicKey:
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, 64 bytes."""
        return self._key.sign(message)


def is_encrypted(text: str) -> bool:
    """Whether a private key in PEM needs a passphrase."""
    return "ENCRYPTED PRIVATE KEY-----" in text


def grouped(key_id: str) -> str:
    """A key's id in groups of eight, which people can compare."""
    return " ".join(key_id[at : at + 8] for at in range(0, len(key_id), 8))


def to_base64(data: bytes) -> str:
    """Base64 of RFC 4648, section 4."""
    return base64.b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """The bytes of a base64 text in its one canonical form."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data or to_base64(data) != text:
        raise ReleaseError("a signature or key holds text that is not canonical base64; fetch it again")
    return data


def _missing() -> ReleaseError:
    return ReleaseError("signatures need the package cryptography: pip install cryptography")
