"""Documents as HTML: every block, whole, and every text escaped."""

import pytest

from hushrec.pages.cards.hypertext import to_html
from support.documents import addresses, filled, read
from support.hostile import HOSTILE, harmless

EVIL = "</p></main><script>alert(1)</script>\"'&amp;{% x %}" + HOSTILE


@pytest.mark.parametrize("given", [{"css": "p { color: red }"}, {"stylesheet": EVIL, "home": EVIL}])
def test_every_text_is_escaped(given):
    page = to_html(filled(EVIL), **given)
    shown = read(page)
    assert harmless(shown)
    assert shown.count("</main><script>alert(1)</script>\"'&amp;{% x %}") == 5 + 3 * 17 + 2
    assert page.count("<svg") == 3
    assert len(addresses(page)) == len(given) * ("css" not in given)


def test_rules_stand_in_the_page_or_beside_it():
    inside = to_html(filled("a"), css="p > b { color: red }")
    assert "<style>\np > b { color: red }</style>" in inside
    beside = to_html(filled("a"), stylesheet="a.css")
    assert "<style>" not in beside
    assert addresses(beside) == ["a.css"]


def test_blocks_are_told_apart():
    page = to_html(filled("a"), css="")
    for mark in ('class="caution"', 'class="strong"', 'class="check"', "<dl>", "<figure>", "<pre"):
        assert page.count(mark) == 3
    assert page.count("☐") == 6
    assert '<td class="number">a</td>' in page
    assert '<th scope="row">a</th>' in page
