"""What a site decides of its page: title and style; and no text of the page is anywhere else."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hushrec.errors import ConfigError
from hushrec.pages import page_style as styles
from hushrec.pages.page_style import PageStyle, texts

ASSETS = Path(styles.__file__).with_name("assets") / "recommender"
READ_ALOUD = ("aria-label", "aria-description", "alt", "title", "placeholder")
SPOKEN = re.compile(r"[^\W\d_]{2,}")
"""A word of any language."""


def placeholders(text):
    return set(re.findall(r"\{(\w+)\}", text))


def literals(script):
    """Texts in the quotes of a script, comments left out; of a template, without what it inserts."""
    code = re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*|^import [^\n]*", "", script, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', code)
    return [re.sub(r"\$\{[^}]*\}", "", plain or template) for plain, template in found]


def spoken(literal):
    """Whether a literal is for people: words with a space between, a capital, or a sign of a language."""
    return bool(re.search(r"[^\W\d_]{2,},? [^\W\d_]{2,}|[^\x00-\x7f]", literal)) or bool(
        re.fullmatch(r"[A-Z][a-z]+( .*)?", literal)
    )


KNOWN = {
    *("(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)", "stars halves", "stars many"),
    "#marks li",
    *("Delete", "Backspace", "Home", "End", "SHA-256", "☆", "★", "×", "·", "…"),
}
"""Literals of scripts that no reader reads as words: of the browser, of styles, signs."""
UNHEARD = {ASSETS / "worker.js"}
"""What these say reaches the browser's console alone."""


def unlisted(script):
    """Literals of a script that people would read and that are not among the texts."""
    return [one for one in literals(script) if spoken(one) and one.strip() not in KNOWN]


class Shown(HTMLParser):
    """All that a page says: texts of elements, and attributes that are read aloud."""

    def __init__(self):
        super().__init__()
        self.said = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.said += [given[name] or "" for name in READ_ALOUD if name in given]
        if tag == "meta" and given.get("name") == "description":
            self.said.append(given["content"])

    def handle_data(self, data):
        self.said.append(data)


def written(html):
    """Words of a page's HTML that are not in the place of a text."""
    shown = Shown()
    shown.feed(html)
    return [one.strip() for one in shown.said if SPOKEN.search(re.sub(r"\{\w+\}", "", one))]


def test_every_text_is_used_and_none_is_missing():
    known = set(texts(ASSETS))
    scripts = "\n".join(path.read_text("utf-8") for path in ASSETS.glob("*.js"))
    html = placeholders((ASSETS / "index.html").read_text("utf-8"))
    asked = set(re.findall(r'\b(?:words|parts|PageError)\("(\w+)"', scripts))
    assert html | asked <= known
    begun = {"short_title", *re.findall(r"`(\w+_)\$\{", scripts)}
    named = set(re.findall(r'"(\w+)"|^ {4}(\w+):', scripts, re.MULTILINE))
    named = html | {one or other for one, other in named}
    assert not [name for name in known if name not in named and not name.startswith(tuple(begun))]


@pytest.mark.parametrize("path", sorted({*ASSETS.glob("*.js")} - UNHEARD), ids=lambda path: path.name)
def test_no_script_has_a_text_of_its_own(path):
    assert not unlisted(path.read_text("utf-8"))


def test_the_html_has_no_text_of_its_own():
    assert not written((ASSETS / "index.html").read_text("utf-8"))


def test_a_text_elsewhere_is_found():
    for planted in ('say("Show it");', "say(`Erase ${n} titles?`);", 'say("it is wrong");', 'x = "«";'):
        assert unlisted(planted), planted
    assert not unlisted('// Show it "Now then"\nbyId("list-note").className = "note";')
    for planted in (
        "<p>Map</p>",
        '<ul aria-label="Your titles">',
        '<meta name="description" content="Lists">',
    ):
        assert written(planted), planted
    assert not written('<p class="lead">{lead}</p> · <meta name="viewport" content="width=device-width">')


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


def test_an_own_style_is_loaded_last(monkeypatch):
    files = PageStyle(css=b"h1 { color: hotpink }").files(ASSETS)
    assert files["own.css"] == b"h1 { color: hotpink }"
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)">', files["index.html"].decode())
    assert sheets == ["style.css", "own.css"]
    plain = PageStyle().files(ASSETS)
    assert "own.css" not in plain
    assert b"own.css" not in plain["index.html"]
    monkeypatch.setattr(styles, "LARGEST_CSS", 3)
    assert PageStyle(css=b"a{}").css
    with pytest.raises(ConfigError, match="4 bytes, and every reader fetches it; at most 3"):
        PageStyle(css=b"a{ }")
