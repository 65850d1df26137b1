"""A static site: which releases it has, what is left out, and that an error leaves the earlier one whole."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from hushrec.errors import ReleaseError
from hushrec.pages import recommender, site
from hushrec.pages.public_releases import LIST, listed
from hushrec.release.artefact import Release
from support.hosts import HEADERS
from support.signed import public_key
from support.sites import sign


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_releases_lie_under_their_digests_newest_first(public, out):
    written = site.write(public, out)
    assert written.files[0] == out / "index.html"
    assert set(content(out)) == {path.relative_to(out).as_posix() for path in written.files}
    assert [one.version for one in written.releases] == [10, 2, 1]
    assert listed(out) == written.releases
    assert not written.left_out
    originals = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in public.iterdir()}
    for one in written.releases:
        assert (out / one.url).read_bytes() == originals[one.sha256].read_bytes()
        assert one.bytes == (out / one.url).stat().st_size
        told = json.loads((out / one.statement).read_text("utf-8"))
        assert told == json.loads(json.dumps(Release.open(out / one.url).statement.to_json()))
        page = (out / one.statement_page).read_text("utf-8")
        assert 'href="../document.css"' in page
        assert not any(active in page for active in ("<style", "style=", "<script"))
    assert json.loads((out / "contents.json").read_text("utf-8"))["release"] == written.releases[0].url
    assert not any(b"week" in data for data in content(out).values()), "names of files stay with their owner"


def test_the_statements_follow_the_schema_of_the_site(public, out):
    jsonschema = pytest.importorskip("jsonschema")
    for one in site.write(public, out).releases:
        schema = json.loads((out / "schemas/statement-v2.json").read_text("utf-8"))
        jsonschema.validate(json.loads((out / one.statement).read_text("utf-8")), schema)


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_hosts_send_the_headers_of_a_site(name):
    """The tests of hosts see that they arrive (``tests/browser/test_hosts.py``)."""
    text = (Path(__file__).resolve().parents[2] / "deploy" / name).read_text("utf-8")
    for header, value in HEADERS.items():
        assert re.search(rf'{header} "?{re.escape(value)}"?( always;)?$', text, re.MULTILINE), header
    assert "/srv/hushrec/site" in text


def test_the_same_releases_give_the_same_bytes_and_replace_the_earlier_site(public, out, saved, tmp_path):
    site.write(public, out)
    first = content(out)
    saved(public, 11)
    (public / "week-01.safetensors").unlink()
    assert [one.version for one in site.write(public, out).releases] == [11, 10, 2]
    assert not any("week-01" in name for name in content(out))
    (public / "week-11.safetensors").unlink()
    saved(public, 1)
    site.write(public, out)
    assert content(out) == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["public", "site"], (
        "nothing is left next to it"
    )


def full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("fails", ["page", "disk", "exchange"])
def test_an_error_leaves_the_earlier_site_whole(public, out, saved, monkeypatch, tmp_path, fails):
    site.write(public, out)
    before = content(out)
    saved(public, 11)
    if fails == "page":
        monkeypatch.setattr(recommender, "LARGEST_RELEASE", 10)
    elif fails == "disk":
        monkeypatch.setattr(site, "put", full)
    else:
        monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ReleaseError, match=r"MB|No space"):
        site.write(public, out)
    assert content(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["public", "site"]


def test_a_folder_with_anything_else_is_left_alone(public, out, tmp_path):
    site.write(public, out)
    (out / "releases" / "thesis.txt").write_text("precious")
    with pytest.raises(ReleaseError, match=r"holds releases/thesis\.txt.*move it"):
        site.write(public, out)
    (out / "releases" / "thesis.txt").unlink()
    site.write(public, out)
    for name in (recommender.CONTENTS, LIST):
        text = (out / name).read_text("utf-8")
        (out / name).write_text("{}")
        with pytest.raises(ReleaseError, match="not known to come"):
            site.write(public, out)
        (out / name).write_text(text, "utf-8")
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ReleaseError, match="-o"):
        site.write(public, file)


def test_a_site_is_as_open_as_any_folder_and_a_link_to_it_stays(public, out, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(out, target_is_directory=True)
    made = tmp_path / "made"
    made.mkdir()
    site.write(public, link)
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
