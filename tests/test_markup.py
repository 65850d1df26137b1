"""HTML for notebooks: whole, without scripts, and with every text escaped."""

from html.parser import HTMLParser

import pytest

from hushrec.markup import Html, block, facts, folded, prose, table, written
from support.hostile import HOSTILE, harmless
from support.pages import checked

EVIL = "<script>alert(1)</script>\"'&<b>" + HOSTILE


def shown(page):
    """The text that a page shows."""
    found = []
    parser = HTMLParser()
    parser.handle_data = found.append
    parser.feed(page)
    return "".join(found)


@pytest.mark.parametrize(
    "page",
    [
        block(EVIL),
        prose(EVIL),
        prose(EVIL, strong=True),
        facts([(EVIL, EVIL)]),
        table([EVIL, "n"], [[EVIL, EVIL]]),
        folded(EVIL, prose(EVIL)),
        written([EVIL, f"{EVIL}:\n  · {EVIL}", f"a  {EVIL}\nb  {EVIL}", EVIL]),
    ],
    ids=["block", "prose", "strong", "facts", "table", "folded", "written"],
)
def test_every_text_is_escaped(page):
    assert isinstance(page, Html)
    checked(page)
    assert harmless(shown(page))
    assert "<script>alert(1)</script>" in shown(page)


def test_text_that_looks_like_html_is_text():
    assert "<p>" in shown(written(["<p>one</p>", "<p>two</p>"]))
    assert "two" in written([prose("one"), table(["two"], [])])


def test_the_first_paragraph_is_the_headline_and_a_list_is_folded():
    page = written(["ε = 1\nat δ", "Assumed:\n  · one\n  · two", "name   b\none    2\nin words"])
    assert "<strong>ε = 1<br>at δ</strong>" in page
    assert "<summary>Assumed</summary>" in page
    assert "<li>one</li><li>two</li>" in page
    assert ">name   b\none    2</pre><p" in page
    assert page.count("<strong>") == 1


def test_wide_tables_scroll_and_colours_are_those_of_the_page():
    page = table(["a", "b"], [["1", "2"]])
    assert 'style="overflow-x:auto"' in page
    assert "text-align:right" in page
    assert "#" not in page


def test_a_fault_in_a_page_is_found():
    for fault in (
        "<p>",
        "<script></script>",
        '<p onclick="x()"></p>',
        '<a href="http://a.org"></a>',
        "<p></b>",
    ):
        with pytest.raises(AssertionError):
            checked(fault)
