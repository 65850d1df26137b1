"""A card: all that an officer asks, from public facts and the given files alone, in HTML and in Markdown."""

import json
import re

import pytest
from markdown_it import MarkdownIt

from hushrec.pages.card import Given, card, html, markdown
from hushrec.pages.cards.subject import Subject
from hushrec.release.signing.signature import Signature
from support.documents import addresses, read
from support.hostile import HOSTILE, harmless
from support.releases import ranker, release, statement
from support.statements import KINDS, UNPROTECTED

SHA = "5a" * 32
SCORE = {"name": "films", "metric": "rmse", "value": 0.9123, "error": 0.0021}
ACCURACY = json.dumps({"releases": [{"name": "films", "sha256": SHA}], "scores": [SCORE]})
HEADINGS = (
    "What it promises",
    "What it does not promise",
    "What it is for",
    "The guarantee",
    "Audit",
    "Accuracy",
    "The data",
    "The ledger",
    "The file, and how to verify it",
    "Checklist after NIST SP 800-226",
)


def subject(made=None, **changes):
    return Subject.of(made or release(statement=statement(**changes)), "films.safetensors", SHA)


def of_markdown(text):
    """The words that a reader of Markdown sees."""
    inner = MarkdownIt("commonmark").enable("table").render(text)
    inner = re.sub(r' style="text-align:(left|right)"', "", inner)
    return read(f"<!doctype html>\n<html lang=en><title></title><main>{inner}</main></html>")


def words(text):
    return sorted(re.sub(r"☐|\[ \]", " ", text).replace(":", " ").replace(".", " ").split())


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_every_kind_has_a_whole_card(changes):
    said = statement(**changes)
    page = card(subject(**changes))
    assert tuple(section.title for section in page.sections) == HEADINGS
    shown = read(html(page))
    for line in str(said).splitlines():
        if "  " not in line.strip():
            assert line.strip(" ·").removesuffix(":") in shown
    assert said.sentence in shown
    assert ("the best attack finds at most" in shown) == said.private
    assert addresses(html(page)) == []


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_html_and_markdown_say_the_same(changes):
    page = card(subject(**changes), Given(accuracy=("a.json", ACCURACY), history="All holds."))
    in_html = read(html(page)).removeprefix(f"{page.title}: {page.kind} ")
    drawn = "0 0 50 50 100 100 false positives, % found, %" if statement(**changes).private else ""
    assert drawn in in_html
    assert words(in_html.replace(drawn, "", 1)) == words(of_markdown(markdown(page)))


def test_a_file_that_promises_nothing_says_so_first():
    for changes in ({"caveat": UNPROTECTED}, KINDS["exact"]):
        page = html(card(subject(**changes)))
        body = page[page.index("</header>") :]
        assert body.index("NOT PRIVATE") < body.index("<section")
        assert body.index('class="caution"') < body.index("NOT PRIVATE")
        assert "Nothing is promised." in read(page)
        assert "<svg" not in page


def test_figures_of_accuracy_are_announced_at_the_top():
    given = Given(accuracy=("a.json", ACCURACY))
    for page in (html(card(subject(), given)), markdown(card(subject(), given))):
        assert page.index("This card holds figures of accuracy") < page.index("What it promises")
        assert page.index("NOT PRIVATE: these figures") < page.index("0.9123 ± 0.0021")
    assert "figures of accuracy, which no guarantee" not in html(card(subject()))


def test_nobody_who_is_listed_is_named_and_no_item_either():
    made = release("factors and people")
    page = html(card(subject(made)))
    assert "5 people listed" in page
    assert not any(name in page for name in (*made.users, *made.items))


def test_a_signature_is_told_as_it_is():
    for state, told in (("unchecked", "not checked against a key"), ("verified", "checked against a key")):
        signed = ranker(signature=Signature(state, "ab" * 32, 7, None))
        assert told in read(html(card(subject(signed))))
    assert "unsigned: whoever can write this file" in read(html(card(subject())))


def test_no_text_of_a_file_acts():
    evil = (
        '</p><script>alert(1)</script><img src="http://a.org/x" onerror=alert(1)>[x](http://a.org)|`'
        + HOSTILE
    )
    said = statement(
        model=evil,
        settings=evil,
        hushrec=evil,
        assumes=(evil,),
        ledger=dict.fromkeys(
            ("id", "file", "head", "population", "controller", "contact", "domain", "date"), evil
        ),
        caveat=f"AUTHOR'S CLAIM: {evil}",
    )
    made = release(statement=said, config={evil: {evil: evil}}, model=evil[:60])
    page = card(Subject.of(made, evil, evil), Given(history=evil, options=((evil, evil),)))
    for shown in (read(html(page)), of_markdown(markdown(page))):
        assert harmless(shown)
        assert shown.count('</p><script>alert(1)</script><img src="http://a.org/x"') > 10
    assert addresses(html(page)) == []


def test_a_card_has_no_script_and_prints():
    page = html(card(subject()))
    assert "@media print" in page
    assert "<link" not in page
    assert "url(" not in page
