"""Titles of every language: found as people type them, and each written in its own direction."""

import json

import pytest

pytestmark = pytest.mark.page
ODD = ("Straße, Die (1954)", "Łódź", "Smørrebrød", "Œdipe", "מכתב מאת: אלמוני!", "رسالة (1969)", "क्षणिका")
RECOMMENDER = "pages/assets/recommender"


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


def test_a_search_that_folds_too_little_is_noticed(page, visit, odd, planted):
    planted(f"{RECOMMENDER}/titles.js", "return fold(text)", 'return text.normalize("NFKD").toLowerCase()')
    with pytest.raises(AssertionError, match="strasse"):
        find_all(page, visit, odd)


def directions(page, visit, odd):
    """The direction of every title that is shown, and whether the words around it are kept apart."""
    made = odd["made"]
    visit(**odd)
    key = page.evaluate("Object.keys(localStorage).length")
    assert not key
    page.locator("#found [role=radio]").nth(4).click()
    (name,) = page.evaluate("Object.keys(localStorage)")
    own = [[made.items[at], 5] for at in range(len(ODD))]
    page.evaluate("([name, own]) => localStorage.setItem(name, own)", [name, json.dumps(own)])
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.click("#map summary")
    page.locator("#map button.own").nth(0).focus()
    return page.evaluate(
        """odd => {
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const seen = [];
            while (walker.nextNode()) {
                const { parentElement, data } = walker.currentNode;
                const title = odd.find((one) => data.includes(one));
                if (!title) continue;
                const { direction, unicodeBidi } = getComputedStyle(parentElement);
                seen.push([parentElement.closest("[id]").id, title, data === title, direction, unicodeBidi]);
            }
            return seen;
        }""",
        [*ODD],
    )


def check(seen):
    assert {"own-list", "ranked", "words"} <= {where for where, *_ in seen}
    for where, title, alone, direction, bidi in seen:
        rightward = any("\u0590" <= sign <= "\u06ff" for sign in title)
        assert alone, where
        assert (direction, bidi) == ("rtl" if rightward else "ltr", "isolate"), (where, title)


def test_every_title_has_its_own_direction(page, visit, odd):
    check(directions(page, visit, odd))


def test_a_title_whose_signs_move_into_the_words_around_is_noticed(page, visit, odd, planted):
    planted(f"{RECOMMENDER}/reasons.js", 'element("i", {}, titled(titles.title(item)))', "titles.title(item)")
    with pytest.raises(AssertionError, match="ranked"):
        check(directions(page, visit, odd))
