"""The folder of a page: what is in it, and what it refuses to be written from or over."""

import hashlib
import json
import re

import pytest

from hushrec.errors import ReleaseError
from hushrec.pages import recommender, site
from hushrec.pages.item_table import ItemTable
from hushrec.pages.page_style import PageStyle
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from support.documents import addresses, read
from support.signed import public_key, signature

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def saved(release, tmp_path):
    return release(n=6).save(tmp_path / "films.safetensors")


def contents(folder):
    return json.loads((folder / recommender.CONTENTS).read_text("utf-8"))


def test_every_file_is_named_by_its_digest(saved):
    files = recommender.page(Release.open(saved), saved.read_bytes(), style=PageStyle(css=b"h1 {}"))
    assert {"own.css", "texts.js"} < files.keys()
    listed = json.loads(files[recommender.CONTENTS])["files"]
    assert files.keys() == {*listed, recommender.CONTENTS, "worker.js"}
    for name, digest in listed.items():
        assert hashlib.sha256(files[name]).hexdigest() == digest
    digest = hashlib.sha256(files[recommender.CONTENTS]).hexdigest()
    assert f'"{digest}"' in files["worker.js"].decode()
    assert files[recommender.RELEASE] == saved.read_bytes()


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(saved, tmp_path):
    written = site.write(saved, tmp_path / "page").files
    index = written[0].read_text("utf-8")
    assert f'content="{POLICY}"' in index
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", index)
    assert re.findall(r"<script[^>]*>(.*?)</script>", index, re.DOTALL) == [""]
    for path in written:
        if path.suffix in (".html", ".css", ".js", ".webmanifest"):
            text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"(?:src|href|from|url\()\s*=?\s*[\"'(]?(?:https?:)?//", text), path
            assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(", text), path


def test_a_signature_and_a_key_are_taken_along(saved, tmp_path):
    assert "signature" not in (contents_of := _written(saved, tmp_path / "one"))
    assert "key" not in contents_of
    saved.with_name("films.safetensors.sig").write_text(signature(saved.read_bytes()), "utf-8")
    found = _written(saved, tmp_path / "two", key=public_key())
    assert found["signature"] == found["release"] + ".sig"
    assert found["key"] == public_key()


def _written(saved, folder, **given):
    site.write(saved, folder, **given)
    return contents(folder)


def test_titles_are_written_in_the_order_of_the_items(saved, release, tmp_path):
    first = release(n=6).items[0]
    (tmp_path / "a.png").write_bytes(PNG)
    table = ItemTable(["x", first], ["X", "<b>First</b>"], pictures=["", "a.png"], folder=tmp_path)
    found = _written(saved, tmp_path / "page", titles=table)
    columns = json.loads((tmp_path / "page" / found["titles"]).read_text("utf-8"))
    assert columns["titles"] == ["<b>First</b>", *[""] * 5]
    picture, *others = columns["pictures"]
    assert others == [""] * 5
    assert (tmp_path / "page" / picture).read_bytes() == PNG
    assert picture in found["files"]


def test_too_many_pictures_are_refused(saved, release, tmp_path, monkeypatch):
    monkeypatch.setattr(recommender, "LARGEST_PICTURES", len(PNG) + 1)
    for name, last in (("a.png", b""), ("b.png", b""), ("c.png", b"c")):
        (tmp_path / name).write_bytes(PNG + last)
    items = release(n=6).items
    same = ItemTable(items[:2], ["A", "B"], pictures=["a.png", "b.png"], folder=tmp_path)
    site.write(saved, tmp_path / "page", titles=same)
    other = ItemTable(items[:2], ["A", "C"], pictures=["a.png", "c.png"], folder=tmp_path)
    with pytest.raises(ReleaseError, match="pictures have more than"):
        site.write(saved, tmp_path / "page", titles=other)


def test_a_file_beyond_a_browsers_reach_is_refused_with_its_size(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(recommender, "LARGEST_RELEASE", saved.stat().st_size)
    site.write(saved, tmp_path / "page")
    monkeypatch.setattr(recommender, "LARGEST_RELEASE", saved.stat().st_size - 1)
    with pytest.raises(ReleaseError, match=r"MB.*smaller rank"):
        site.write(saved, tmp_path / "page")


def test_a_rank_beyond_a_browsers_reach_is_refused(release, tmp_path, monkeypatch):
    slow = release(n=6, rank=3).save(tmp_path / "slow.safetensors")
    fast = release(n=6, rank=2).save(tmp_path / "fast.safetensors")
    site.write(slow, tmp_path / "page")
    monkeypatch.setattr(recommender, "LARGEST_RANK", 2)
    site.write(fast, tmp_path / "page")
    with pytest.raises(ReleaseError, match=r"3 factors for each item.*at most 2$"):
        site.write(slow, tmp_path / "page")


@pytest.mark.parametrize("kind", ["factors and people", "neighbours", "dense neighbours"])
def test_a_kind_that_is_for_python_is_refused_before_anything_is_written(release, tmp_path, kind):
    made = release(kind, n=6).save(tmp_path / "films.safetensors")
    with pytest.raises(
        ReleaseError, match=f"kind '{kind}' is for Python: pages show factors, linear items and"
    ):
        site.write(made, tmp_path / "page")
    assert not (tmp_path / "page").exists()


def test_own_stars_are_kept_by_ledger_or_else_by_catalogue(release, statement, tmp_path):
    """So that a later release of the same population finds them, and another population's does not."""
    kept = [
        _written(made.save(tmp_path / f"{nth}.safetensors"), tmp_path / str(nth))["stars"]
        for nth, made in enumerate(
            (
                release(n=6),
                release(n=7),
                release(n=6, statement=statement(ledger={})),
                release(n=6, seed=1, statement=statement(ledger={})),
                release(n=7, statement=statement(ledger={})),
            )
        )
    ]
    assert kept[0] == kept[1] == "9f" * 16
    assert kept[2] == kept[3] != kept[4]
    assert len(kept[4]) == 64


def test_the_full_statement_is_among_the_files(saved, tmp_path):
    found = _written(saved, tmp_path / "page")
    page = (tmp_path / "page" / found["statement"]).read_text("utf-8")
    assert Client(saved).release.statement.says()["sentence"] in read(page)
    assert addresses(page) == ["icon.svg", "document.css", "./"]
    assert {"statement.html", "document.css"} <= found["files"].keys()
