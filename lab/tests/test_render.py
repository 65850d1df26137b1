"""Pages: their templates are whole, and what stored ones show is what they say."""

import re
from pathlib import Path

import pytest

from lab import reproduction

TEMPLATES = Path(reproduction.__file__).parent / "templates"


@pytest.fixture
def template(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "_TEMPLATES", tmp_path)
    (tmp_path / "x.md").write_text("# X\n\n{{ one }}\n\n{{ two }}\n")


def test_parts_stand_where_the_template_names_them(template, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    reproduction.page("x", {"two": "2\n", "one": "1\n"}, out)
    assert (out / "x.md").read_text() == "# X\n\n1\n\n2\n"


@pytest.mark.parametrize("parts", [{"one": "1\n"}, {"one": "1\n", "two": "2\n", "three": "3\n"}])
def test_a_part_too_few_or_too_many_is_noticed(template, tmp_path, parts):
    with pytest.raises(KeyError, match="two" if len(parts) == 1 else "three"):
        reproduction.page("x", parts, tmp_path)


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.md")), ids=lambda path: path.stem)
def test_a_page_is_its_template_with_something_in_each_part(path):
    """Whoever mends a sentence mends it in both, or the next run takes it back.

    What names rows of older code is empty where there are none.
    """
    page = next(TEMPLATES.parent.glob(f"*_*/{path.name}")).read_text("utf-8")
    first, *rest = re.split(r"\{\{ ([^}]*) \}\}\n", path.read_text("utf-8"))
    parts, others = rest[::2], rest[1::2]
    assert page.startswith(first)
    place = len(first)
    for part, text in zip(parts, others, strict=True):
        if text:
            found = page.find(text, place + (part != "older"))
            assert found >= place + (part != "older"), text
            place = found + len(text)
    assert place == len(page) or not others[-1]


def test_a_picture_is_a_file_and_a_line(tmp_path):
    assert reproduction.picture("<svg/>", "name", "A title", tmp_path) == "![A title](name.svg)\n"
    assert (tmp_path / "name.svg").read_text() == "<svg/>"
