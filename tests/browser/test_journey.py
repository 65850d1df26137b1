"""What people do on the page, in Chromium: star, get a list with reasons, go offline, keep and erase."""

import json
import re
import shutil

import pytest

from hushrec.release.client import Client
from support.releases import ranker, statement, valued

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


def test_every_title_says_which_stars_moved_it(page, visit, films, titles, star, listed):
    made = films()
    visit(made)
    given, client = own(made, titles), Client(made)
    for title, stars in given.values():
        star(title, stars)
    ratings = {item: stars for item, (_, stars) in given.items()}
    shown = page.locator("#ranked > li").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('.because li')].map(one => one.textContent))"
    )
    bars = page.locator("#ranked .bar > *").evaluate_all("all => all.map(bar => bar.getAttribute('class'))")
    signs = []
    for item, lines in zip(listed(), shown, strict=True):
        reasons = client.reasons(ratings, item)
        words, most = (
            {True: "pulled up by", False: "pushed down by"},
            max(abs(why.contribution) for why in reasons),
        )
        assert lines == [
            f"{'strongly' if abs(added) > most / 2 else 'a little'} {words[added > 0]} your "
            f"{'1 star' if given[mine][1] == 1 else f'{given[mine][1]} stars'} for {given[mine][0]}"
            for mine, added, *_ in reasons
        ]
        signs += ["raises" if added > 0 else "lowers" for _, added, *_ in reasons]
    assert bars == signs
    assert set(signs) == {"raises", "lowers"}


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


def test_features_of_liked_titles_are_reasons_too(page, visit, listed, titles):
    n = 240
    items = tuple(f"i{k:05d}" for k in range(n))
    made = ranker(items, **valued(7, n), statement=statement(interactions=True))
    visit(made, name="clicks")
    named, client, mine = titles(items).titles, Client(made), []
    for place in range(4):
        row = page.locator("#found > li").nth(place)
        mine.append(row.get_attribute("data-item"))
        row.get_by_role("button", name=re.compile("I like")).click()
    shown = page.locator("#ranked > li").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('.because li')].map(one => one.textContent))"
    )

    def cause(why):
        if why.item_id:
            return named[items.index(why.item_id)]
        some = [named[items.index(item)] for item in why.items[:2]]
        some += [f"{len(why.items) - 2} more"] * (len(why.items) > 2)
        return f"{why.feature}: {why.value} ({', '.join(some)})"

    told = [client.reasons(mine, item) for item in listed()]
    for reasons, lines in zip(told, shown, strict=True):
        words, most = {True: "pulled up", False: "pushed down"}, max(abs(why.contribution) for why in reasons)
        assert lines == [
            f"{'strongly' if abs(why.contribution) > most / 2 else 'a little'} "
            f"{words[why.contribution > 0]} by {cause(why)}"
            for why in reasons
        ]
    assert any(len(why.items) > 2 for reasons in told for why in reasons)


def test_without_taste_the_page_says_so(page, visit):
    visit(ranker([f"i{k}" for k in range(30)]), name="popular", titled=None)
    assert page.inner_text("#list-note").startswith("Lists are the same for everyone")
    assert page.inner_text("#list-title") == "Everybody’s list"
    page.locator("#ranked .like").nth(0).click()
    assert not page.locator(".because").count()
    assert page.inner_text("#ranked li >> nth=0").startswith("i1")
    assert page.inner_text("#list-title") == "Everybody’s list"
    assert not page.is_visible("#map")


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
    assert "Erase the 2 titles that you starred" in page.inner_text("#erase-dialog")
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
    command = ["recommend", str(tmp_path / "films.safetensors"), "--ratings", str(path), "--json"]
    told = json.loads(CliRunner().invoke(app, command).stdout)
    assert [row["id"] for row in told["items"]] == listed()


def test_titles_are_text_and_never_markup(page, visit, films, titles):
    made = films()
    table = titles(made.items)
    table.titles[:] = [f"<img src=x onerror=alert(1)> & {title}" for title in table.titles]
    visit(made, titled=table)
    assert page.locator("#found b").nth(0).inner_text().startswith("<img src=x")
    assert page.locator("img").count() == 0


def test_the_map_marks_own_and_listed_titles(page, visit, films):
    visit(films())
    page.locator("#found > li [role=radio]").nth(4).click()
    assert page.locator("#marks button.own").count() == 1
    assert page.locator("#marks button.listed").count() == 10
    assert page.locator("#marks button[tabindex='0']").count() == 1
    page.locator("#marks button[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "on your list" in focused or "yours" in focused
    assert page.is_visible("#named")
    page.keyboard.press("Enter")
    assert page.input_value("#search") == focused.split(",")[0]
    page.click("#map summary")
    assert page.locator("#words li").count() == 11
