"""Documents as Markdown: the same words as in HTML, and no text that acts."""

import re

import pytest
from markdown_it import MarkdownIt

from hushrec.documents.document import Commands, Document, Paragraph, Points, Section
from hushrec.documents.markdown import markdown
from hushrec.escapes import escaped
from support.documents import AROUND, EACH, filled, read
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
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown(document))
    )
    inner = re.sub(r' style="text-align:(left|right)"', "", inner)
    return f"<!doctype html>\n<html lang=en><title>-</title><main>{inner}</main></html>"


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_means_itself(text):
    page = rendered(filled(text))
    shown = read(page)
    assert harmless(shown)
    assert shown.count(" ".join(escaped(text).split())) == AROUND + 2 * EACH
    for tag in ("<script", "<img", "<a ", "<hr", "<em", "<s>", "<code>x"):
        assert tag not in page
    found = {tag: page.count(tag) for tag in ("<h1", "<h2", "<h3", "<table", "<pre")}
    assert found == {"<h1": 1, "<h2": 1, "<h3": 1, "<table": 2, "<pre": 2}


def test_bare_addresses_and_names_are_no_links():
    told = markdown(Document("k", "t", [], about="see https://a.org, Www.1.org, //b, c.org, 0.5 and @c"))
    assert r"see https\:\//a\.org, Www\.1\.org, \//b, c\.org, 0.5 and \@c" in told


def test_a_fence_is_longer_than_any_in_it():
    page = markdown(Document("k", "t", [Commands("l", ["```", "````` x"])]))
    assert "``````\n```\n````` x\n``````" in page


def test_the_parts_stand_in_order():
    blocks = [Paragraph("d", "strong"), Paragraph("e", "caution"), Section("f", [Points(["g"], open=True)])]
    page = markdown(Document("k", "a.b", blocks, about="c", label="Card"))
    assert page == "# a\\.b\n\n**Card.** c\n\n**d**\n\n> **e**\n\n## f\n\n- [ ] g\n"
