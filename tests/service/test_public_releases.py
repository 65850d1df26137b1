import errno
import json
import os
import socket

import pytest

from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.service import public_releases, stored
from hushrec.service.public_releases import PublicReleases
from support.signed import key_file, signature


def sign(path, **how):
    text = signature(path.read_bytes(), name=path.name, **how)
    path.with_name(path.name + ".dsse.json").write_text(text, "utf-8")
    return text


def names(releases):
    return [one.path.name for one in releases.history]


def test_releases_are_listed_newest_first(folder):
    releases = PublicReleases(folder)
    assert names(releases) == ["week-10.safetensors", "week-02.safetensors", "week-01.safetensors"]
    assert releases.latest.facts.version == 10
    assert releases.find(releases.latest.facts.sha256) is releases.latest
    assert releases.find("0" * 64) is None
    assert releases.left_out == 0


def test_what_is_told_is_the_files(folder):
    one = PublicReleases(folder).latest
    data = one.path.read_bytes()
    release = Release.from_bytes(data)
    assert bytes(one.file.body) == data
    assert (one.facts.bytes, one.facts.sha256) == (len(data), one.file.etag)
    assert json.loads(bytes(one.statement.body)) == json.loads(json.dumps(release.statement.to_json()))
    assert one.promise == release.statement.sentence
    text = bytes(one.statement_page.body).decode()
    assert "1.25" in text
    assert not any(active in text for active in ("<style", "style=", "<script"))
    assert "week" not in one.facts.model_dump_json(), "the names of files stay with their owner"


@pytest.mark.parametrize("plant", ["damaged", "link", "folder", "pipe", "socket", "unreadable", "bare"])
def test_what_cannot_be_trusted_is_left_out_and_said(folder, tmp_path, caplog, plant, saved):
    path = folder / "bad\x1b.safetensors"
    if plant == "damaged":
        data = bytearray((folder / "week-01.safetensors").read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    elif plant == "link":
        path.symlink_to(saved(tmp_path, 5))
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
        saved(folder, 11, caveat="NOT PRIVATE: no noise", epsilon=float("inf"), measurements=())
    releases = PublicReleases(folder)
    assert releases.latest.facts.version == 10
    assert releases.left_out == 1
    assert "is not served: " in caplog.text
    assert "\x1b" not in caplog.text


def test_two_ledgers_are_refused_at_the_start_and_left_out_later(folder, saved, caplog):
    releases = PublicReleases(folder)
    saved(folder, 50, ledger="aa" * 16)
    assert not releases.read_again()
    assert releases.latest.facts.version == 10
    assert releases.left_out == 1
    assert "week-50.safetensors is not served: it is of another ledger" in caplog.text
    with pytest.raises(ReleaseError, match="2 ledgers; give each ledger a folder"):
        PublicReleases(folder)


def test_what_comes_and_goes_is_seen(folder, saved):
    releases = PublicReleases(folder)
    kept = releases.find(releases.history[1].facts.sha256)
    assert not releases.read_again()
    saved(folder, 11)
    assert releases.read_again()
    assert releases.latest.facts.version == 11
    assert releases.find(kept.facts.sha256) is kept, "nothing is opened twice"
    (folder / "week-11.safetensors").unlink()
    assert releases.read_again()
    assert releases.latest.facts.version == 10


def test_a_file_that_changes_after_it_was_read_is_sent_as_it_was(folder):
    releases = PublicReleases(folder)
    one = releases.latest
    before = bytes(one.file.body)
    with one.path.open("r+b") as file:
        file.truncate(10)
    assert bytes(one.file.body) == before
    assert releases.read_again()
    assert releases.find(one.facts.sha256) is None


def test_a_signature_that_comes_later_is_served(folder):
    releases = PublicReleases(folder)
    one = releases.history[1]
    assert one.signature is None
    text = sign(one.path, version=12)
    assert releases.read_again()
    assert bytes(releases.latest.signature.body) == text.encode()
    assert releases.latest.facts.version == 12, "the signed number counts"
    assert releases.latest.facts.signature == f"/releases/{one.facts.sha256}.safetensors.dsse.json"


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ReleaseError, match="give the folder of the releases"):
        PublicReleases(tmp_path / "nowhere")


def test_with_a_key_only_what_it_verifies_is_served(folder, caplog):
    first, second, third = sorted(folder.glob("*.safetensors"))
    sign(first, version=1)
    sign(second, version=2, key=1)
    releases = PublicReleases(folder, key_file())
    assert names(releases) == [first.name]
    assert f"{second.name} is not served: this release is signed by another key" in caplog.text
    assert f"{third.name} is not served: it is unsigned" in caplog.text
    sign(second, version=2, key=1)
    rotated = PublicReleases(folder, key_file((1, 2)))
    assert names(rotated) == [second.name, first.name]


def test_without_a_key_a_signature_must_at_least_be_of_its_file(folder, caplog):
    path = folder / "week-10.safetensors"
    path.with_name(path.name + ".dsse.json").write_text(signature(b"other bytes", name=path.name), "utf-8")
    assert path.name not in names(PublicReleases(folder))
    assert "it was altered, or the signature is of another one" in caplog.text
    path.with_name(path.name + ".dsse.json").write_bytes(b"\xff")
    assert path.name not in names(PublicReleases(folder))


def test_a_signature_that_is_a_link_is_left_out(folder, tmp_path):
    elsewhere = tmp_path / "secret"
    elsewhere.write_text("secret", "utf-8")
    (folder / "week-10.safetensors.dsse.json").symlink_to(elsewhere)
    assert "week-10.safetensors" not in names(PublicReleases(folder))


def test_a_key_that_is_none_is_refused(folder):
    with pytest.raises(ReleaseError, match="not a public key"):
        PublicReleases(folder, "no key")


def test_a_latest_release_that_falls_below_an_earlier_one_is_told_once(folder, saved, caplog):
    releases = PublicReleases(folder)
    latest = folder / "week-10.safetensors"
    kept = latest.read_bytes()
    assert not caplog.messages
    latest.unlink()
    for _ in range(3):
        releases.read_again()
    (told,) = caplog.messages
    assert "the latest release has number 2, below number 10 that was served before" in told
    assert releases.latest.facts.version == 2
    latest.write_bytes(kept)
    releases.read_again()
    saved(folder, 11)
    releases.read_again()
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("id", [["x"], 7, None])
def test_a_ledger_without_a_name_in_text_is_no_release_of_ours(folder, saved, caplog, id):
    releases = PublicReleases(folder)
    saved(folder, 30, ledger=id)
    assert not releases.read_again()
    assert releases.left_out == 1
    assert "week-30.safetensors is not served" in caplog.text
    saved(folder, 31)
    assert releases.read_again()
    assert releases.latest.facts.version == 31
    assert PublicReleases(folder).left_out == 1


def test_whatever_one_file_raises_the_others_are_served(folder, saved, caplog, monkeypatch):
    releases, whole = PublicReleases(folder), public_releases.statement_html

    def fails(release, *more, **named):
        if release.statement.ledger["seq"] == 30:
            raise RecursionError("secret of the file")
        return whole(release, *more, **named)

    monkeypatch.setattr(public_releases, "statement_html", fails)
    saved(folder, 30)
    saved(folder, 31)
    assert releases.read_again()
    assert (releases.latest.facts.version, releases.left_out, releases.hindered) == (31, 1, False)
    assert "week-30.safetensors is not served: it cannot be checked (RecursionError)" in caplog.text
    assert "secret" not in caplog.text


def test_a_full_temporary_folder_leaves_a_file_out_until_there_is_room(folder, saved, caplog, monkeypatch):
    releases = PublicReleases(folder)
    saved(folder, 30)

    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(stored, "_MAPPED", 0)
        patched.setattr(stored, "TemporaryFile", full)
        assert not releases.read_again()
    assert (releases.left_out, releases.hindered) == (1, True)
    assert "No space left on device; it is opened again" in caplog.text
    assert releases.read_again()
    assert (releases.latest.facts.version, releases.left_out, releases.hindered) == (30, 0, False)
