"""The README's picture shows a page with a person's own list of titles on it."""

import pytest

from hushrec.cli.demo import QUICK

pytestmark = pytest.mark.page


def test_the_picture_is_of_a_list_of_titles(page, host, tmp_path, listed):
    from lab.pages.picture import like, write_page

    folder, titles = write_page(tmp_path, QUICK)
    page.goto(host(folder).url)
    like(page, titles)
    assert page.inner_text("#list-title") == "Your list"
    assert set(page.locator("#own-list b").all_inner_texts()) == set(titles)
    shown = page.locator("#ranked > li b").all_inner_texts()
    assert len(shown) == 10
    assert set(shown) <= set(QUICK.make_clicks().domain.items) - set(titles)
    assert page.inner_text("#sent") == "Bytes sent: 0"


def test_it_is_taken_whole(browser, host, tmp_path):
    from lab.pages.picture import SCALE, SIZE, shoot, write_page

    folder, titles = write_page(tmp_path, QUICK)
    shoot(browser, host(folder).url, titles, tmp_path / "page.png")
    data = (tmp_path / "page.png").read_bytes()
    size = [int.from_bytes(data[place : place + 4]) for place in (16, 20)]
    assert size == [SIZE["width"] * SCALE, SIZE["height"] * SCALE]
