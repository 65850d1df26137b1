"""Which releases a site has: what is trusted, what is left out, and what is refused."""

import hashlib
import os
import socket

import pytest

from hushrec.errors import ReleaseError
from hushrec.pages import site
from support.signed import public_key, signature
from support.sites import sign
from support.statements import KINDS


@pytest.mark.parametrize("plant", ["damaged", "folder", "pipe", "socket", "unreadable", "bare"])
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
    else:
        path = saved(public, 11, **KINDS["exact"])
    written = site.write(public, out)
    assert [one.version for one in written.releases] == [10, 2, 1]
    assert written.left_out.keys() == {path.name}
    if plant == "bare":
        assert written.left_out[path.name] == "Nothing is promised. NOT PRIVATE: no noise was added."


def test_with_a_key_only_what_it_signed_is_published(public, out):
    first, second, third = sorted(public.glob("*.safetensors"))
    text = sign(first)
    sign(second, key=1)
    written = site.write(public, out, key=public_key())
    (one,) = written.releases
    assert one.sha256 == hashlib.sha256(first.read_bytes()).hexdigest()
    assert (out / one.signature).read_text("utf-8") == text
    assert "is not signed by this key" in written.left_out[second.name]
    assert "week-10.safetensors.sig is missing" in written.left_out[third.name]
    assert [one.signature for one in site.write(public, out).releases] == [None] * 3


@pytest.mark.parametrize("signed", [None, b"of another file", "another key"])
def test_a_named_release_that_is_not_signed_by_the_key_is_refused(public, out, signed):
    path = public / "week-01.safetensors"
    if signed is not None:
        given = (path.read_bytes(), 1) if signed == "another key" else (signed, 0)
        path.with_name(path.name + ".sig").write_text(signature(given[0], key=given[1]), "utf-8")
    with pytest.raises(ReleaseError, match=r"unsigned|not signed by this key"):
        site.write(path, out, key=public_key())
    assert not out.exists()


def test_two_ledgers_and_no_release_are_refused(public, out, saved, tmp_path):
    saved(public, 50, ledger="aa" * 16)
    with pytest.raises(ReleaseError, match="2 ledgers; give each ledger a folder"):
        site.write(public, out)
    with pytest.raises(ReleaseError, match="unsigned"):
        site.write(public, out, key=public_key())
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReleaseError, match="hushrec fit writes one"):
        site.write(tmp_path / "empty", out)
    with pytest.raises(ReleaseError, match="cannot be read"):
        site.write(tmp_path / "nowhere", out)
    assert not out.exists()
