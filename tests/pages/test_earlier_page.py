"""What readers of the page in a folder will refuse in its place."""

import pytest

from hushrec.pages import recommender
from hushrec.pages.earlier_page import conflict
from support.signed import key_file, signature


@pytest.fixture
def signed(release, tmp_path):
    """A signed release of some number."""

    def write(version, signer=0):
        path = release(n=4).save(tmp_path / "films.safetensors")
        text = signature(path.read_bytes(), version, key=signer)
        path.with_name(path.name + ".dsse.json").write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def page(signed, tmp_path):
    """The folder of a page of release 5."""
    recommender.write(signed(5), tmp_path / "page", key=key_file())
    return tmp_path / "page"


def test_a_later_release_and_a_rotated_key_are_taken(page, signed):
    assert conflict(page, signed(6), key_file()) is None
    assert conflict(page, signed(6, signer=1), key_file((1, 6))) is None


def test_an_older_release_another_key_and_none_are_refused(page, signed):
    assert "number 4, and theirs 5" in conflict(page, signed(4), key_file())
    assert "another one" in conflict(page, signed(6, signer=1), key_file(first=1))
    assert "it has no key" in conflict(page, signed(6), None)


def test_there_is_nothing_to_refuse_without_an_earlier_page(page, signed, tmp_path):
    assert conflict(tmp_path / "none", signed(4), key_file()) is None
    (page / "contents.json").write_text("{")
    assert conflict(page, signed(4), key_file()) is None
