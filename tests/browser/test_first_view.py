"""What a first visitor sees: what the page is, everybody's list, titles to begin with, and plain words."""

import pytest

pytestmark = pytest.mark.page


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
    assert "damaged" not in page.inner_text("#trouble")


def test_the_search_finds_words_genres_and_years(page, visit, films, titles):
    made = films()
    table = titles(made.items)
    table.titles[3], table.genres[3] = "Casablanca", "Drama|Noir"
    visit(made, titled=table)
    for sought in ("noir", "CASABL", "noir casa", f"{table.years[3]} noir"):
        page.fill("#search", sought)
        assert page.locator("#found b").all_inner_texts() == ["Casablanca"], sought
    page.fill("#search", "no such title")
    assert page.inner_text("#found-title").startswith("No title found. Try")
    page.goto(page.url + "statement.html")
    assert page.locator("link[rel=icon]").get_attribute("href") == "icon.svg"
