"""Documents as HTML: every block, whole, and every text escaped."""

import pytest

from hushrec.documents.document import Document, Paragraph, Section, Table
from hushrec.documents.html import CSS, note, notebook, page
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
    assert made.count("<svg") == 2
    assert len(addresses(made)) == (3 if given else 0)


def test_a_notebook_has_escaped_texts_and_nothing_that_acts():
    for made in (notebook(filled(EVIL)), note(EVIL, EVIL)):
        assert harmless(piece(made))
        assert "<script" not in made
        assert "&lt;script&gt;alert(1)" in made


def test_rules_stand_in_the_page_or_in_a_file():
    assert CSS.read_text("utf-8") in page(filled("a"))
    beside = page(filled("a"), stylesheet="a.css")
    assert "<style>" not in beside
    assert addresses(beside) == ["a.css"]


def test_blocks_differ_by_their_marks():
    made = page(filled("a"))
    for mark in ('class="caution"', 'class="strong"', '<ul class="open">', "<dl>", "<figure>", "<pre"):
        assert made.count(mark) == 2
    assert made.count("☐") == 4
    assert '<td class="number">a</td>' in made
    assert '<th scope="row">a</th>' in made
    assert '<th scope="col" class="number">n</th>' in made
    assert (made.count("<h2"), made.count("<h3"), made.count("<h4")) == (1, 1, 0)


def test_a_column_without_a_name_has_no_heading():
    made = page(Document("k", "t", [Table("t", ["", "n"], [("a", "1")])]))
    assert '<thead><tr><td></td><th scope="col" class="number">n</th></tr></thead>' in made


def test_cautions_that_follow_each_other_stand_in_one_box():
    made = page(Document("k", "t", [Paragraph("a", "caution"), Paragraph("b", "caution"), Paragraph("c")]))
    assert '<div class="caution" role="note">\n<p>a</p>\n<p>b</p>\n</div>\n<p>c</p>' in made


def test_a_notebook_folds_what_is_long():
    parts = [Section("long", [Paragraph("a")], folded=True), Section("short", [Paragraph("b")])]
    made = notebook(Document("k", "t", parts, about="c"))
    assert "<details><summary>long</summary><p>a</p></details><p><strong>short</strong></p><p>b</p>" in made
    assert "<details" not in page(Document("k", "t", parts))


@pytest.mark.parametrize(
    "fault", ["<p>", "<script></script>", '<p onclick="x()"></p>', '<a href="b"></a>', "<p></b>"]
)
def test_a_fault_in_a_page_is_found(fault):
    with pytest.raises(AssertionError):
        piece(fault)
