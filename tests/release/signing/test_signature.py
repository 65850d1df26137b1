"""Every forgery is refused by a sentence of its own, and what is verified is the bytes that are then read."""

import base64
import json
import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.signing.envelope import pae
from hushrec.release.signing.seen import Seen
from hushrec.release.signing.signature import SUFFIX, UNSIGNED, claimed, verified
from support.forged_signatures import ID, KEY, REFUSED, ROTATED, SEEN, TEXT
from support.signed import DATA, LEDGER, private_key, signature


def test_a_right_signature_is_verified():
    made = verified(DATA, TEXT, KEY)
    assert (made.state, made.key_id, made.version, made.ledger) == ("verified", ID, 3, LEDGER)
    assert made.seen == SEEN
    assert verified(DATA, TEXT, KEY, SEEN) == made


@pytest.mark.parametrize("forgery", REFUSED)
def test_it_is_refused(forgery):
    data, text, key, seen, told = REFUSED[forgery]
    with pytest.raises(ReleaseError, match=told):
        verified(data, text, key, seen)


def test_a_signature_of_zeros_is_refused():
    zero = json.loads(TEXT)
    zero["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode()
    with pytest.raises(ReleaseError, match="signature is wrong"):
        verified(DATA, json.dumps(zero), KEY)


def test_the_name_tells_a_signature_of_another_file():
    with pytest.raises(ReleaseError, match=r"of another file, 'films.safetensors'.* belongs to books"):
        verified(b"books", TEXT, KEY, name="books.safetensors")
    with pytest.raises(ReleaseError, match="altered"):
        verified(b"films", TEXT, KEY, name="films.safetensors")
    assert verified(DATA, TEXT, KEY, name="renamed.safetensors").state == "verified"


def test_after_a_rotation_both_keys_verify_what_is_theirs():
    assert verified(DATA, signature(version=4), ROTATED).key_id == ID
    made = verified(DATA, signature(key=1, version=5), ROTATED, SEEN)
    assert made.key_id == private_key(1).public.id
    with pytest.raises(ReleaseError, match="lacks one of its rotations"):
        verified(DATA, signature(version=6), KEY, made.seen)


@given(st.integers(0, len(DATA) * 8 - 1))
def test_every_bit_of_the_file_counts(bit):
    data = bytearray(DATA)
    data[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ReleaseError, match="not the file that was signed"):
        verified(bytes(data), TEXT, KEY)


@given(st.integers(0, 511))
def test_every_bit_of_the_signature_counts(bit):
    told = json.loads(TEXT)
    sig = bytearray(base64.b64decode(told["signatures"][0]["sig"]))
    sig[bit // 8] ^= 1 << bit % 8
    told["signatures"][0]["sig"] = base64.b64encode(sig).decode()
    with pytest.raises(ReleaseError, match="signature is wrong"):
        verified(DATA, json.dumps(told), KEY)


def test_without_a_key_nothing_is_verified():
    made = claimed(DATA, TEXT)
    assert (made.state, made.seen, made.version) == ("unchecked", None, 3)
    assert "not checked against a key of yours" in str(made)
    with pytest.raises(ReleaseError, match="not the file that was signed"):
        claimed(b"", TEXT)


# -- files ------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, release):
    """A release, its signature and the owner's key file."""
    made = release()
    data = made.save(tmp_path / "films.safetensors").read_bytes()
    (tmp_path / f"films.safetensors{SUFFIX}").write_text(signature(data))
    (tmp_path / "owner.pub").write_text(KEY)
    return tmp_path


def test_a_release_says_that_it_is_unsigned_unchecked_or_verified(folder):
    path, key = folder / "films.safetensors", folder / "owner.pub"
    assert Release.open(path, key=key).signature.state == "verified"
    assert repr(Client(path, key=key)).endswith(", signed))")
    assert Release.open(path).signature.state == "unchecked"
    assert repr(Release.open(path)).endswith(", signature not checked)")
    assert "not checked against a key of yours" in str(Release.open(path)._repr_html_())
    shutil.move(f"{path}{SUFFIX}", folder / "elsewhere")
    assert Release.open(path).signature == UNSIGNED
    assert str(Release.open(path).signature) == "unsigned"
    assert Client(path, key=key, signature=folder / "elsewhere").release.signature.state == "verified"


def test_a_signed_release_cannot_be_passed_off_as_an_unsigned_one(folder):
    (folder / f"films.safetensors{SUFFIX}").unlink()
    with pytest.raises(ReleaseError, match="is unsigned, and you gave a key"):
        Client(folder / "films.safetensors", key=folder / "owner.pub")


def test_without_a_key_a_useless_signature_is_told_and_the_file_opens(folder):
    path = folder / "films.safetensors"
    for text, told in [("", "not a signature file"), (signature(b"old"), "not the file that was signed")]:
        (folder / f"films.safetensors{SUFFIX}").write_text(text)
        opened = Release.open(path).signature
        assert opened.state == "unchecked"
        assert told in str(opened)
        assert opened.to_json()["problem"] == opened.problem
        with pytest.raises(ReleaseError, match=told):
            Release.open(path, key=folder / "owner.pub")


def test_a_pipe_in_place_of_a_signature_does_not_hang(folder):
    beside = folder / f"films.safetensors{SUFFIX}"
    beside.unlink()
    os.mkfifo(beside)
    assert Release.open(folder / "films.safetensors").signature == UNSIGNED
    with pytest.raises(ReleaseError, match="is unsigned"):
        Release.open(folder / "films.safetensors", key=folder / "owner.pub")


def test_what_was_seen_is_kept_from_one_opening_to_the_next(folder, release):
    path, seen = folder / "films.safetensors", folder / "seen.json"
    data, beside = path.read_bytes(), folder / f"films.safetensors{SUFFIX}"
    given = {"key": folder / "owner.pub", "seen": seen}
    Release.open(path, **given)
    assert Seen.open(seen) == SEEN
    beside.write_text(signature(data, 5))
    Client(path, **given)
    assert Seen.open(seen).version == 5
    beside.write_text(signature(data, 4))
    with pytest.raises(ReleaseError, match="number 4, and number 5 was verified before"):
        Client(path, **given)
    assert Seen.open(seen).version == 5, "a refusal changes nothing"
    assert Release.open(path, key=folder / "owner.pub").signature.version == 4, "nobody asked"


def test_a_refused_release_is_not_remembered(folder):
    path, seen = folder / "films.safetensors", folder / "seen.json"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ReleaseError, match="altered"):
        Release.open(path, key=folder / "owner.pub", seen=seen)
    assert not seen.exists()


def test_the_bytes_that_were_verified_are_those_that_are_read(folder, release, monkeypatch):
    from hushrec.release import artefact

    path, check = folder / "films.safetensors", artefact.of_file

    def swap(data, path, **given):
        made = check(data, path, **given)
        release(seed=1).save(path)  # an attacker who waits for the check
        return made

    before = Release.open(path).to_bytes()
    monkeypatch.setattr(artefact, "of_file", swap)
    assert Release.open(path, key=folder / "owner.pub").to_bytes() == before
    assert path.read_bytes() != before


def test_arguments_that_check_nothing_are_refused(folder, release):
    path = folder / "films.safetensors"
    with pytest.raises(ReleaseError, match="give the path"):
        Client(release(), key=folder / "owner.pub")
    with pytest.raises(ReleaseError, match="give the owner's key as well"):
        Release.open(path, seen=folder / "seen.json")
    with pytest.raises(ReleaseError, match="cannot be read"):
        Release.open(path, key=folder / "gone.pub")
    with pytest.raises(ReleaseError, match=r"gone\.json is missing"):
        Release.open(path, key=folder / "owner.pub", signature=folder / "gone.json")
    (folder / "binary").write_bytes(b"\xff")
    with pytest.raises(ReleaseError, match="is not text"):
        Release.open(path, key=folder / "binary")


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_openssl_verifies_the_signature_by_itself(tmp_path):
    told = json.loads(TEXT)
    files = {
        "message": pae(told["payloadType"], base64.b64decode(told["payload"])),
        "forged": pae(told["payloadType"], base64.b64decode(told["payload"]) + b" "),
        "signature": base64.b64decode(told["signatures"][0]["sig"]),
        "owner.pub": KEY.encode(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    for name, code in [("message", 0), ("forged", 1)]:
        arguments = ["-verify", "-rawin", "-pubin", "-inkey", "owner.pub", "-sigfile", "signature", "-in"]
        done = subprocess.run(["openssl", "pkeyutl", *arguments, name], cwd=tmp_path, capture_output=True)
        assert done.returncode == code, done.stderr
