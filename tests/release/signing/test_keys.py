"""Keys: made, kept, read back, and refused if they are something else."""

import base64
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa

from hushrec.errors import ReleaseError
from hushrec.release.signing import keys
from hushrec.release.signing.keys import PrivateKey, PublicKey, from_base64, grouped
from support.signed import private_key

RFC_8032 = [  # section 7.1: secret key, public key, message, signature
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_the_rfcs_vectors_hold(secret, public, message, signature):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret)))
    message, signature = bytes.fromhex(message), bytes.fromhex(signature)
    assert key.public.raw.hex() == public
    assert key.sign(message) == signature
    assert key.public.signed(signature, message)
    for place in range(64):
        wrong = bytearray(signature)
        wrong[place] ^= 1
        assert not key.public.signed(bytes(wrong), message)
    assert not key.public.signed(signature, message + b"\0")
    assert not key.public.signed(signature[:-1], message)


def test_a_public_key_is_the_pem_of_its_spki():
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = private_key().public
    assert load_pem_public_key(key.pem.encode()).public_bytes_raw() == key.raw
    assert PublicKey.from_pem(key.pem) == key
    assert PublicKey.from_pem(key.pem.replace("\n", "\r\n")) == key
    assert len(key.id) == 64
    assert grouped(key.id).replace(" ", "") == key.id


@pytest.mark.parametrize("passphrase", ["", "correct horse 🐎"])
def test_a_private_key_survives_its_file(passphrase):
    key = PrivateKey.new()
    text = key.to_pem(passphrase)
    assert keys.is_encrypted(text) == bool(passphrase)
    assert PrivateKey.from_pem(text, passphrase).public == key.public
    assert PrivateKey.new().public != key.public


def test_an_encrypted_key_needs_its_passphrase():
    text = PrivateKey.new().to_pem("right")
    with pytest.raises(ReleaseError, match="HUSHREC_KEY_PASSPHRASE"):
        PrivateKey.from_pem(text)
    with pytest.raises(ReleaseError, match="passphrase is wrong"):
        PrivateKey.from_pem(text, "wrong")


def test_nothing_shows_a_private_key():
    key = private_key()
    secret = key._key.private_bytes_raw()
    shown = f"{key!r} {key}"
    assert grouped(key.public.id) in shown
    assert secret.hex() not in shown
    assert base64.b64encode(secret).decode() not in shown


OTHERS = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "p-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ed448": ed448.Ed448PrivateKey.generate,
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_key_of_another_algorithm_is_refused(kind):
    key = OTHERS[kind]()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(ReleaseError, match="not of Ed25519"):
        PublicKey.from_pem(public.decode())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(ReleaseError, match="not a private key of Ed25519"):
        PrivateKey.from_pem(private.decode())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a public key"),
        ("key", "not a public key"),
        ("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "not a public key"),
        ("-----BEGIN PUBLIC KEY-----\n!!!!\n-----END PUBLIC KEY-----\n", "not a public key"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA=\n-----END PUBLIC KEY-----\n", "canonical"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "not of Ed25519"),
    ],
)
def test_what_is_not_a_public_key_is_refused(text, told):
    with pytest.raises(ReleaseError, match=told):
        PublicKey.from_pem(text)


def test_a_private_key_is_not_taken_for_a_public_one_nor_the_other_way_round():
    key = PrivateKey.new()
    with pytest.raises(ReleaseError, match="show the private one to no one"):
        PublicKey.from_pem(key.to_pem())
    with pytest.raises(ReleaseError, match="this is a public key"):
        PrivateKey.from_pem(key.public.pem)


@pytest.mark.parametrize("text", ["", "QQ", "QR==", "QQ==\n", " QQ==", "Q-__", "QQ=", "QQ==QQ==", "é"])
def test_only_canonical_base64_is_read(text):
    with pytest.raises(ReleaseError, match="canonical"):
        from_base64(text)
    assert from_base64("QQ==") == b"A"


def test_without_cryptography_unsigned_releases_open_and_checks_say_what_to_install(monkeypatch):
    for name in [*sys.modules]:
        if name.partition(".")[0] == "cryptography":
            monkeypatch.setitem(sys.modules, name, None)
    for ask in (PrivateKey.new, lambda: PublicKey(bytes(32)).signed(bytes(64), b"")):
        with pytest.raises(ReleaseError, match="pip install cryptography"):
            ask()


def test_opening_a_release_does_not_import_cryptography():
    code = "import sys, hushrec.release.client; assert 'cryptography' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
