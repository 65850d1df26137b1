"""What a site decides of its page: title and style; and no text of the page is anywhere else."""

import json
import re
from pathlib import Path

import pytest

from hushrec.errors import ConfigError
from hushrec.pages import page_style as styles
from hushrec.pages.page_style import PageStyle, texts

ASSETS = Path(styles.__file__).with_name("assets") / "recommender"


def placeholders(text):
    return set(re.findall(r"\{(\w+)\}", text))


def test_a_page_has_its_texts():
    files = PageStyle().files(ASSETS)
    told = texts(ASSETS)
    index = files["index.html"].decode()
    assert not placeholders(index)
    assert f"<title>{told['title']}</title>" in index
    assert f'<h1 id="call">{told["title"]}</h1>' in index
    assert json.loads(files["page.webmanifest"])["name"] == told["title"]
    script = files["texts.js"].decode()
    assert json.loads(script.removeprefix("export const texts = ").removesuffix(";\n")) == told


def test_a_title_is_text_and_never_markup():
    files = PageStyle('<img src=x> & "Söhne"').files(ASSETS)
    index = files["index.html"].decode()
    assert "<img" not in index
    assert index.count("&lt;img src=x&gt; &amp; &quot;Söhne&quot;") == 2
    assert json.loads(files["page.webmanifest"])["name"] == '<img src=x> & "Söhne"'
    with pytest.raises(ConfigError, match="title of the page is empty"):
        PageStyle(" ")
