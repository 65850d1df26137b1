"""An owner signs what is a release of theirs, and nothing else."""

import json

import pytest

import hushrec as hr
from hushrec.errors import ReleaseError
from hushrec.release.signing.attestation import Attestation
from hushrec.release.signing.envelope import Envelope
from hushrec.release.signing.key_file import KeyFile
from hushrec.release.signing.keys import PrivateKey
from support.releases import release, statement
from support.signed import private_key
from support.statements import UNPROTECTED


@pytest.fixture
def owner(tmp_path):
    """A folder with a release and its owner's keys."""
    release().save(tmp_path / "films.safetensors")
    (tmp_path / "owner.key").write_text(private_key().to_pem())
    (tmp_path / "secret.key").write_text(private_key().to_pem("passphrase"))
    (tmp_path / "owner.pub").write_text(private_key().public.pem)
    return tmp_path


def said(path):
    return Attestation.from_bytes(Envelope.from_text(path.read_text()).payload)


def test_what_an_owner_signs_a_user_verifies(owner):
    written = hr.sign(owner / "films.safetensors", owner / "owner.key")
    assert written == owner / "films.safetensors.dsse.json"
    client = hr.Client(owner / "films.safetensors", key=owner / "owner.pub")
    assert client.release.signature.version == client.release.statement.ledger["seq"] == 3
    assert client.release.signature.ledger == client.release.statement.ledger["id"]
    told = json.dumps(client.release.statement.to_json())
    assert said(written).statement == json.loads(told)
    assert sorted(path.name for path in owner.glob("films*")) == [
        "films.safetensors",
        "films.safetensors.dsse.json",
    ]


def test_the_same_release_and_key_give_the_same_signature(owner):
    first = hr.sign(owner / "films.safetensors", owner / "owner.key").read_bytes()
    again = hr.sign(owner / "films.safetensors", owner / "secret.key", passphrase="passphrase")
    assert again.read_bytes() == first
    assert hr.sign(owner / "films.safetensors", owner / "owner.key", version=4).read_bytes() != first


def test_a_release_without_a_ledger_needs_a_number(owner):
    path = release(statement=statement(caveats=(UNPROTECTED,), ledger={})).save(owner / "toy.safetensors")
    with pytest.raises(ReleaseError, match="give one, larger than any before"):
        hr.sign(path, owner / "owner.key")
    told = said(hr.sign(path, owner / "owner.key", version=7))
    assert (told.version, told.ledger) == (7, None)
    assert told.statement["caveats"] == [UNPROTECTED.to_json()]


def test_nothing_else_is_signed(owner):
    path = owner / "films.safetensors"
    good = path.read_bytes()
    for bad in (b"", good[:-1], good + b"\0", good.replace(b"Planted", b"planted")):
        path.write_bytes(bad)
        with pytest.raises(ReleaseError, match=r"damaged|altered"):
            hr.sign(path, owner / "owner.key")
    path.write_bytes(good)
    with pytest.raises(ReleaseError, match="only releases of models are signed"):
        hr.sign(owner / "rows.parquet", owner / "owner.key")
    with pytest.raises(ReleaseError, match="cannot be read"):
        hr.sign(owner / "gone.safetensors", owner / "owner.key")
    with pytest.raises(ReleaseError, match="this is a public key"):
        hr.sign(path, owner / "owner.pub")
    with pytest.raises(ReleaseError, match="HUSHREC_KEY_PASSPHRASE"):
        hr.sign(path, owner / "secret.key")
    with pytest.raises(ReleaseError, match="number of the release"):
        hr.sign(path, owner / "owner.key", version=2**53)
    assert not [*owner.glob("*.dsse.json*")]


def test_a_signature_that_cannot_be_written_is_named(owner):
    (owner / "films.safetensors.dsse.json").mkdir()
    with pytest.raises(ReleaseError, match=r"dsse\.json cannot be written: it is a link, a folder"):
        hr.sign(owner / "films.safetensors", owner / "owner.key")


def test_a_key_signs_until_its_key_file_names_another_for_the_number(owner):
    path, later = owner / "films.safetensors", PrivateKey.new()
    keys = KeyFile((private_key().public,)).rotated(private_key(), later.public, 10)
    (owner / "owner.pub").write_text(keys.to_text())
    assert said(hr.sign(path, owner / "owner.key", version=9)).version == 9
    with pytest.raises(ReleaseError, match="replaced from number 10 on"):
        hr.sign(path, owner / "owner.key", version=10)
    (owner / "owner.pub").write_text(later.public.pem)  # of another key: it says nothing of this one
    assert said(hr.sign(path, owner / "owner.key", version=10)).version == 10


def test_the_number_of_a_signed_release_only_grows(owner):
    path = owner / "films.safetensors"
    written = hr.sign(path, owner / "owner.key", version=10)
    good = written.read_bytes()
    with pytest.raises(ReleaseError, match="give --version 10 or a larger one"):
        hr.sign(path, owner / "owner.key")
    assert hr.sign(path, owner / "owner.key", version=10).read_bytes() == good
    written.write_text("{}")  # not a signature of this release
    assert said(hr.sign(path, owner / "owner.key", version=3)).version == 3
