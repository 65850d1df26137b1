"""A static site: what it has, what is refused, and that an error leaves the earlier one whole."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from hushrec.errors import ReleaseError
from hushrec.pages import recommender, site
from hushrec.release.artefact import Release
from support.hosts import HEADERS
from support.signed import public_key, signature
from support.sites import sign


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_site_has_the_release_and_its_statement_under_fixed_names(week, out):
    written = site.write(week, out)
    assert written.files[0] == out / "index.html"
    assert set(content(out)) == {path.relative_to(out).as_posix() for path in written.files}
    assert (out / "release.safetensors").read_bytes() == week.read_bytes()
    told = json.loads((out / "statement.json").read_text("utf-8"))
    assert told == json.loads(json.dumps(Release.open(week).statement.to_json()))
    page = (out / "statement.html").read_text("utf-8")
    assert not any(active in page for active in ("<style", "style=", "<script"))
    assert not any(b"week-" in data for data in content(out).values()), "names of files stay with their owner"


@pytest.mark.parametrize("signed", [None, b"of another file", "another key"])
def test_a_release_that_is_not_signed_by_the_key_is_refused(week, out, signed):
    if signed is not None:
        given = (week.read_bytes(), 1) if signed == "another key" else (signed, 0)
        week.with_name(week.name + ".sig").write_text(signature(given[0], key=given[1]), "utf-8")
    with pytest.raises(ReleaseError, match=r"unsigned|not signed by this key"):
        site.write(week, out, key=public_key())
    assert not out.exists()


def test_what_is_no_release_is_refused(week, out, tmp_path):
    week.write_bytes(week.read_bytes()[:-1] + b"x")
    for path, why in (
        (week, "altered"),
        (tmp_path, "cannot be read"),
        (tmp_path / "none", "cannot be read"),
    ):
        with pytest.raises(ReleaseError, match=why):
            site.write(path, out)
    assert not out.exists()


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_hosts_send_the_headers_of_a_site(name):
    """The tests of hosts see that they arrive (``tests/browser/test_hosts.py``)."""
    text = (Path(__file__).resolve().parents[2] / "deploy" / name).read_text("utf-8")
    for header, value in HEADERS.items():
        assert re.search(rf'{header} "?{re.escape(value)}"?( always;)?$', text, re.MULTILINE), header
    assert "/srv/hushrec/site" in text


def test_the_same_release_gives_the_same_bytes_and_replaces_the_earlier_site(week, out, saved, tmp_path):
    site.write(week, out)
    first = content(out)
    site.write(saved(tmp_path, 2), out)
    assert content(out) != first
    site.write(week, out)
    assert content(out) == first


def full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("fails", ["page", "disk", "exchange"])
def test_an_error_leaves_the_earlier_site_whole(week, out, saved, monkeypatch, tmp_path, fails):
    site.write(week, out)
    before, later = content(out), saved(tmp_path, 2)
    if fails == "page":
        monkeypatch.setattr(recommender, "LARGEST_RELEASE", 10)
    elif fails == "disk":
        monkeypatch.setattr(site, "put", full)
    else:
        monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ReleaseError, match=r"MB|No space"):
        site.write(later, out)
    assert content(out) == before
    assert {path.name for path in tmp_path.iterdir()} == {week.name, later.name, "site"}, "something is left"


def test_a_folder_with_anything_else_is_left_alone(week, out, tmp_path):
    site.write(week, out)
    (out / "client" / "thesis.txt").write_text("precious")
    with pytest.raises(ReleaseError, match=r"holds client/thesis\.txt.*move it"):
        site.write(week, out)
    (out / "client" / "thesis.txt").unlink()
    site.write(week, out)
    (out / recommender.CONTENTS).write_text("{}")
    with pytest.raises(ReleaseError, match="not known to come"):
        site.write(week, out)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ReleaseError, match="-o"):
        site.write(week, file)


def test_a_site_is_as_open_as_any_folder_and_a_link_to_it_stays(week, out, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(out, target_is_directory=True)
    made = tmp_path / "made"
    made.mkdir()
    site.write(week, link)
    assert link.is_symlink()
    assert out.stat().st_mode == made.stat().st_mode


def test_readers_will_refuse_an_older_release_another_key_and_none(saved, out, tmp_path):
    def write(version, key=0):
        path = saved(tmp_path, version)
        sign(path, key=key or 0)
        return site.write(path, out, key=None if key is None else public_key(key)).warning

    def again():
        shutil.rmtree(out, ignore_errors=True)
        assert write(5) == ""

    again()
    assert write(6) == ""
    assert "number 4, and theirs 6" in write(4)
    again()
    assert "another key or none" in write(6, key=1)
    again()
    assert "another key or none" in write(6, key=None)
    assert "number 3, and theirs 6" in write(3, key=None), "an older number is refused without a key as well"
