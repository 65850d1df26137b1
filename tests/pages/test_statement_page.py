"""The statement as a page: every word that ``hushrec show`` prints, a checklist, and nothing that acts."""

import pytest

from hushrec.documents.sentences import Assumes, Author
from hushrec.pages.statement_page import statement_html
from support.documents import addresses, read
from support.hostile import HOSTILE, harmless
from support.releases import statement
from support.statements import KINDS


def shown(about="films", *, of=None, **options):
    return statement_html(of or statement(), about, **options)


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_every_word_of_the_statement_stands_on_the_page(changes):
    said = statement(**changes)
    page = read(shown(of=said))
    missing = {
        word for word in str(said).replace("·", "").replace("─", "").split() if word.rstrip(":") not in page
    }
    assert not missing
    for line in str(said).splitlines():
        if "  " not in line.strip() and "─" not in line:  # a line of a table has cells of its own
            assert line.strip(" ·").removesuffix(":") in page


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_a_story_is_told_where_something_is_promised(changes):
    said = statement(**changes)
    page = shown(of=said)
    assert ("What that means for Alice" in page) == (said.private and bool(said.measurements))
    assert page.count("☐") == 10


def test_of_one_of_several_the_story_of_all_together_comes_first():
    page = read(shown(of=statement(**KINDS["one of several"])))
    assert page.index("together: ε = 4 ") < page.index("(all 52 files)") < page.index("This release alone: ε")


def test_a_page_loads_its_stylesheet_alone():
    assert addresses(shown()) == []
    assert addresses(shown(stylesheet="../a.css", home="index.html")) == ["../a.css", "index.html"]


def test_no_text_of_a_file_becomes_html():
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}" + HOSTILE
    told = {"population": evil, "controller": evil, "contact": evil, "file": evil, "id": evil, "head": evil}
    said = statement(
        assumes=(Assumes.catalogue_says(names=evil),),
        ledger=told,
        caveats=(Author.foreign(names=evil),),
        model=evil,
    )
    page = read(shown("<script>alert(2)</script>", of=said, stylesheet=evil))
    assert "<script>alert(1)</script><img src=x onerror=alert(1)>" in page
    assert "<script>alert(2)</script>" in page
    assert "{{ 7 * 7 }}" in page
    assert harmless(page)
