"""What is signed of a release, and what is not taken for it."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrec.errors import ReleaseError
from hushrec.release.signing.attestation import LARGEST_VERSION, Attestation
from support.forged_signatures import ATTESTATIONS
from support.signed import DATA, LEDGER

SAID = Attestation.of(DATA, "films.safetensors", 3, LEDGER, {"unit": "user", "epsilon": 1.0})


def altered(change):
    told = json.loads(SAID.to_bytes())
    change(told)
    return json.dumps(told).encode()


def test_it_is_an_in_toto_statement_of_the_bytes():
    assert json.loads(SAID.to_bytes()) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "films.safetensors", "digest": {"sha256": hashlib.sha256(DATA).hexdigest()}}],
        "predicateType": "urn:hushrec:release:1",
        "predicate": {"version": 3, "ledger": LEDGER, "statement": {"unit": "user", "epsilon": 1.0}},
    }
    assert Attestation.from_bytes(SAID.to_bytes()) == SAID


@pytest.mark.parametrize("version", [0, LARGEST_VERSION])
@pytest.mark.parametrize("ledger", [None, "a" * 32])
def test_numbers_and_ledgers_survive(version, ledger):
    said = Attestation.of(DATA, "a", version, ledger, {})
    assert Attestation.from_bytes(said.to_bytes()) == said


@pytest.mark.parametrize("version", [-1, LARGEST_VERSION + 1, True, 1.0, "1", None])
def test_what_is_not_a_number_of_a_release_is_refused(version):
    with pytest.raises(ReleaseError, match="number of the release"):
        Attestation.of(DATA, "a", version, None, {})
    with pytest.raises(ReleaseError, match="malformed"):
        Attestation.from_bytes(altered(lambda told: told["predicate"].update(version=version)))


@pytest.mark.parametrize("forgery", ATTESTATIONS)
def test_another_form_is_refused(forgery):
    with pytest.raises(ReleaseError, match="malformed"):
        Attestation.from_bytes(altered(ATTESTATIONS[forgery]))


@pytest.mark.parametrize("field", ["_type", "predicateType"])
def test_a_statement_of_something_else_is_refused(field):
    with pytest.raises(ReleaseError, match="something else than a release"):
        Attestation.from_bytes(altered(lambda told: told.update({field: "https://slsa.dev/provenance/v1"})))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        SAID.to_bytes().replace(b'"version":3', b'"version":3,"version":9'),
        SAID.to_bytes().replace(b'"epsilon":1.0', b'"epsilon":1e999'),
        SAID.to_bytes().replace(b'"epsilon":1.0', b'"epsilon":NaN'),
    ],
    ids=lambda payload: repr(payload[:4] + payload[-24:]),
)
def test_what_cannot_be_read_is_refused(payload):
    with pytest.raises(ReleaseError, match="malformed"):
        Attestation.from_bytes(payload)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(payload):
    with pytest.raises(ReleaseError):
        Attestation.from_bytes(payload)
