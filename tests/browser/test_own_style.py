"""A page that a site calls its own, in Chromium: its own title and style, offline too."""

import pytest

from hushrec.pages.page_style import PageStyle
from support.axe import faults

pytestmark = pytest.mark.page
READY = "html[data-ready]"
PINK = b":root { --paper: #fff0f6 } h1 { color: rgb(176, 18, 95) }"


@pytest.fixture
def own(page, visit, films):
    page.emulate_media(reduced_motion="reduce")  # what fades in has too little contrast meanwhile
    return visit(films(), style=PageStyle("Filmkiste Süd", PINK))


def test_a_page_with_a_title_and_a_style_of_its_own(page, own):
    assert page.title() == page.inner_text("h1") == "Filmkiste Süd"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(176, 18, 95)"
    page.locator("#found [role=radio]").nth(4).click()
    assert "1.25 at δ = 1e-06" in page.inner_text("#facts")
    page.click("#meaning summary")
    assert faults(page) == []


def test_title_and_style_stay_without_a_network(page, own):
    own.stop()
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector(READY)
    assert page.title() == "Filmkiste Süd"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(176, 18, 95)"


def test_a_style_reaches_no_other_host(page, visit, films, heard):
    """The policy of the page blocks what a style would fetch from elsewhere."""
    css = b'@import "https://else.where/a.css"; h1 { background: url(https://else.where/b.png) }'
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: asked.remove(request.url))
    visit(films(), style=PageStyle(css=css))
    page.wait_for_timeout(300)
    assert heard
    assert all("Content Security Policy" in line for line in heard)
    heard.clear()
    assert not [url for url in asked if "else.where" in url]
