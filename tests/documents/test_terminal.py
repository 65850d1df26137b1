"""Documents as lines of text: filled to the terminal's width, and without anything that acts on it."""

import pytest

from hushrec.documents.document import Commands, Facts, Figure, Paragraph, Points, Section, Table
from hushrec.documents.terminal import text
from support.documents import EACH, filled
from support.hostile import HOSTILE, harmless

WORDS = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize("width", [None, 80])
def test_no_text_acts_on_the_terminal(width):
    shown = text(filled(HOSTILE).blocks, width)
    assert harmless(shown)
    if width is None:
        assert shown.count(r"\x1b[2J") == 2 + 2 * (EACH + 1)  # and the title of the commands


@pytest.mark.parametrize("width", [30, 80])
def test_no_line_is_longer_than_the_terminal(width):
    blocks = [
        Paragraph(WORDS),
        Points([WORDS, WORDS]),
        Facts([("name", WORDS)]),
        Table("", ["a", "b", "c"], [(WORDS, "1", WORDS)], left=1),
        Figure("", WORDS),
    ]
    lines = text(blocks, width).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()).count("ten") == 7


def test_parts_stand_between_empty_lines_and_paragraphs_follow_each_other():
    blocks = [
        Paragraph("a"),
        Paragraph("b"),
        Points(["c"]),
        Section("D", [Facts([("e", "f"), ("long", "g")])]),
    ]
    assert text(blocks) == "a\nb\n\n  · c\n\nD:\ne     f\nlong  g"


def test_an_open_point_is_a_box_and_a_command_stays_whole():
    assert text([Points(["a"], open=True)]) == "  [ ] a"
    assert text([Commands("how", [WORDS])], 12) == f"how: {WORDS}"
    assert text([Paragraph("a"), Commands("how", ["b", "c"])]) == "a\nhow:\n  b\n  c"


def test_numbers_are_aligned_on_the_right_and_texts_on_the_left():
    assert text([Table("", ["name", "n"], [("a", "1"), ("b", "1,000")])]) == (
        "name      n\n───────────\na         1\nb     1,000"
    )
