"""Signatures by keys of known numbers, and forgeries, which Python and JavaScript must refuse alike."""

import base64
import hashlib

DATA = b"a release, as bytes"


def private_key(number=0):
    """A private key, the same for the same number."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"%d" % number).digest())


def public_key(number=0):
    """The text of a public key."""
    return base64.b64encode(private_key(number).public_key().public_bytes_raw()).decode()


def signature(data=DATA, *, key=0, meaning="hushrec release v1"):
    """The text of a signature file."""
    signed = f"{meaning}\n{hashlib.sha256(data).hexdigest()}".encode()
    return base64.b64encode(private_key(key).sign(signed)).decode() + "\n"


KEY, TEXT = public_key(), signature()
FORGED = {
    "altered file": (DATA + b"\0", TEXT, KEY),
    "empty file": (b"", TEXT, KEY),
    "signature of another file": (DATA, signature(b"other"), KEY),
    "signature of something else": (DATA, signature(meaning="hushrec plan v1"), KEY),
    "another owner": (DATA, signature(key=7), KEY),
    "another key": (DATA, TEXT, public_key(7)),
    "a key that is no point": (DATA, TEXT, "A" * 42 + "I="),
    **{
        f"bit of byte {at}": (DATA, bent, KEY)
        for at, bent in enumerate(
            base64.b64encode(
                bytes(byte ^ (place == at) for place, byte in enumerate(base64.b64decode(TEXT)))
            ).decode()
            for at in range(64)
        )
    },
    "empty": (DATA, "", KEY),
    "truncated": (DATA, TEXT[:-6], KEY),
    "short": (DATA, base64.b64encode(bytes(63)).decode(), KEY),
    "long": (DATA, base64.b64encode(bytes(65)).decode(), KEY),
    "url-safe base64": (DATA, "_" * 86 + "==", KEY),
    "a blank inside": (DATA, TEXT[:8] + " " + TEXT[8:], KEY),
    "padding twice": (DATA, TEXT.strip() + "==", KEY),
    "bits in the padding": (DATA, TEXT[:85] + chr(ord(TEXT[85]) + 1) + "==", KEY),
    "two signatures": (DATA, TEXT + TEXT, KEY),
    "json": (DATA, "{}", KEY),
}
"""Data, signature file and public key."""
NO_KEYS = ("", "key", KEY[:-1], KEY[:-4], KEY.replace("=", "=="), "A" * 42 + "B=", "-" * 43 + "=", KEY + KEY)
"""Texts that are no public key."""
