"""Statements and cards in Chromium: for everybody, alone, and on paper."""

import json
import re

import pytest

from hushrec.documents.html import CSS
from hushrec.documents.html import page as html
from hushrec.documents.words import LANGUAGES, Clause
from hushrec.pages.card import Given, card
from hushrec.pages.reviewed_file import ReviewedFile
from hushrec.pages.statement_page import statement_html
from support.axe import faults
from support.releases import release, statement
from support.statements import KINDS, UNPROTECTED

pytestmark = pytest.mark.page
SHA = "5a" * 32
SCORE = {"name": "films", "metric": "rmse", "value": 0.9123, "error": 0.0021}
ACCURACY = json.dumps({"releases": [{"name": "films", "sha256": SHA}], "scores": [SCORE]})
SIZES, SCHEMES = (360, 1440), ("light", "dark")
SHOWN = "one of several", "seeded", "conditional", "personal_epsilon", "released rows", "declared"
RECORDED = Clause("card.ledger.history", {"file": "history.json", "records": 3, "release": 1})


def subject(**changes):
    return ReviewedFile.of(release(statement=statement(**changes)), "films.safetensors", SHA)


@pytest.fixture
def opened(page, heard, host, tmp_path):
    """Opens a page that a folder serves; nothing but the page and its stylesheet may be asked for."""

    def show(text):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        (tmp_path / CSS.name).write_bytes(CSS.read_bytes())
        served = host(tmp_path)
        page.goto(f"{served.url}page.html")
        assert {path for path in served.asked if path != "/favicon.ico"} <= {"/page.html", f"/{CSS.name}"}
        return page

    yield show
    assert not heard


def texts():
    given = Given(accuracy=("a.json", ACCURACY))
    for name in SHOWN:
        made, marks = release(statement=statement(**KINDS[name])), rare(name)
        for lang in LANGUAGES:
            shown = html(card(subject(**KINDS[name]), given, lang))
            yield pytest.param(shown, id=f"card of {name}, {lang}", marks=marks)
            shown = statement_html(made, lang, home="index.html")
            yield pytest.param(shown, id=f"statement of {name}, {lang}", marks=marks)


def rare(name):
    """Of all kinds, the first is looked at in the fast tests."""
    return [pytest.mark.full] * (name != SHOWN[0])


@pytest.mark.parametrize("text", [*texts()])
def test_axe_finds_no_fault_and_nothing_is_wider_than_the_window(opened, text):
    page = opened(text)
    for width in SIZES:
        for scheme in SCHEMES:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert faults(page) == []


def test_axe_finds_a_planted_fault(opened):
    page = opened(html(card(subject(caveats=(UNPROTECTED,)))))
    page.add_style_tag(content=".caution p { color: #f5b5b0 }")
    assert {line.split(":")[0] for line in faults(page)} == {"color-contrast"}


@pytest.mark.parametrize(
    "changes", [pytest.param(changes, id=name, marks=rare(name)) for name, changes in KINDS.items()]
)
def test_a_card_prints_on_three_pages(opened, changes):
    page = opened(html(card(subject(**changes), Given(accuracy=("a.json", ACCURACY), history=RECORDED))))
    page.emulate_media(color_scheme="dark", media="print")
    printed = page.pdf(prefer_css_page_size=True)
    assert 1 < len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 3
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 26, 26)"  # dark ink on paper
