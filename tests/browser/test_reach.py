"""The page for everybody: by keyboard alone, for a screen reader, narrow and wide, light and dark."""

import pytest

from support.axe import faults

pytestmark = pytest.mark.page
SIZES = [(360, 740), (1440, 900)]


@pytest.fixture(params=SIZES, ids=["narrow", "wide"])
def size(request):
    return request.param


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture
def shown(page, visit, size, scheme):
    """The page with five stars on it, at a size and in a scheme."""
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    visit()
    for nth, stars in enumerate((5, 1, 4, 2, 5)):
        page.locator("#found > li").nth(nth).get_by_role("radio").nth(stars - 1).click()
    return page


def test_axe_finds_no_fault(shown, tmp_path):
    assert faults(shown) == []
    shown.screenshot(path=tmp_path / "page.png", full_page=True)
    for summary in shown.locator("summary").all():
        summary.click()
    shown.fill("#search", "amber")
    assert faults(shown) == []
    shown.click("#erase")
    assert faults(shown) == []
    shown.click("#erase-no")
    shown.click("#statement")
    assert faults(shown) == []


def test_axe_finds_a_planted_fault(page, host, written, films):
    served = host(written(films()))
    page.goto(served.url)
    page.wait_for_selector("html[data-ready]")
    page.evaluate("document.getElementById('search').previousElementSibling.remove()")
    page.evaluate("document.getElementById('lead') ?? (document.querySelector('.lead').style.color = '#bbb')")
    assert {"label", "color-contrast"} <= {line.split(":")[0] for line in faults(page)}


def test_nothing_is_wider_than_the_window(shown, size):
    assert shown.evaluate("document.documentElement.scrollWidth") <= size[0]
    shown.fill("#search", "a")
    assert shown.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_the_list_is_reached_and_read_by_keyboard_alone(page, visit, listed):
    """Skip link, search, arrows between stars, Space, a digit, Delete: no pointer is used."""
    visit()
    press, focus = page.keyboard.press, "document.activeElement"
    press("Tab")
    assert page.evaluate(f"{focus}.textContent") == "Skip to your list"
    for _ in range(8):
        press("Tab")
        if page.evaluate(f"{focus}.id") == "search":
            break
    assert page.evaluate(f"{focus}.id") == "search"
    title = page.locator("#found b").nth(2).inner_text()
    page.keyboard.type(title)
    press("Tab")
    assert page.evaluate(f"{focus}.parentElement.getAttribute('aria-label')") == f"Your stars for {title}"
    before = listed()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        press(key)
    assert listed() == before, "arrows choose nothing"
    press("Space")
    four = listed()
    assert four != before
    assert page.locator("#own-list [aria-checked='true']").get_attribute("aria-label") == "4 stars"
    assert page.evaluate(f"{focus}.getAttribute('aria-checked')") == "true", "the focus stays"
    press("1")
    assert page.locator("#own-list [aria-checked='true']").get_attribute("aria-label") == "1 star"
    press("Delete")
    assert listed() == before
    assert not page.is_visible("#own")


def test_starring_a_title_of_the_list_keeps_the_keyboard_there(page, visit, listed):
    visit()
    first, second = listed()[:2]
    page.locator("#ranked [role=radio][tabindex='0']").nth(0).focus()
    page.keyboard.press("5")
    assert first not in listed()
    row = "document.activeElement.closest('#ranked > li')"
    assert page.evaluate(f"{row}.dataset.item") == listed()[0]
    assert page.evaluate("document.activeElement.getAttribute('role')") == "radio"
    assert second


def test_every_stop_of_the_keyboard_is_seen(page, visit):
    """Each has an outline of its own."""
    visit()
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        name, width = page.evaluate(
            "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineWidth]"
        )
        if name == "BODY":
            break
        assert width != "0px", name
        seen.add(name)
    assert {"A", "BUTTON", "INPUT", "SUMMARY"} <= seen


def test_nothing_moves_for_readers_who_prefer_so(page, visit):
    animations = "document.getAnimations().length"
    visit()
    page.locator("#found > li").nth(0).get_by_role("radio").nth(4).click()
    assert page.evaluate(animations) > 0
    page.wait_for_timeout(400)
    page.emulate_media(reduced_motion="reduce")
    page.locator("#found > li").nth(1).get_by_role("radio").nth(0).click()
    assert page.evaluate(animations) == 0
