"""The statement as a page: every word that ``hushrec show`` prints, and nothing that acts."""

import pytest

from hushrec.documents.words import LANGUAGES, Clause, Words
from hushrec.pages.statement_page import statement_html
from support.documents import addresses, read
from support.hostile import HOSTILE, harmless
from support.releases import ranker, release, statement
from support.statements import KINDS, UNPROTECTED


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_every_word_of_the_statement_stands_on_the_page(changes):
    said = statement(**changes)
    shown = read(statement_html(release(statement=said)))
    missing = {
        word for word in str(said).replace("·", "").replace("─", "").split() if word.rstrip(":") not in shown
    }
    assert not missing
    for line in str(said).splitlines():
        if "  " not in line.strip() and "─" not in line:  # a line of a table has cells of its own
            assert line.strip(" ·").removesuffix(":") in shown


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_page_is_in_its_language_and_says_what_the_file_is(lang):
    page = statement_html(release(), lang, home="index.html")
    words = Words(lang)
    assert f'<html lang="{lang}">' in page
    assert words("statement.title") in read(page)
    assert words("statement.back") in read(page)
    assert f"Planted, {words('card.about.items', n=4)}, " in read(page)


def test_a_language_without_a_statement_falls_back_to_english():
    assert statement_html(release(), "fr") == statement_html(release())


def test_what_limits_the_promise_stands_first():
    page = statement_html(release(statement=statement(caveats=(UNPROTECTED,))))
    assert page.index('class="caution"') < page.index("NOT PRIVATE") < page.index("ε =")
    assert 'class="caution"' not in statement_html(release())


def test_a_page_loads_its_stylesheet_alone():
    assert addresses(statement_html(release())) == ["document.css"]
    page = statement_html(ranker(), stylesheet="../a.css", home="index.html")
    assert addresses(page) == ["../a.css", "index.html"]


def test_no_text_of_a_file_becomes_html():
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}" + HOSTILE
    told = {"population": evil, "controller": evil, "contact": evil, "file": evil, "id": evil, "head": evil}
    said = statement(
        assumes=(Clause("assumes.catalogue_says", {"names": evil}),),
        ledger=told,
        caveats=(Clause("author.foreign", {"names": evil}),),
        model=evil,
    )
    shown = read(statement_html(release(model="<script>alert(2)</script>", statement=said), stylesheet=evil))
    assert "<script>alert(1)</script><img src=x onerror=alert(1)>" in shown
    assert "<script>alert(2)</script>" in shown
    assert "{{ 7 * 7 }}" in shown
    assert harmless(shown)
