"""Documents as Markdown: the same words as in HTML, and no text that acts."""

import re

import pytest
from markdown_it import MarkdownIt

from hushrec.escapes import escaped
from hushrec.pages.cards.document import Document, Lines, Section, Text
from hushrec.pages.cards.markdown import to_markdown
from support.documents import filled, read
from support.hostile import HOSTILE, harmless

TEXTS = (
    "<script>alert(1)</script>",
    "[a](javascript:alert(1)) ![b](http://a.org/b.png) <http://a.org>",
    "# heading",
    "- item",
    "+ item",
    "1. item",
    "12) item",
    "> quote",
    "=====",
    "---",
    "```sh",
    "a | b",
    "**bold** _soft_ ~~gone~~ `code` $x$",
    "&amp; &#35;",
    r"back\slash \# \\",
    "    indented",
    "item #1 and a{b}",
    "https://evil.example/x www.evil.example WWW.evil.example @root me@evil.example",
    HOSTILE,
)


def rendered(document):
    """The page that a reader of Markdown makes of it, in the frame of ours."""
    inner = (
        MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .render(to_markdown(document))
    )
    inner = re.sub(r' style="text-align:(left|right)"', "", inner)
    return f"<!doctype html>\n<html lang=en><title>-</title><main>{inner}</main></html>"


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_means_itself(text):
    page = rendered(filled(text))
    shown = read(page)
    assert harmless(shown)
    assert shown.count(" ".join(escaped(text).split())) == 3 + 3 * 17 + 2
    for tag in ("<script", "<img", "<a ", "<hr", "<em", "<s>", "<code>x"):
        assert tag not in page
    found = {tag: page.count(tag) for tag in ("<h1", "<h2", "<h3", "<table", "<pre")}
    assert found == {"<h1": 1, "<h2": 2, "<h3": 3, "<table": 3, "<pre": 3}


def test_bare_addresses_and_names_are_no_links():
    told = to_markdown(Document("k", "t", "see https://a.org, Www.1.org, //b, c.org, 0.5 and @c", (), ()))
    assert r"see https\:\//a\.org, Www\.1\.org, \//b, c\.org, 0.5 and \@c" in told


def test_a_fence_is_longer_than_any_in_it():
    page = to_markdown(Document("k", "t", "a", (Lines("l", ("```", "````` x")),), ()))
    assert "``````\n```\n````` x\n``````" in page


def test_the_parts_stand_in_order():
    page = to_markdown(Document("Card", "a.b", "c", (Text("d", strong=True),), (Section("e", (Text("f"),)),)))
    assert page == "# a\\.b\n\n**Card.** c\n\n**d**\n\n## e\n\nf\n"
