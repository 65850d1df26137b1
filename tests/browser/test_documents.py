"""Statements and cards in Chromium: for everybody, alone, and on paper."""

import json
import re

import pytest

from hushrec.pages.card import Given, card, html
from hushrec.pages.cards.subject import Subject
from hushrec.pages.statement_page import STATEMENT_CSS, statement_html
from support.axe import faults
from support.releases import release, statement
from support.statements import KINDS

pytestmark = pytest.mark.page
SHA = "5a" * 32
SCORE = {"name": "films", "metric": "rmse", "value": 0.9123, "error": 0.0021}
ACCURACY = json.dumps({"releases": [{"name": "films", "sha256": SHA}], "scores": [SCORE]})
SIZES, SCHEMES = (360, 1440), ("light", "dark")
SHOWN = "user", "seeded", "conditional", "personal", "released rows", "declared"


def subject(**changes):
    return Subject.of(release(statement=statement(**changes)), "films.safetensors", SHA)


@pytest.fixture
def opened(page, heard, host, tmp_path):
    """Opens a page that a folder serves; nothing but the page and its stylesheet may be asked for."""

    def show(text):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        (tmp_path / "statement.css").write_bytes(STATEMENT_CSS.read_bytes())
        served = host(tmp_path)
        page.goto(f"{served.url}page.html")
        assert {path for path in served.asked if path != "/favicon.ico"} <= {"/page.html", "/statement.css"}
        return page

    yield show
    assert not heard


def texts():
    for name in SHOWN:
        changes = KINDS[name]
        yield f"card of {name}", html(card(subject(**changes), Given(accuracy=("a.json", ACCURACY))))
        yield (
            f"statement of {name}",
            statement_html(release(statement=statement(**changes)), home="index.html"),
        )


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in texts()])
def test_axe_finds_no_fault_and_nothing_is_wider_than_the_window(opened, text):
    page = opened(text)
    for width in SIZES:
        for scheme in SCHEMES:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert faults(page) == []


def test_axe_finds_a_planted_fault(opened):
    page = opened(html(card(subject(caveat="NOT PRIVATE: seeded"))))
    page.add_style_tag(content=".caution p { color: #f5b5b0 }")
    assert {line.split(":")[0] for line in faults(page)} == {"color-contrast"}


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_a_card_prints_on_three_pages(opened, changes):
    page = opened(html(card(subject(**changes), Given(accuracy=("a.json", ACCURACY), history="All holds."))))
    page.emulate_media(color_scheme="dark", media="print")
    printed = page.pdf(prefer_css_page_size=True)
    assert 1 < len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 3
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 26, 26)"  # dark ink on paper
