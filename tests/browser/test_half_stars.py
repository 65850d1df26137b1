"""Scales in steps of half a star: as many stars as the scale has, in halves, with a figure beside them."""

import numpy as np
import pytest

from hushrec.release.client import Client
from support.releases import release

pytestmark = pytest.mark.page


def scaled(*scale):
    made = release(n=240, rank=4, scale=scale)
    made.tensors["item_popularity"][:] = np.exp(np.random.default_rng(0).normal(size=240))
    return made


def row(page, nth=0):
    return page.locator("#found > li").nth(nth)


def labels(page):
    return row(page).get_by_role("radio").evaluate_all("all => all.map(one => one.ariaLabel)")


@pytest.mark.parametrize("least", [0.5, 1.0])
def test_halves_of_five_stars(page, visit, least):
    made = scaled(least, 5.0, 0.5)
    visit(made)
    ratings = [half / 2 for half in range(int(2 * least), 11)]
    assert labels(page) == [f"{rating:g} of 5 stars" for rating in ratings]
    stars = row(page).get_by_role("radiogroup")
    places = stars.locator("> *").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert places == pytest.approx([places[0]] * 10), (
        "ten halves of one width, also of stars that begin at one"
    )
    item = row(page).get_attribute("data-item")
    row(page).get_by_role("radio", name="4.5 of 5 stars").click()
    assert row(page).locator(".full").count() == 9
    assert row(page).locator(".figure").inner_text() == "4.5"
    shown = page.locator("#ranked > li").evaluate_all("rows => rows.map(row => row.dataset.item)")
    assert shown == [found.item_id for found in Client(made).recommend({item: 4.5})]
    assert "your 4.5 stars for" in page.inner_text("#ranked")
