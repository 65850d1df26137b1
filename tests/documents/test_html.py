"""Documents as HTML: every block, whole, and every text escaped."""

import pytest

from hushrec.documents.html import note, notebook, page
from support.documents import AROUND, EACH, addresses, filled, piece, read
from support.hostile import HOSTILE, harmless

EVIL = "</p></main><script>alert(1)</script>\"'&amp;{% x %}" + HOSTILE
SHOWN = "</main><script>alert(1)</script>\"'&amp;{% x %}"


@pytest.mark.parametrize("given", [{}, {"stylesheet": EVIL, "home": EVIL, "icon": EVIL, "back": "Back"}])
def test_every_text_is_escaped(given):
    made = page(filled(EVIL), **given)
    shown = read(made)
    assert harmless(shown)
    assert shown.count(SHOWN) == AROUND + 2 + 2 * EACH  # title and label once more, in the title of the page
    assert len(addresses(made)) == (3 if given else 0)


def test_a_notebook_has_escaped_texts_and_nothing_that_acts():
    for made in (notebook(filled(EVIL)), note(EVIL, EVIL)):
        assert harmless(piece(made))
        assert "<script" not in made
        assert "&lt;script&gt;alert(1)" in made
