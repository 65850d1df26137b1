"""The pinned key file: rotations are believed if the key that they replace signed them, and no other."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrec.errors import ReleaseError
from hushrec.release.signing.key_file import LARGEST, KeyFile
from support.forged_signatures import ROTATIONS, rotation
from support.signed import key_file, private_key

PEM = private_key().public.pem


@pytest.mark.parametrize("turns", [(), ((1, 5),), ((1, 5), (2, 5), (3, 9))])
def test_a_key_file_survives_its_text(turns):
    text = key_file(*turns)
    read = KeyFile.from_text(text)
    assert read.to_text() == text
    assert read.pinned == private_key().public
    assert read.keys == tuple(private_key(n).public for n in (0, *(number for number, _ in turns)))
    assert read.starts == (0, *(start for _, start in turns))
    assert KeyFile.from_text(text.replace("\n", "\r\n")) == read
    assert KeyFile.from_text(text + "\n\n") == read


def test_a_key_signs_from_its_start_until_it_is_replaced():
    keys = KeyFile.from_text(key_file((1, 5), (2, 9)))
    may = {number: [] for number in range(3)}
    for version in range(12):
        for number in may:
            try:
                keys.require(private_key(number).public.id, version)
            except ReleaseError:
                continue
            may[number].append(version)
    assert may == {0: [0, 1, 2, 3, 4], 1: [5, 6, 7, 8], 2: [9, 10, 11]}


def test_a_rotation_from_zero_revokes_the_old_key():
    keys = KeyFile.from_text(key_file((1, 0)))
    with pytest.raises(ReleaseError, match="replaced from number 0 on: it may be forged"):
        keys.require(private_key(0).public.id, 0)
    keys.require(private_key(1).public.id, 0)


def test_a_key_that_is_not_in_the_file_is_not_found():
    with pytest.raises(ReleaseError, match="signed by another key"):
        KeyFile.from_text(key_file((1, 5))).find(private_key(2).public.id)


def test_later_files_begin_with_the_chain_of_earlier_ones():
    first, later = (
        KeyFile.from_text(key_file((1, 5))).chain,
        KeyFile.from_text(key_file((1, 5), (2, 9))).chain,
    )
    assert first[0] == private_key().public.id
    assert later[:2] == first
    assert len(later) == 3
    assert KeyFile.from_text(key_file((1, 6))).chain[1:] != first[1:], "another start is another rotation"


@pytest.mark.parametrize("forgery", ROTATIONS)
def test_a_rotation_is_refused(forgery):
    lines, told = ROTATIONS[forgery]
    with pytest.raises(ReleaseError, match=told):
        KeyFile.from_text(PEM + lines)


def test_a_rotation_with_an_altered_signature_is_refused():
    told = json.loads(rotation())
    signature = told["signatures"][0]["sig"]
    told["signatures"][0]["sig"] = ("B" if signature[0] == "A" else "A") + signature[1:]
    with pytest.raises(ReleaseError, match="not signed by the key"):
        KeyFile.from_text(PEM + json.dumps(told) + "\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a public key"),
        (rotation(), "not a public key"),
        (rotation() + PEM, "not a public key"),
        (PEM + PEM, "not a signature file"),
        ("x" + PEM, "not a public key"),
        (private_key().to_pem(), "private key"),
        (PEM + " " * LARGEST, "too large"),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_not_a_key_file_is_refused(text, told):
    with pytest.raises(ReleaseError, match=told):
        KeyFile.from_text(text)


def test_the_owner_rotates_by_the_key_in_use_alone():
    keys = KeyFile.from_text(key_file((1, 5)))
    with pytest.raises(ReleaseError, match="not signed by the key"):
        keys.rotated(private_key(0), private_key(2).public, 9)
    with pytest.raises(ReleaseError, match="begins before"):
        keys.rotated(private_key(1), private_key(2).public, 4)
    assert keys.rotated(private_key(1), private_key(2).public, 9).to_text() == key_file((1, 5), (2, 9))


@given(st.text(max_size=200), st.booleans())
def test_any_text_is_refused_or_adds_nothing(text, after):
    try:
        read = KeyFile.from_text(PEM + text if after else text)
    except ReleaseError:
        return
    assert read.to_text() == PEM
