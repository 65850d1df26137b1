"""Titles of every language: found as people type them, and each written in its own direction."""

import pytest

pytestmark = pytest.mark.page
ODD = ("Straße, Die (1954)", "Łódź", "Smørrebrød", "Œdipe", "מכתב מאת: אלמוני!", "رسالة (1969)", "क्षणिका")


@pytest.fixture
def odd(films, titles):
    """A release and its titles, of which the first are odd."""
    made = films()
    table = titles(made.items)
    table.titles[: len(ODD)] = ODD
    return {"made": made, "titled": table}


def found(page, sought):
    page.fill("#search", sought)
    return page.locator("#found b").all_inner_texts()


FINDS = {
    "strasse": "Straße, Die (1954)",
    "STRASSE": "Straße, Die (1954)",
    "straẞe": "Straße, Die (1954)",
    "lodz": "Łódź",
    "smorrebrod": "Smørrebrød",
    "oedipe": "Œdipe",
    "רסאלה": None,
    "رسالة": "رسالة (1969)",
    "क्षणिका": "क्षणिका",
}


def find_all(page, visit, odd):
    visit(**odd)
    for sought, title in FINDS.items():
        assert found(page, sought) == ([] if title is None else [title]), sought


def test_letters_are_found_as_people_type_them(page, visit, odd):
    find_all(page, visit, odd)
