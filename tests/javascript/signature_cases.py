"""Signatures, right ones and forged ones, with what Python says of each.

    python tests/javascript/signature_cases.py FILE

Each case is the bytes of a file (base64), the signature file, the key file, what was seen, and either what
the check returns or the sentence by which it refuses.
"""

import base64
import json
import random
import sys
from pathlib import Path

from hushrec.errors import ReleaseError
from hushrec.release.signing.keys import PublicKey
from hushrec.release.signing.signature import claimed, verified

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import forged_signatures as forged
from support.signed import DATA, key_file, private_key, resigned, signature

KEY, PEM = forged.KEY, private_key().public.pem
RFC_8032 = [  # section 7.1: public key, message, signature
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
]
"""Vectors that neither of the two made."""
SIGNS = (*'"{}[],:\\ \t\r\n019Ae/+=-.é\u2028\ufeff\0\x0b\x1c\x85💊', "null", "\\u0041", "\\ud800", "e5")

UNTOLD = {
    "version twice",
    "attestation: a version that is a fraction",
    "rotation: from a fraction",
    "rotation: that repeats a field",
}
"""Only the owner can sign these, and only Python refuses them: JSON.parse tells neither 3 from 3.0 nor that
a field is repeated."""


def given():
    """Name, data, signature file, key file and what was seen, of every case."""
    turned = key_file((1, 5), (2, 9))
    yield "right", DATA, forged.TEXT, KEY, None
    yield "seen before", DATA, forged.TEXT, KEY, forged.SEEN
    yield "later", DATA, signature(version=2**53 - 1), KEY, forged.SEEN
    yield "no ledger", DATA, signature(ledger=None), KEY, None
    yield "written on Windows", DATA, forged.TEXT, KEY.replace("\n", "\r\n"), None
    yield "a statement in Greek", DATA, signature(statement={"ε": 1.0, "sentence": "≤ 💊"}), KEY, None
    for key, version in [(0, 4), (1, 5), (1, 8), (2, 9), (0, 5), (1, 4), (1, 9), (2, 8)]:
        yield f"key {key} at {version}", DATA, signature(key=key, version=version), turned, forged.SEEN
    for name, (data, text, key, seen, _) in forged.REFUSED.items():
        yield name, data, text, key, seen
    for name, change in forged.ENVELOPES.items():
        yield f"envelope: {name}", DATA, forged.enveloped(change), KEY, None
    for name, change in forged.ATTESTATIONS.items():
        yield f"attestation: {name}", DATA, resigned(forged.TEXT, changed(change)), KEY, None
    for name, (lines, _) in forged.ROTATIONS.items():
        yield f"rotation: {name}", DATA, forged.TEXT, PEM + lines, None
    for at, text in enumerate(("1", "[]", "{}", '"a"', "null", "[" * 2000, "\ufeff" + forged.TEXT, "{} {}")):
        yield f"text {at}", DATA, text, KEY, None
    for at, text in enumerate(
        ("\ufeff" + KEY, KEY + KEY, " " + KEY, KEY + " \n", KEY + "x" * 70_000, PEM[:-9])
    ):
        yield f"key file {at}", DATA, forged.TEXT, text, None
    for at, payload in enumerate((b"", b"{}", b"\xff", b"[" * 2000, b"\xef\xbb\xbf{}")):
        if payload:
            yield f"payload {at}", DATA, resigned(forged.TEXT, lambda _, p=payload: p), KEY, None
    for field in ("payloadType", "payload", "keyid", "sig"):
        yield f"altered {field}", DATA, forged.altered(field), KEY, None
    yield from at_random(300)


def at_random(count, seed=0):
    """Signature files, key files and payloads with a few characters changed."""
    rng, keys = random.Random(seed), key_file((1, 5), (2, 9))
    payload = base64.b64decode(json.loads(forged.TEXT)["payload"]).decode()
    for number in range(count):
        text, key = signature(key=rng.randrange(3), version=rng.randrange(12)), keys
        if number % 3 == 0:
            text = mutated(rng, text)
        elif number % 3 == 1:
            key = mutated(rng, key)
        else:
            text = resigned(forged.TEXT, lambda _: mutated(rng, payload).encode())
        yield f"random {number}", DATA, text, key, rng.choice([None, forged.SEEN])


def mutated(rng, text):
    """A text with one to three places changed."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at, sign = rng.randrange(len(text) + 1), rng.choice(SIGNS)
        text = text[:at] + rng.choice(["", sign]) + text[at + rng.choice([0, 1, 1, 2, 40]) :]
    return text


def changed(change):
    """The payload after ``change(fields)``."""

    def apply(payload):
        told = json.loads(payload)
        change(told)
        return json.dumps(told).encode()

    return apply


def answer(data, text, key, seen):
    """What Python says."""
    try:
        made = verified(data, text, key, seen)
    except ReleaseError as error:
        return {"refused": str(error)}
    told = {"state": made.state, "keyId": made.key_id, "version": made.version}
    return {"answer": told | {"ledger": made.ledger, "chain": list(made.chain)}}


def unchecked(data, text):
    """What Python says without a key."""
    try:
        made = claimed(data, text)
    except ReleaseError as error:
        return {"refused": str(error)}
    told = {"state": made.state, "keyId": made.key_id, "version": made.version, "ledger": made.ledger}
    return {"answer": told}


def write(file):
    """All cases as one file."""
    cases = []
    for name, data, text, key, seen in given():
        if name in UNTOLD:
            continue
        known = seen and {"chain": list(seen.chain), "ledger": seen.ledger, "version": seen.version}
        case = {
            "name": name,
            "data": base64.b64encode(data).decode(),
            "signature": text,
            "key": key,
            "seen": known,
        }
        cases.append(case | {"verified": answer(data, text, key, seen), "claimed": unchecked(data, text)})
    vectors = [[PublicKey(bytes.fromhex(key)).pem, *rest] for key, *rest in RFC_8032]
    file.write_text(json.dumps({"cases": cases, "rfc8032": vectors}), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
