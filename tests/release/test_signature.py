"""One key: what it signed is opened, and nothing else."""

import base64
import hashlib
import os
import stat
import sys

import pytest

import hushrec as hr
from hushrec.errors import ReleaseError
from hushrec.release import signature as signatures
from hushrec.release.signature import public_key, require_signed
from support import signed
from support.releases import release


@pytest.fixture
def films(tmp_path):
    return release().save(tmp_path / "films.safetensors")


@pytest.fixture
def owner(tmp_path):
    hr.new_key(tmp_path / "owner.key")
    return tmp_path / "owner.key"


def test_what_the_owner_signed_is_opened_and_names_the_key(films, owner):
    text = hr.sign(films, owner)
    public = owner.with_suffix(".pub")
    assert public.read_text().strip() == text
    for key in (public, str(public), text):
        assert hr.Client(films, key=key).release.signed_by == text
    opened = hr.Release.open(films, key=text)
    assert f"checked, by the key {text}" in str(opened.document())
    assert opened.document().facts["signed_by"] == text
    assert hr.Release.open(films).document().facts["signed_by"] is None
    assert hr.Release.open(films).signed_by == ""


def test_the_format_stays():
    """Ed25519 has one signature of a message, so any change of what is signed shows here."""
    assert signed.KEY == "JfywOrZDXRBrXfHmd/PGoQp7InGd7t6zdhwAXhMGQj0="
    known = "WVkehr8pMBUo/55GSK0M+F9T/+m50gI1tKihG5Ao6OAQkriKkbaXhpwyzuFQ5F2dJVzKb2tJmsMkKt4hs15cAA=="
    assert signed.private_key().sign(signatures._bytes_to_sign(hashlib.sha256(signed.DATA).hexdigest())) == (
        base64.b64decode(known)
    )


@pytest.mark.parametrize("case", signed.FORGED)
def test_a_forgery_is_refused(tmp_path, case):
    data, text, key = signed.FORGED[case]
    (tmp_path / "films.safetensors.sig").write_text(text)
    with pytest.raises(ReleaseError, match="is not signed by this key"):
        require_signed(data, tmp_path / "films.safetensors", key)


def test_the_right_signature_of_the_same_bytes_is_not(tmp_path):
    for text in (signed.TEXT, signed.TEXT.strip(), signed.TEXT.replace("\n", "\r\n")):
        (tmp_path / "films.safetensors.sig").write_bytes(text.encode())
        assert require_signed(signed.DATA, tmp_path / "films.safetensors", signed.KEY) == signed.KEY


def test_an_unsigned_release_is_refused_where_a_key_is_given(films):
    with pytest.raises(ReleaseError, match=r"unsigned, and you gave a key.*films.safetensors.sig is missing"):
        hr.Client(films, key=signed.KEY)
    assert hr.Client(films)


def test_the_bytes_that_were_checked_are_those_that_are_read(films, owner, monkeypatch):
    hr.sign(films, owner)
    asked = []

    def exchanged(data, path, key):
        asked.append(require_signed(data, path, key))
        release(n=3).save(films)
        return asked[-1]

    monkeypatch.setattr("hushrec.release.artefact.require_signed", exchanged)
    before = hr.Release.open(films)
    assert hr.Release.open(films, key=owner.with_suffix(".pub")).items == before.items
    assert asked


def test_a_release_that_is_open_already_cannot_be_checked(films):
    with pytest.raises(ReleaseError, match="give the path of the release"):
        hr.Client(hr.Release.open(films), key=signed.KEY)


@pytest.mark.parametrize("text", signed.NO_KEYS)
def test_what_is_no_public_key_is_refused(tmp_path, text):
    (tmp_path / "owner.pub").write_text(text, "utf-8")
    with pytest.raises(ReleaseError, match="holds no public key"):
        public_key(tmp_path / "owner.pub")


def test_a_private_key_is_not_taken_for_a_public_one(owner):
    with pytest.raises(ReleaseError, match="is a private key: give the public key"):
        public_key(owner)


def test_a_key_is_made_for_its_owner_alone_and_never_replaced(owner):
    if os.name == "posix":
        assert stat.S_IMODE(owner.stat().st_mode) == 0o600
    assert "PRIVATE KEY" not in owner.with_suffix(".pub").read_text()
    before = owner.read_bytes()
    with pytest.raises(ReleaseError, match="never replaced"):
        hr.new_key(owner)
    owner.rename(owner.with_name("other.key"))
    with pytest.raises(ReleaseError, match=r"owner.pub exists.*never replaced"):
        hr.new_key(owner)
    with pytest.raises(ReleaseError, match="name of a public key"):
        hr.new_key(owner.with_name("new.pub"))
    assert owner.with_name("other.key").read_bytes() == before
    assert hr.new_key(owner.with_name("new.key")) != public_key(owner.with_suffix(".pub"))


def test_a_passphrase_encrypts_the_key(tmp_path, films):
    key = tmp_path / "owner.key"
    public = hr.new_key(key, passphrase="naïve 💊")
    with pytest.raises(ReleaseError, match="is encrypted: give its passphrase"):
        hr.sign(films, key)
    with pytest.raises(ReleaseError, match=r"passphrase of .* is wrong"):
        hr.sign(films, key, passphrase="naive")
    hr.sign(films, key, passphrase="naïve 💊")
    assert hr.Client(films, key=public)


@pytest.mark.parametrize(
    "text", ["", "key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_what_is_no_private_key_is_refused(tmp_path, films, text):
    (tmp_path / "other.key").write_text(text)
    with pytest.raises(ReleaseError, match="not a private key of Ed25519"):
        hr.sign(films, tmp_path / "other.key")


def test_without_cryptography_the_message_says_what_is_missing(tmp_path, films, owner, monkeypatch):
    hr.sign(films, owner)
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    for call in (
        lambda: hr.new_key(tmp_path / "new.key"),
        lambda: hr.sign(films, owner),
        lambda: hr.Client(films, key=signed.KEY),
    ):
        with pytest.raises(ReleaseError, match="pip install cryptography"):
            call()
