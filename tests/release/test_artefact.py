"""A release is what was written, byte for byte, or it is refused with a ReleaseError and nothing else."""

import dataclasses
import hashlib
import json
import pickle

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.errors import ReleaseError
from hushrec.release import artefact
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from support.releases import closed, opened


def same(one, other):
    for field in dataclasses.fields(Release):
        if field.name != "tensors":
            assert getattr(one, field.name) == getattr(other, field.name)
    assert one.tensors.keys() == other.tensors.keys()
    for name, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, other.tensors[name])


# -- what is written is read ------------------------------------------------------------------------------


def test_a_round_trip_keeps_every_part_and_every_byte(used, release, kind, tmp_path):
    made = release(kind)
    path = made.save(tmp_path / "films.safetensors")
    assert [file.name for file in tmp_path.iterdir()] == ["films.safetensors"]
    read = Release.open(str(path))
    same(read, made)
    assert read.to_bytes() == path.read_bytes() == made.to_bytes() == used(path.read_bytes())


INTERACTIONS = {"given": {}, "counted": {"counts": 9}, "likes": {"scale": (1.0, 5.0, 0.5), "likes": 3.5}}


@pytest.mark.parametrize("of", INTERACTIONS)
def test_a_release_of_interactions_keeps_what_people_give(ranker, opened, of):
    made = ranker(**INTERACTIONS[of])
    read = Release.from_bytes(made.to_bytes())
    same(read, made)
    assert read.feedback == "interactions"
    facts, _ = opened(made.to_bytes())
    assert facts["format"] == artefact.FORMAT
    assert {"scale", "likes", "counts"} & set(facts) == set(INTERACTIONS[of])


def test_the_same_release_gives_the_same_bytes_in_whatever_order_it_was_made(release, kind):
    made = release(kind)
    turned = dataclasses.replace(
        made,
        **{
            name: dict(reversed(getattr(made, name).items())) for name in ("tensors", "constants", "settings")
        },
    )
    assert turned.to_bytes() == made.to_bytes()
    layout = {name: np.asfortranarray(tensor) for name, tensor in made.tensors.items()}
    assert dataclasses.replace(made, tensors=layout).to_bytes() == made.to_bytes()
    assert release(kind, seed=1).to_bytes() != made.to_bytes()


def test_the_format_is_what_it_was(release, opened):
    """Readers of this format number are out there: who changes a byte of it changes FORMAT as well."""
    exact = {
        "item_effects": np.array([2.5, 3.5], np.float32),
        "item_noise": np.array([0.5, 1.5], np.float32),
        "item_popularity": np.array([8, 0.25], np.float32),
        "item_factors": np.array([[0.25, -0.5], [1.0, 2.0]], np.float32),
    }
    data = release(items=("a", "b"), tensors=exact).to_bytes()
    facts, _ = opened(data)
    assert artefact.FORMAT == 8
    before, after = data.split(facts["sha256"].encode())
    assert hashlib.sha256(after).hexdigest() == facts["sha256"]
    assert before[8:] == b'{"__metadata__":{"hushrec":"{\\"sha256\\":\\"'
    for values in (facts, facts["statement"]):  # sentences may change: they follow from the rest
        assert values.pop("said")
    del facts["sha256"]
    rest = json.dumps(facts, sort_keys=True).encode()
    assert (
        hashlib.sha256(rest).hexdigest() == "f8ed94644f5d1285e8f082f1792cb4b51d768e892dfee30aad1770968411bb55"
    )


@pytest.mark.parametrize("number", [3, 7, 9, 8.5, "8", None])
def test_another_format_is_refused_with_advice(release, forged, number):
    data = forged(release().to_bytes(), lambda facts, tensors: facts.update(format=number))
    with pytest.raises(ReleaseError, match="this hushrec reads 8; use the version that wrote it, or release"):
        Release.from_bytes(data)


def test_an_older_file_gets_the_advice_though_its_digest_stood_elsewhere(release):
    facts, tensors = opened(release().to_bytes())
    text = json.dumps({**facts, "format": 4}, sort_keys=True)
    with pytest.raises(ReleaseError, match="has format 4, this hushrec reads 8"):
        Release.from_bytes(safetensors.numpy.save(tensors, {"hushrec": text}))
    with pytest.raises(ReleaseError, match="altered"):
        Release.from_bytes(
            safetensors.numpy.save(tensors, {"hushrec": text.replace('"format": 4', '"format": 8')})
        )


SAME = {"taste": "Much.", "why_same": "because"}


@pytest.mark.parametrize(
    "told",
    [
        *({"dimensions": -1}, {"dimensions": True}, {"said": {}}, {"said": {"en": SAME}}, {"said": None}),
        *({"said": {"taste": odd}} for odd in ("a\nb", "\x1b[2J", 1, None)),
        {"dimensions": 0, "said": {"taste": "Much."}},
    ],
)
def test_what_follows_from_the_tensors_is_there_and_not_believed(release, told):
    made = release()
    facts, tensors = opened(made.to_bytes())
    assert facts["said"]["taste"] == made.taste
    for lie in ({"dimensions": 9, "said": {"taste": "Much."}}, {"dimensions": 0, "said": SAME}):
        read = Release.from_bytes(closed(facts | lie, tensors))
        assert (read.dimensions, read.taste) == (made.dimensions, made.taste)
    for less in ("dimensions", "said"):
        with pytest.raises(ReleaseError):
            Release.from_bytes(closed({name: facts[name] for name in facts if name != less}, tensors))
    with pytest.raises(ReleaseError):
        Release.from_bytes(closed(facts | told, tensors))


# -- what was damaged is refused --------------------------------------------------------------------------


def test_a_file_cut_short_anywhere_is_refused(release):
    data = release(n=2).to_bytes()
    for length in range(len(data)):
        with pytest.raises(ReleaseError):
            Release.from_bytes(data[:length])
    for more in (b"\0", b" ", b"\0" * 8, data):
        with pytest.raises(ReleaseError):
            Release.from_bytes(data + more)


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_byte_changed_anywhere_is_refused(used, release, mask):
    """Length, header, JSON, statement, digest, padding, numbers: each byte in turn."""
    data = bytearray(release(n=2).to_bytes())
    for place in range(len(data)):
        data[place] ^= mask
        with pytest.raises(ReleaseError):
            Release.from_bytes(bytes(data))
        data[place] ^= mask
    used(bytes(data))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=8))
def test_bytes_changed_together_are_refused_or_change_nothing(used, release, changes):
    original = release(n=2).to_bytes()
    data = bytearray(original)
    for place, byte in changes:
        data[place % len(data)] = byte
    try:
        assert used(bytes(data)) == original  # other white space in the header, at most
    except ReleaseError:
        assert bytes(data) != original


@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.binary(max_size=200))
def test_bytes_that_never_were_a_release_are_refused(data):
    with pytest.raises(ReleaseError):
        Release.from_bytes(data)


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**62, 2**64 - 1])
def test_a_header_of_any_declared_length_is_refused(release, length):
    data = release().to_bytes()
    with pytest.raises(ReleaseError, match="damaged"):
        Release.from_bytes(length.to_bytes(8, "little") + data[8:])


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("the loader ran a pickle",))


def test_a_pickle_is_refused_and_never_run(tmp_path):
    path = tmp_path / "films.safetensors"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ReleaseError, match="not a hushrec release"):
        Release.open(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ReleaseError, match=r"films\.safetensors cannot be read: No such file"):
        Release.open(tmp_path / "films.safetensors")
    with pytest.raises(ReleaseError, match="cannot be read: Is a directory"):
        Release.open(tmp_path)
    with pytest.raises(ReleaseError, match="cannot be read"):
        Client(tmp_path / "nobody" / "films.safetensors")


def test_a_file_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "films.safetensors"
    with path.open("wb") as file:
        file.truncate(artefact.LARGEST_FILE + 1)  # sparse: takes no room
    monkeypatch.setattr(Release, "from_bytes", lambda data: pytest.fail("it was read"))
    with pytest.raises(ReleaseError, match="it is larger than 4,294,967,296 bytes; name the release"):
        Release.open(path)


TITLES = ("Alien (1979)", "", "Amélie", "Zoë\u200c")


def test_titles_and_features_are_carried_and_change_nothing_else(release):
    made = release(titles=TITLES, features={"genres": ("Horror|Sci-Fi", "", "", "War")})
    again = Release.from_bytes(made.to_bytes())
    assert again.titles == TITLES
    assert again.features == made.features
    plain = Release.from_bytes(release().to_bytes())
    assert plain.titles == ()
    assert plain.features == {}


def test_titles_from_a_file_cannot_act(release):
    facts, tensors = opened(release(titles=TITLES).to_bytes())
    facts["titles"] = "a\x1b[31mb\n\u202ec\n  d \n" + "é" * 600
    assert Release.from_bytes(closed(facts, tensors)).titles == (
        "a\\x1b[31mb",
        "\\u202ec",
        "d",
        "é" * 254 + "…",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"titles": "one\ntwo"},
        {"titles": ["a", "b", "c", "d"]},
        {"titles": 7},
        {"features": {"genres": "one"}},
        {"features": {"": "a\nb\nc\nd"}},
        {"features": {"two\nlines": "a\nb\nc\nd"}},
        {"features": ["a\nb\nc\nd"]},
        {"features": {"genres": None}},
    ],
)
def test_texts_that_are_not_one_for_each_item_are_refused(release, wrong):
    facts, tensors = opened(release().to_bytes())
    with pytest.raises(ReleaseError):
        Release.from_bytes(closed(facts | wrong, tensors))


def test_texts_are_checked_when_a_release_is_made(release):
    for wrong in ({"titles": ("a",)}, {"titles": ("a", "b\nc", "d", "e")}, {"features": {"x": ("a",)}}):
        with pytest.raises(ReleaseError, match="one line of text for each item"):
            release(**wrong)
