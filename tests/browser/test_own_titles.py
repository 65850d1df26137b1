"""A reader's own titles: in several tabs, as a file, and erased."""

import json
import shutil

import pytest

from hushrec.release.client import Client

pytestmark = pytest.mark.page
READY = "html[data-ready]"
FOREIGN = "this is not a file that was saved from this page"


def give(page, nth, stars=5):
    """Star or like an offered title; its id."""
    row = page.locator("#found > li").nth(nth)
    item = row.get_attribute("data-item")
    row.locator("[role=radio], .like").nth(stars - 1 if row.locator("[role=radio]").count() else 0).click()
    return item


def own(page):
    return set(page.locator("#own-list > li").evaluate_all("rows => rows.map(row => row.dataset.item)"))


@pytest.fixture
def load(page, tmp_path):
    """Loads a file of a text; what the page says of it."""

    def loaded(text):
        path = tmp_path / "given.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        page.evaluate("document.getElementById('kept').textContent = ''")
        page.set_input_files("#import-file", path)
        page.locator("#kept:not(:empty)").wait_for()
        return page.inner_text("#kept")

    return loaded


def test_two_tabs_keep_each_others_stars(page, visit):
    host = visit()
    other = page.context.new_page()
    other.goto(host.url)
    other.wait_for_selector(READY)
    first = give(other, 0)
    page.locator(f"#own-list [data-item='{first}']").wait_for()
    second = give(page, 1)
    page.reload()
    page.wait_for_selector(READY)
    assert own(page) == {first, second}
    other.locator(f"#own-list [data-item='{second}']").wait_for()
    other.click("#erase")
    other.click("#erase-yes")
    page.locator("#own").wait_for(state="hidden")


def test_a_tab_that_heard_nothing_reads_before_it_writes(page, visit):
    """A storage event may be late: what was stored in the meantime stays."""
    visit()
    first = give(page, 0)
    key = page.evaluate("Object.keys(localStorage)[0]")
    page.evaluate("key => localStorage.setItem(key, '[[\"item 1 é\", 2]]')", key)
    second = give(page, 1)
    assert own(page) == {"item 1 é", second}
    assert first != second


def test_a_loaded_file_is_told_truly(page, visit, load, tmp_path):
    visit()
    told = load('{"item 3 é": 5, "item 4 é": 1, "nowhere": 4}')
    assert told == "2 of 3 titles loaded; 1 is not in this catalogue."
    assert own(page) == {"item 3 é", "item 4 é"}
    assert page.inner_text("#own-title") == "You starred 2 titles"
    assert "nowhere" not in page.evaluate("JSON.stringify(localStorage)")
    assert load('{"item 5 é": 5}') == "1 title loaded."
    with page.expect_download() as download:
        page.click("#export")
    assert download.value.suggested_filename == "my-stars.json"
    shutil.copyfile(download.value.path(), tmp_path / "my-stars.json")
    assert json.loads((tmp_path / "my-stars.json").read_text("utf-8")) == {
        "item 3 é": 5,
        "item 4 é": 1,
        "item 5 é": 5,
    }
    assert load('["item 3 é"]') == "Nothing was loaded: it holds likes, and this page takes stars."
    assert load('{"item 3 é": 9}') == "Nothing was loaded: it holds stars that are not from 1 to 5."
    for foreign in ('{"a": "b"}', "[1]", "no JSON <b>", b"\xff\xfe\0\x01", "null", "3"):
        assert load(foreign) == f"Nothing was loaded: {FOREIGN}."
    assert own(page) == {"item 3 é", "item 4 é", "item 5 é"}


def test_stars_of_another_release_wait_and_are_neither_counted_nor_saved(page, visit):
    visit()
    give(page, 0)
    key = page.evaluate("Object.keys(localStorage)[0]")
    page.evaluate('key => localStorage.setItem(key, \'[["item 1 é", 2], ["gone", 4]]\')', key)
    page.reload()
    page.wait_for_selector(READY)
    assert page.inner_text("#list-note").startswith("From 1 title ")
    assert page.inner_text("#kept").startswith("1 title more that you starred is not in this catalogue.")
    with page.expect_download() as download:
        page.click("#export")
    assert json.loads(download.value.path().read_text("utf-8")) == {"item 1 é": 2}
    page.click("#erase")
    page.click("#erase-yes")
    assert page.evaluate("localStorage.length") == 0


def test_with_stars_of_another_catalogue_alone_the_list_is_everybodys_and_says_so(page, visit, films):
    visit()
    give(page, 0)
    key = page.evaluate("Object.keys(localStorage)[0]")
    page.evaluate('key => localStorage.setItem(key, \'[["gone", 4], ["lost", 2]]\')', key)
    page.reload()
    page.wait_for_selector(READY)
    ids = page.locator("#ranked > li").evaluate_all("rows => rows.map(row => row.dataset.item)")
    assert ids == [row.item_id for row in Client(films()).recommend({})]
    note = "This is everybody’s list: this catalogue has none of the titles that you starred."
    assert page.inner_text("#list-note") == note
    assert page.inner_text("#kept").startswith("2 titles more that you starred are not in this catalogue.")
