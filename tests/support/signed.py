"""Signed bytes, and forgeries of their signatures."""

import base64
import hashlib
import json

from hushrec.release.signing.attestation import PAYLOAD_TYPE, Attestation
from hushrec.release.signing.envelope import Envelope
from hushrec.release.signing.key_file import KeyFile
from hushrec.release.signing.keys import PrivateKey

DATA = b"a release, as bytes"
LEDGER = "9f" * 16


def private_key(number=0):
    """A private key, the same for the same number."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return PrivateKey(Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"%d" % number).digest()))


def key_file(*rotations, first=0):
    """The text of a key file: key ``first``, then (number, from_version) for each rotation."""
    keys, last = KeyFile((private_key(first).public,)), private_key(first)
    for number, start in rotations:
        keys, last = keys.rotated(last, private_key(number).public, start), private_key(number)
    return keys.to_text()


def signature(data=DATA, version=3, *, key=0, ledger=LEDGER, name="films.safetensors", statement=None):
    """The text of a signature file."""
    said = Attestation.of(data, name, version, ledger, statement or {"unit": "user"})
    return Envelope.sealed(PAYLOAD_TYPE, said.to_bytes(), private_key(key)).to_text()


def resigned(text, change, *, key=0, payload_type=PAYLOAD_TYPE):
    """A signature file whose payload was changed by ``change(payload bytes)``, signed by the right key."""
    payload = base64.b64decode(json.loads(text)["payload"])
    return Envelope.sealed(payload_type, change(payload), private_key(key)).to_text()
