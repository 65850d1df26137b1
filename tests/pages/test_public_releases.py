"""Which releases a site has: what is trusted, what is left out, and what is refused."""

import hashlib
import os
import socket

import pytest

from hushrec.errors import ReleaseError
from hushrec.pages import site
from support.signed import key_file, signature
from support.sites import sign
from support.statements import KINDS


@pytest.mark.parametrize(
    "plant", ["damaged", "folder", "pipe", "socket", "unreadable", "bare", "odd signature"]
)
def test_what_cannot_be_trusted_is_left_out_and_said(public, out, plant, saved):
    path = public / "bad.safetensors"
    if plant == "damaged":
        data = bytearray((public / "week-01.safetensors").read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    elif plant == "folder":
        path.mkdir()
    elif plant == "pipe":
        os.mkfifo(path)
    elif plant == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif plant == "unreadable":
        path.write_bytes(b"")
    elif plant == "bare":
        path = saved(public, 11, **KINDS["exact"])
    else:
        path = saved(public, 11)
        path.with_name(path.name + ".dsse.json").write_bytes(b"\xff")
    written = site.write(public, out)
    assert [one.version for one in written.releases] == [10, 2, 1]
    assert written.left_out.keys() == {path.name}
    if plant == "bare":
        assert written.left_out[path.name] == "Nothing is promised. NOT PRIVATE: no noise was added."


def test_with_a_key_only_what_it_verifies_is_published(public, out):
    first, second, third = sorted(public.glob("*.safetensors"))
    sign(first, version=1)
    sign(second, version=2, key=1)
    written = site.write(public, out, key=key_file())
    assert [one.sha256 for one in written.releases] == [hashlib.sha256(first.read_bytes()).hexdigest()]
    assert "another key" in written.left_out[second.name]
    assert "is unsigned: there is no week-10.safetensors.dsse.json" in written.left_out[third.name]
    rotated = site.write(public, out, key=key_file((1, 2)))
    assert [one.version for one in rotated.releases] == [2, 1]


@pytest.mark.parametrize("signed", [None, b"of another file", "another key"])
def test_a_named_release_that_does_not_verify_is_refused(public, out, signed):
    path = public / "week-01.safetensors"
    if signed is not None:
        given = (path.read_bytes(), 1) if signed == "another key" else (signed, 0)
        text = signature(given[0], key=given[1])
        path.with_name(path.name + ".dsse.json").write_text(text, "utf-8")
    with pytest.raises(ReleaseError, match=r"unsigned|another file|another key"):
        site.write(path, out, key=key_file())
    assert not out.exists()


def test_the_signed_number_counts(public, out):
    text = sign(public / "week-01.safetensors", version=12)
    latest, *_ = site.write(public, out).releases
    assert latest.version == 12
    assert (out / latest.signature).read_text("utf-8") == text


def test_two_ledgers_and_no_release_are_refused(public, out, saved, tmp_path):
    saved(public, 50, ledger="aa" * 16)
    with pytest.raises(ReleaseError, match="2 ledgers; give each ledger a folder"):
        site.write(public, out)
    with pytest.raises(ReleaseError, match="unsigned"):
        site.write(public, out, key=key_file())
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReleaseError, match="hushrec fit writes one"):
        site.write(tmp_path / "empty", out)
    with pytest.raises(ReleaseError, match="cannot be read"):
        site.write(tmp_path / "nowhere", out)
    assert not out.exists()
