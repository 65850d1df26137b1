"""What people do on the page, in Chromium: star, get a list with reasons, go offline, keep and erase."""

import json
import re
import shutil

import pytest

from browser.conftest import films, likes
from hushrec.release.client import Client

pytestmark = pytest.mark.page
STARS = (5, 4, 1, 5, 2, 3, 5, 1, 4, 5)


def own(made, titles, places=range(0, 200, 20)):
    """Ten items with their titles and stars."""
    named = titles(made.items).titles
    return {made.items[k]: (named[k], stars) for k, stars in zip(places, STARS, strict=True)}


def test_ten_stars_change_the_list_as_in_python(page, visit, films, titles, star, listed):
    made = films()
    visit(made)
    given, client = own(made, titles), Client(made)
    assert listed() == [row.item_id for row in client.recommend({})]
    assert "everybody’s list" in page.inner_text("#list-note")
    ratings, seen = {}, set()
    for item, (title, stars) in given.items():
        star(title, stars)
        ratings[item] = stars
        assert listed() == [row.item_id for row in client.recommend(ratings)]
        seen.add(tuple(listed()))
    assert len(seen) == 10
    shown = page.locator("#ranked .expected").all_inner_texts()
    assert [float(text) for text in shown] == [round(row.rating, 1) for row in client.recommend(ratings)]
    assert "From 10 titles that you starred" in page.inner_text("#list-note")
    assert "new of 10. First is" in page.inner_text("#changed")


def test_numbers_of_the_pages_client_are_those_of_python(page, visit, films, titles):
    made = films()
    visit(made)
    ratings = {item: stars for item, (_, stars) in own(made, titles).items()}
    found = page.evaluate(
        """async (ratings) => {
            const { Client } = await import("./client/client.js");
            const facts = await (await fetch("contents.json")).json();
            const client = await Client.open(await (await fetch(facts.release)).arrayBuffer());
            const rows = client.recommend(ratings, { n: 50 });
            return rows.map((row) => [row.itemId, row.score, row.rating]);
        }""",
        ratings,
    )
    expected = Client(made).recommend(ratings, 50)
    assert [row[0] for row in found] == [row.item_id for row in expected]
    for numbers, row in zip(found, expected, strict=True):
        assert numbers[1:] == pytest.approx([row.score, row.rating], rel=1e-9)


def test_likes_work_as_stars_do(page, visit, likes, listed):
    made = likes()
    visit(made, name="clicks")
    assert page.inner_text("#choose-title") == "Like some titles"
    client = Client(made)
    mine = []
    for place in (3, 0, 4):
        row = page.locator("#found > li").nth(place)
        mine.append(row.get_attribute("data-item"))
        row.get_by_role("button", name=re.compile("I like")).click()
    assert listed() == [row.item_id for row in client.recommend(mine)]
    page.locator("#own-list .like").nth(0).click()
    assert listed() == [row.item_id for row in client.recommend(mine[:2])]


@pytest.mark.parametrize("made", [likes(), films()], ids=["likes", "stars"])
def test_what_is_not_for_me_leaves_the_list_until_it_is_brought_back(page, visit, made, listed, tmp_path):
    served, client = visit(made), Client(made)
    mine = {}
    for place in (3, 0):
        row = page.locator("#found > li").nth(place)
        mine[row.get_attribute("data-item")] = 5.0
        row.get_by_role("radio", name="5 stars").or_(row.locator(".like")).click()
    own = [*mine] if made.scale is None else mine
    before, asked = listed(), len(served.asked)
    assert before == [row.item_id for row in client.recommend(own)]
    without = [row.item_id for row in client.recommend(own, exclude=before[2:3])]
    page.locator("#ranked .away").nth(2).click()
    assert listed() == [*without[:2], before[2], *without[2:]], "its place offers it back"
    assert page.evaluate("document.activeElement.textContent") == "Bring back"
    page.keyboard.press("Enter")
    assert listed() == before
    page.locator("#ranked .away").nth(2).click()
    assert len(served.asked) == asked, "nobody is told"
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert listed() == without
    with page.expect_download() as download:
        page.click("#export")
    path = tmp_path / "mine.json"
    shutil.copyfile(download.value.path(), path)
    assert json.loads(path.read_text("utf-8")) == {"own": own, "not_for_me": before[2:3]}
    page.click("#away-title")
    page.locator("#away .back").click()
    assert listed() == before
    assert not page.locator("#away").is_visible()
    page.set_input_files("#import-file", path)
    page.wait_for_selector("#away")
    assert listed() == without
    page.click("#erase")
    assert "Erase your 3 titles" in page.inner_text("#erase-dialog")
    page.click("#erase-yes")
    assert page.evaluate("localStorage.length") == 0


def test_it_works_after_the_host_is_gone(page, visit, films, titles, star, listed):
    made = films()
    gone = visit(made)
    page.locator("#found > li [role=radio]").nth(4).click()
    before = listed()
    gone.stop()
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert listed() == before
    (title, stars) = own(made, titles)[made.items[20]]
    star(title, stars)
    assert listed() != before
    page.click("#statement")
    assert "What this release promises" in page.inner_text("h1")


def test_stars_are_saved_loaded_and_erased(page, visit, films, listed, tmp_path):
    made = films()
    visit(made)
    first, second = (page.locator("#found > li").nth(k).get_attribute("data-item") for k in (0, 1))
    page.locator("#found > li").nth(0).get_by_role("radio", name="5 stars").click()
    page.locator("#found > li").nth(1).get_by_role("radio", name="2 stars").click()
    before = listed()
    with page.expect_download() as download:
        page.click("#export")
    path = tmp_path / "my-stars.json"
    shutil.copyfile(download.value.path(), path)
    assert json.loads(path.read_text("utf-8")) == {first: 5, second: 2}
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert listed() == before
    assert page.locator("#own-list > li").count() == 2
    page.click("#erase")
    assert "Erase your 2 titles from this browser" in page.inner_text("#erase-dialog")
    page.click("#erase-no")
    assert page.locator("#own-list > li").count() == 2
    page.click("#erase")
    page.click("#erase-yes")
    assert page.evaluate("localStorage.length") == 0
    assert listed() == [row.item_id for row in Client(made).recommend({})]
    page.set_input_files("#import-file", path)
    page.wait_for_selector("#own-list > li")
    assert listed() == before


def test_a_file_of_stars_is_what_recommend_reads(page, visit, films, listed, tmp_path):
    from typer.testing import CliRunner

    from hushrec.cli.app import app

    visit(films())
    page.locator("#found > li").nth(2).get_by_role("radio", name="4 stars").click()
    with page.expect_download() as download:
        page.click("#export")
    path = tmp_path / "my-stars.json"
    shutil.copyfile(download.value.path(), path)
    command = ["recommend", str(tmp_path / "films.safetensors"), "--ratings", str(path)]
    rows = CliRunner().invoke(app, command).stdout.splitlines()[2:]
    assert [" ".join(row.split()[1:-2]) for row in rows] == listed()


def test_titles_are_text_and_never_markup(page, visit, films, titles):
    made = films()
    table = titles(made.items)
    table.titles[:] = [f"<img src=x onerror=alert(1)> & {title}" for title in table.titles]
    visit(made, titled=table)
    assert page.locator("#found b").nth(0).inner_text().startswith("<img src=x")
    assert page.locator("img").count() == 0
