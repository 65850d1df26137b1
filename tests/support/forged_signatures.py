"""Forged signatures and key files: what Python and JavaScript must refuse alike."""

import base64
import json

from hushrec.release.signing.envelope import LARGEST, Envelope
from hushrec.release.signing.key_file import ROTATION_TYPE, KeyFile
from hushrec.release.signing.seen import Seen
from support.signed import DATA, LEDGER, key_file, private_key, resigned, signature

KEY, TEXT, ID = key_file(), signature(), private_key().public.id
SEEN = Seen((ID,), LEDGER, 3)
ROTATED = key_file((1, 5))


def altered(field, text=TEXT):
    """The signature file with one character of a field changed, and its form intact."""
    told = json.loads(text)
    if field == "payloadType":
        told[field] = told[field][:-1] + "m"
    elif field == "payload":
        said = base64.b64decode(told[field]).replace(b"films", b"filmz")
        told[field] = base64.b64encode(said).decode()
    else:
        value = told["signatures"][0][field]
        told["signatures"][0][field] = ("b" if value[0] == "a" else "a") + value[1:]
    return json.dumps(told)


REFUSED = {
    "altered file": (DATA + b"\0", TEXT, KEY, None, "not the file that was signed"),
    "empty file": (b"", TEXT, KEY, None, "not the file that was signed"),
    "signature of another file": (DATA, signature(b"other"), KEY, None, "not the file that was signed"),
    "wrong signature": (DATA, altered("sig"), KEY, None, "signature is wrong"),
    "altered payload": (DATA, altered("payload"), KEY, None, "signature is wrong"),
    "altered type": (DATA, altered("payloadType"), KEY, None, "something else than a release"),
    "altered key id": (DATA, altered("keyid"), KEY, None, "signed by another key"),
    "another owner": (DATA, signature(key=7), KEY, None, "signed by another key"),
    "another owner's under our id": (
        DATA,
        signature(key=7).replace(private_key(7).public.id, ID),
        KEY,
        None,
        "signature is wrong",
    ),
    "older release": (DATA, signature(version=2), KEY, SEEN, "rollback"),
    "other ledger": (DATA, signature(version=4, ledger="other"), KEY, SEEN, "may not be added up"),
    "no ledger": (DATA, signature(version=4, ledger=None), KEY, SEEN, "may not be added up"),
    "another key file": (DATA, signature(key=7), key_file(first=7), SEEN, "begins with another key"),
    "rotation taken back": (
        DATA,
        signature(version=6),
        KEY,
        Seen(KeyFile.from_text(ROTATED).chain, LEDGER, 5),
        "lacks one of its rotations",
    ),
    "rotation with another start": (
        DATA,
        signature(version=6),
        key_file((1, 9)),
        Seen(KeyFile.from_text(ROTATED).chain, LEDGER, 5),
        "lacks one of its rotations",
    ),
    "replaced key": (DATA, signature(version=5), ROTATED, None, "may be forged with the old key"),
    "key before its start": (DATA, signature(key=1, version=4), ROTATED, None, "signs only from number 5 on"),
    "unknown rotation": (DATA, signature(key=1, version=5), KEY, None, "fetch their key file again"),
    "rotation as a signature": (DATA, ROTATED.splitlines()[3], KEY, None, "something else than a release"),
    "signature as a rotation": (DATA, TEXT, KEY + TEXT, None, "rotation in this key file is malformed"),
    "truncated": (DATA, TEXT[:-10], KEY, None, "not a signature file"),
    "two signatures, one good": (
        DATA,
        json.dumps(
            json.loads(TEXT)
            | {"signatures": [*json.loads(TEXT)["signatures"], {"keyid": ID, "sig": "A" * 86 + "=="}]}
        ),
        KEY,
        None,
        "holds 2 signatures",
    ),
    "subject with two digests": (
        DATA,
        resigned(TEXT, lambda said: said.replace(b'"digest":{', b'"digest":{"sha1":"00",')),
        KEY,
        None,
        "malformed",
    ),
    "version twice": (
        DATA,
        resigned(TEXT, lambda said: said.replace(b'"version":', b'"version":9,"version":')),
        KEY,
        None,
        "malformed",
    ),
    "huge": (DATA, " " * (LARGEST + 1), KEY, None, "not a signature file"),
    "no key": (DATA, TEXT, "", None, "not a public key"),
}
"""Data, signature file, key file, what was seen, and what the refusal says."""


def enveloped(change):
    """The signature file after ``change(fields)``, signed as before."""
    told = json.loads(TEXT)
    change(told)
    return json.dumps(told)


ENVELOPES = {
    "a field more": lambda told: told.update(extra=1),
    "no payload": lambda told: told.pop("payload"),
    "payload not text": lambda told: told.update(payload=1),
    "type not text": lambda told: told.update(payloadType=["a"]),
    "signatures not a list": lambda told: told.update(signatures=told["signatures"][0]),
    "signature not an object": lambda told: told.update(signatures=["abc"]),
    "a certificate more": lambda told: told["signatures"][0].update(cert=""),
    "an algorithm named": lambda told: told["signatures"][0].update(alg="none"),
    "no key id": lambda told: told["signatures"][0].pop("keyid"),
    "empty key id": lambda told: told["signatures"][0].update(keyid=""),
    "key id in capitals": lambda told: told["signatures"][0].update(keyid="AB" * 32),
    "empty signature": lambda told: told["signatures"][0].update(sig=""),
    "short signature": lambda told: told["signatures"][0].update(sig=base64.b64encode(bytes(63)).decode()),
    "long signature": lambda told: told["signatures"][0].update(sig=base64.b64encode(bytes(65)).decode()),
    "url-safe base64": lambda told: told["signatures"][0].update(sig="_" * 86 + "=="),
    "newline in base64": lambda told: told.update(payload=told["payload"] + "\n"),
    "blank in base64": lambda told: told.update(payload=told["payload"][:8] + " " + told["payload"][8:]),
    "padding twice": lambda told: told.update(payload=told["payload"] + "===="),
    "bits in the padding": lambda told: told["signatures"][0].update(
        sig=told["signatures"][0]["sig"][:85] + "B=="
    ),
}

ATTESTATIONS = {
    "a version that is a fraction": lambda told: told["predicate"].update(version=3.0),
    "a version that is true": lambda told: told["predicate"].update(version=True),
    "a version beyond JavaScript's": lambda told: told["predicate"].update(version=2**53),
    "two subjects": lambda told: told["subject"].append(told["subject"][0]),
    "no subject": lambda told: told["subject"].clear(),
    "two digests": lambda told: told["subject"][0]["digest"].update(sha512="0" * 128),
    "another digest": lambda told: told["subject"][0].update(digest={"sha1": "0" * 40}),
    "digest in capitals": lambda told: told["subject"][0]["digest"].update(sha256="AB" * 32),
    "short digest": lambda told: told["subject"][0]["digest"].update(sha256="ab" * 31),
    "a place to fetch it": lambda told: told["subject"][0].update(uri="https://example.org"),
    "a name of control characters": lambda told: told["subject"][0].update(name="a\x1b[2J"),
    "an empty name": lambda told: told["subject"][0].update(name=""),
    "a lone surrogate": lambda told: told["subject"][0].update(name="\ud800"),
    "a long name": lambda told: told["subject"][0].update(name="a" * 2000),
    "a number for a name": lambda told: told["subject"][0].update(name=7),
    "a field more": lambda told: told.update(extra=1),
    "a promise more": lambda told: told["predicate"].update(extra=1),
    "no ledger": lambda told: told["predicate"].pop("ledger"),
    "a ledger without name": lambda told: told["predicate"].update(ledger=""),
    "a statement that is text": lambda told: told["predicate"].update(statement="{}"),
    "a predicate that is a list": lambda told: told.update(predicate=[1]),
}


def rotation(signer=0, replaces=0, new=1, start=5, kind=ROTATION_TYPE, **changes):
    """A line of a key file."""
    told = {"replaces": private_key(replaces).public.id, "public": private_key(new).public.pem}
    told |= {"from_version": start, **changes}
    return Envelope.sealed(kind, json.dumps(told).encode(), private_key(signer)).to_text()


ROTATIONS = {
    "signed by nobody whom it replaces": (rotation(signer=1), "not signed by the key"),
    "signed by a stranger": (rotation(signer=7), "not signed by the key"),
    "signed by a stranger under the id of the key": (
        rotation(signer=7).replace(private_key(7).public.id, ID),
        "not signed by the key",
    ),
    "of another key": (rotation(replaces=7), "malformed"),
    "of another type": (rotation(kind="application/vnd.in-toto+json"), "malformed"),
    "to itself": (rotation(new=0), "leads back"),
    "with a field more": (rotation(extra=1), "malformed"),
    "from a number that is not one": (rotation(start=-1), "malformed"),
    "from true": (rotation(start=True), "malformed"),
    "from a fraction": (rotation(start=5.0), "malformed"),
    "to what is not a key": (rotation(public="key"), "not a public key"),
    "to a number": (rotation(public=7), "malformed"),
    "back to the first": (
        rotation() + rotation(signer=1, replaces=1, new=2, start=6) + rotation(2, 2, 0, 7),
        "leads back",
    ),
    "before the last one": (rotation() + rotation(signer=1, replaces=1, new=2, start=4), "begins before"),
    "twice by one key": (rotation() + rotation(new=2, start=6), "not signed by the key"),
    "that is not JSON": ("rotation\n", "not a signature file"),
    "that is a list": (
        Envelope.sealed(ROTATION_TYPE, b"[]", private_key()).to_text(),
        "malformed",
    ),
    "that repeats a field": (
        resigned(rotation(), lambda said: said[:-1] + b',"from_version": 0}', payload_type=ROTATION_TYPE),
        "malformed",
    ),
}
