"""Statements in Chromium: for everybody, alone, and on paper."""

import pytest

from hushrec.documents.html import CSS
from hushrec.pages.statement_page import statement_html
from support.axe import faults
from support.releases import statement
from support.statements import KINDS

pytestmark = pytest.mark.page
SIZES, SCHEMES = (360, 1440), ("light", "dark")
SHOWN = "one of several", "seeded", "conditional", "personal_epsilon", "released rows", "declared"


def shown(**changes):
    return statement_html(statement(**changes), "films", stylesheet=CSS.name)


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
    for name in SHOWN:
        yield pytest.param(shown(**KINDS[name]), id=name, marks=rare(name))


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
