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
    shown.locator("#ranked .away").first.click()
    for summary in shown.locator("summary").all():
        summary.click()
    shown.fill("#search", "amber")
    assert faults(shown) == []
    shown.click("#erase")
    assert faults(shown) == []
    shown.click("#erase-no")
    shown.click("#statement")
    assert faults(shown) == []


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
