"""Envelopes: the signed bytes are DSSE's, and one form alone is read."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrec.errors import ReleaseError
from hushrec.release.signing.envelope import LARGEST, Envelope, pae
from support.forged_signatures import ENVELOPES, TEXT, enveloped
from support.signed import private_key


def test_the_signed_bytes_are_those_of_dsses_own_example():
    # protocol.md of github.com/secure-systems-lab/dsse, v1.0.0
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("é", b"") == b"DSSEv1 2 \xc3\xa9 0 "


@given(st.text(max_size=20), st.binary(max_size=20), st.text(max_size=20), st.binary(max_size=20))
@pytest.mark.full
def test_no_two_payloads_are_signed_alike(kind, payload, other_kind, other):
    try:
        alike = pae(kind, payload) == pae(other_kind, other)
    except UnicodeEncodeError:
        return
    assert alike == ((kind, payload) == (other_kind, other))


def test_an_envelope_survives_its_text():
    made = Envelope.sealed("text/plain", b"hello", private_key())
    assert Envelope.from_text(made.to_text()) == made
    assert made.is_by(private_key().public)
    assert not made.is_by(private_key(1).public)


def test_type_and_payload_are_both_signed():
    made = Envelope.sealed("text/plain", b"hello", private_key())
    key = private_key().public
    assert not Envelope("text/plai", b"hello", made.key_id, made.signature).is_by(key)
    assert not Envelope("text/plain", b"hallo", made.key_id, made.signature).is_by(key)
    assert not Envelope("text/plain", b"hello", private_key(1).public.id, made.signature).is_by(key)


@pytest.mark.parametrize("forgery", ENVELOPES)
def test_another_form_is_refused(forgery):
    with pytest.raises(ReleaseError, match=r"fetch it again"):
        Envelope.from_text(enveloped(ENVELOPES[forgery]))


@pytest.mark.parametrize("count", [0, 2])
def test_one_signature_is_read(count):
    with pytest.raises(ReleaseError, match=f"holds {count} signatures"):
        Envelope.from_text(enveloped(lambda told: told.update(signatures=told["signatures"] * count)))


def test_a_repeated_field_is_refused():
    payload = json.loads(TEXT)["payload"]
    forged = TEXT.replace('"payload":', f'"payload":"{payload}","payload":', 1)
    assert json.loads(forged) == json.loads(TEXT), "a reader that takes the last would not notice"
    with pytest.raises(ReleaseError, match="not a signature file"):
        Envelope.from_text(forged)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "1", '"a"', "{" * 500, "[" * 100_000, "\ufeff" + TEXT, TEXT + "x", TEXT[:-2]],
    ids=lambda text: text[:4],
)
def test_what_is_not_an_envelope_is_refused(text):
    with pytest.raises(ReleaseError, match="not a signature file"):
        Envelope.from_text(text)


def test_a_huge_file_is_refused_at_once():
    began = time.perf_counter()
    with pytest.raises(ReleaseError, match="not a signature file"):
        Envelope.from_text(" " * (LARGEST + 1))
    assert time.perf_counter() - began < 1
    with pytest.raises(ReleaseError, match="1 MiB"):
        Envelope.sealed("text/plain", bytes(LARGEST), private_key())


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_any_text_is_an_envelope_or_refused(text):
    with pytest.raises(ReleaseError):
        Envelope.from_text(text)


@given(st.integers(0, len(TEXT) - 2), st.characters())
def test_a_changed_character_is_refused_or_breaks_the_signature(place, character):
    text = TEXT[:place] + character + TEXT[place + 1 :]
    try:
        read = Envelope.from_text(text)
    except ReleaseError:
        return
    assert read == Envelope.from_text(TEXT) or not read.is_by(private_key().public)
