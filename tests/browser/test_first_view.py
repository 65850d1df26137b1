"""What a first visitor sees: what the page is, everybody's list, titles to begin with, and plain words."""

import re

import pytest

pytestmark = pytest.mark.page
READY = "html[data-ready]"
SHOWN = """() => [document.title, document.body.innerText, ...[...document.querySelectorAll("*")].flatMap(
    one => ["aria-label", "title", "content", "aria-description"].map(name => one.getAttribute(name) ?? "")
)]"""


def test_the_page_says_what_it_is_and_whose_list_it_shows(page, visit, listed):
    visit()
    assert "This page suggests titles from what you like." in page.inner_text(".lead")
    assert "enters no model" in page.inner_text(".lead")
    assert page.inner_text("#list-title") == "Everybody’s list"
    offered = page.locator("#found > li").evaluate_all("rows => rows.map(row => row.dataset.item)")
    assert len(offered) == 6
    assert listed()[6] == offered[0], "the first is the seventh best known"
    assert len(set(offered) & set(listed())) == 1
    page.locator("#found [role=radio]").nth(4).click()
    assert page.inner_text("#list-title") == "Your list"


def test_a_page_of_likes_speaks_of_no_stars(page, visit, likes):
    visit(likes(), name="clicks")
    page.locator("#found .like").nth(0).click()
    page.click(".counter summary")
    page.fill("#search", "amber")
    page.click("#erase")
    for text in page.evaluate(SHOWN):
        assert not re.search(r"\bstar(s|red)?\b|★|☆", text, re.I), text


def test_before_the_first_like_rows_have_their_buttons_beside_the_title(page, visit, likes):
    visit(likes(), name="clicks")
    page.set_viewport_size({"width": 1440, "height": 900})
    row = page.locator("#ranked > li").nth(0)
    title, button = row.locator("b").bounding_box(), row.locator(".like").bounding_box()
    assert abs(title["y"] + title["height"] / 2 - button["y"] - button["height"] / 2) < 6
    assert row.bounding_box()["height"] < 75


def test_without_scripts_nothing_is_promised(browser, host, written, films):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(host(written(films())).url)
    assert page.is_visible("h1")
    assert not page.is_visible("#loading")
    context.close()


def test_a_release_that_cannot_be_fetched_is_no_fault_of_the_page(page, host, written, films):
    served = host(written(films()))
    page.route("**/*.safetensors", lambda route: route.abort())
    page.goto(served.url)
    page.locator("#trouble").wait_for()
    assert page.inner_text("#trouble p >> nth=0") == "The release could not be fetched; reload the page."
    assert "cannot be used" not in page.inner_text("#trouble")


def test_a_new_order_is_told_as_that(page, visit, listed):
    """An order that changes without a new title among the ten says nothing of "0 new"."""
    visit()
    page.evaluate(
        """() => { window.told = []; new MutationObserver(
            () => told.push(document.getElementById("changed").textContent)
        ).observe(document.getElementById("changed"), { childList: true }) }"""
    )
    for stars in (1, 2, 3, 4, 5, 4, 3):
        row = "#own-list" if page.is_visible("#own-list") else "#found"
        page.locator(f"{row} > li").nth(0).get_by_role("radio").nth(stars - 1).click()
    told = page.evaluate("told")
    assert told
    assert not [text for text in told if " 0 new" in text]
    assert any(text.startswith("The order changed.") for text in told)


def test_the_search_finds_genres_years_and_one_wrong_letter(page, visit, films, titles):
    made = films()
    table = titles(made.items)
    table.titles[3], table.genres[3] = "Casablanca", "Drama|Noir"
    visit(made, titled=table)
    for sought in ("noir", "casablanka", "cassablanca", "casblanca noir", f"{table.years[3]} noir"):
        page.fill("#search", sought)
        assert page.locator("#found b").all_inner_texts() == ["Casablanca"], sought
    page.fill("#search", "no such title")
    assert page.inner_text("#found-title").startswith("No title found. Try")
    page.goto(page.url + "statement.html")
    assert page.locator("link[rel=icon]").get_attribute("href") == "icon.svg"
