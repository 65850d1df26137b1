"""A card: all that an officer asks, from public facts and the given files alone, in HTML and in Markdown."""

import json
import re
import shlex
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from hushrec.documents.document import Commands, Facts, Points, Section
from hushrec.documents.html import page
from hushrec.documents.markdown import markdown
from hushrec.documents.odds import Odds
from hushrec.documents.terminal import text
from hushrec.documents.words import LANGUAGES, Clause, Words, english, texts
from hushrec.pages.card import Given, card
from hushrec.pages.reviewed_file import ReviewedFile, on_scale
from hushrec.pages.trade_off import trade_off
from support.documents import addresses, read
from support.hostile import HOSTILE, harmless
from support.releases import ranker, release, statement
from support.statements import CLAIMED, KINDS, UNPROTECTED

SHA = "5a" * 32
SCORE = {"name": "films", "metric": "rmse", "value": 0.9123, "error": 0.0021}
ACCURACY = json.dumps({"releases": [{"name": "films", "sha256": SHA}], "scores": [SCORE]})
RECORDED = Clause("card.ledger.history", {"file": "history.json", "records": 3, "release": 1})
NOTHING = Given()
EVERYTHING = Given(accuracy=("a.json", ACCURACY), history=RECORDED)
HEADINGS = [
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
]
FACTORS = [
    "Privacy parameters: ε and δ",
    "Unit of privacy",
    "Algorithms and correctness",
    "Utility",
    "Bias",
    "Query model, and other releases of the same data",
    "Trust models",
    "Side channels, and challenges of implementing mechanisms",
    "Data security and access control",
    "Data collection exposure",
]
EVERY_KIND = pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)


def reviewed(made=None, **changes):
    return ReviewedFile.of(made or release(statement=statement(**changes)), "films.safetensors", SHA)


def data_set():
    cells = Clause("card.about.rows", {"people": 9, "cells": 27})
    return ReviewedFile("data_set", "m", {}, 4, on_scale((1, 5, 1)), cells, statement(), named="rows.parquet")


def parts(document):
    """Blocks by heading; those before the first heading have none."""
    found = {block.title: block.blocks for block in document.blocks if isinstance(block, Section)}
    return {"": [block for block in document.blocks if not isinstance(block, Section)], **found}


def part(number, of=None, given=NOTHING, **changes):
    """The blocks below a heading of a card."""
    return parts(card(of or reviewed(**changes), given))[HEADINGS[number]]


def points(**changes):
    return part(1, **changes)[0].items


def facts(blocks):
    return dict(row for block in blocks if isinstance(block, Facts) for row in block.rows)


def commands(of):
    return next(block for block in part(8, of) if isinstance(block, Commands)).lines


def checks(given=NOTHING, **changes):
    """Answers and open boxes of the checklist, by factor."""
    _, *rows = part(9, given=given, **changes)
    return {row.title: (row.blocks[0].text, row.blocks[1].items) for row in rows}


def of_markdown(written):
    """The words that a reader of Markdown sees."""
    inner = MarkdownIt("commonmark").enable("table").render(written)
    inner = re.sub(r' style="text-align:(left|right)"', "", inner)
    return read(f"<!doctype html>\n<html lang=en><title></title><main>{inner}</main></html>")


def words(shown):
    return sorted(re.sub(r"☐|\[ \]", " ", shown).replace(":", " ").replace(".", " ").split())


# -- the whole card ----------------------------------------------------------------------------------------


@EVERY_KIND
def test_every_kind_has_a_whole_card(changes):
    said = statement(**changes)
    document = card(reviewed(**changes))
    headings = [heading for heading in HEADINGS if heading != "The guarantee" or said.measurements]
    assert [*parts(document)][1:] == headings
    shown = read(page(document))
    for line in str(said).splitlines():
        if "  " not in line.strip() and "─" not in line:  # a line of a table has cells of its own
            assert line.strip(" ·").removesuffix(":") in shown
    assert said.sentence in shown
    assert ("the best attack finds at most" in shown) == said.private
    assert addresses(page(document)) == []


@EVERY_KIND
@pytest.mark.parametrize("lang", LANGUAGES)
def test_html_and_markdown_say_the_same(changes, lang):
    document = card(reviewed(**changes), EVERYTHING, lang)
    said, spoken = statement(**changes), Words(lang)
    in_html = read(page(document)).removeprefix(f"{document.title}: {document.label} ")
    axes = [spoken(f"card.trade_off.{name}") for name in ("across", "up")]
    drawn = f"0 0 50 50 100 100 {' '.join(axes)}" if said.private else ""
    assert drawn in in_html
    assert words(in_html.replace(drawn, "", 1)) == words(of_markdown(markdown(document)))


def test_a_card_of_one_of_several_begins_with_all_of_them_together():
    first, second, *_ = card(reviewed(**KINDS["one of several"])).blocks
    assert first.text.startswith("All 52 releases that this ledger allows, together: ε = 4 at δ = 1e-06")
    assert first.tone == "strong"
    assert second.title == HEADINGS[0]


def test_the_promise_of_one_of_several_is_first_that_of_all_of_them_together():
    said = statement(**KINDS["one of several"])
    promise, alice, figure, table, alone, own_promise, own_alice = part(0, **KINDS["one of several"])
    assert promise.text.startswith("Anyone who reads all 52 files")
    assert alice.blocks[0].text.startswith(
        "Someone who knows everything except whether Alice took part reads all 52 files"
    )
    assert [figure, table] == trade_off(Odds.of(4.0, 1e-6), english)
    assert alone.text == "This release alone: ε = 0.466 at δ = 1e-06."
    assert [promise, alice, alone, own_promise, own_alice] == said.plain(english), "as the statement"
    answer, _ = checks(**KINDS["one of several"])[FACTORS[0]]
    assert answer.startswith("All 52 releases that this ledger allows, together: ε = 4 at δ = 1e-06")
    assert "This file: ε = 0.466 at δ = 1e-06" in answer


@pytest.mark.parametrize("kind", ["user", "one of a series"])
def test_the_promise_of_one_or_of_a_series_is_told_once(kind):
    kinds = [type(block).__name__ for block in part(0, **KINDS.get(kind, {}))]
    assert kinds == ["Paragraph", "Section", "Figure", "Table"], "promise, Alice's story, figure, table"


@EVERY_KIND
def test_the_summary_is_in_the_language_and_the_rest_says_that_it_is_not(changes):
    document = card(reviewed(**changes), lang="de")
    told = Words("de")("untranslated_card")
    (note,) = (block for block in document.blocks if getattr(block, "text", "") == told)
    summary = replace(document, blocks=document.blocks[: document.blocks.index(note)])
    assert '<html lang="de">' in page(summary)
    assert 'lang="en"' not in page(summary), "what is promised, what not, and the guarantee"
    assert '<h2 lang="en">Audit' in re.sub(r' id="s\d+"', "", page(document))
    assert "not translated" not in text(card(reviewed(**changes)).blocks)


def test_every_sentence_of_a_card_is_said_by_some_card(monkeypatch):
    said, speak = set(), Words.__call__

    def heard(self, name, **values):
        plural = f"{name}.other" in texts("en")
        said.update({name} if not plural else {f"{name}.one", f"{name}.other"})
        return speak(self, name, **values)

    monkeypatch.setattr(Words, "__call__", heard)
    for changes in KINDS.values():
        card(reviewed(**changes), EVERYTHING)
    makers = [release("factors and people"), ranker(), ranker(counts=9), ranker(scale=(1, 5, 1), likes=4.0)]
    known = statement().ledger | {"domain": SHA}
    makers += [release(statement=statement(model="PrivateEASE", hushrec="1", settings=SHA, ledger=known))]
    makers.append(release(settings={}, signed_by="a key"))
    for made in makers:
        card(reviewed(made))
    card(data_set())
    card(reviewed(unit="user", adjacency="replace-items"))
    names = {name for name in texts("en") if name.startswith("card.")}
    rest = {"card.audit.exceeded", "card.audit.about", "card.audit.table", "card.accuracy.unknown"}
    assert names - said == rest | {"card.algorithms.task_read"}, "they need an audit, or a figure of none"


def test_a_file_that_promises_nothing_says_so_first():
    for changes in ({"caveats": (UNPROTECTED,)}, KINDS["exact"]):
        written = page(card(reviewed(**changes)))
        body = written[written.index("</header>") :]
        assert body.index("NOT PRIVATE") < body.index("<section")
        assert body.index('class="caution"') < body.index("NOT PRIVATE")
        assert "Nothing is promised." in read(written)
        assert "<svg" not in written


def test_an_audit_that_refutes_the_claim_comes_before_all_else():
    finding = {"kind": "replay", "tries": 9, "differs": "a table", "holds": True}
    finding |= dict.fromkeys(("figure", "mistaken", "noticed"))
    told = {"model": "Planted", "settings": {}, "epsilon": 1.25, "delta": 1e-6, "findings": [finding]}
    told |= {"unit": "user", "adjacency": "add-remove"}
    refuted = card(reviewed(), Given(audit=("audit.json", json.dumps(told))))
    assert refuted.blocks[0].text.startswith("AN AUDIT FOUND MORE THAN IS CLAIMED")
    assert refuted.blocks[0].tone == "caution"


def test_figures_of_accuracy_are_announced_at_the_top():
    given = Given(accuracy=("a.json", ACCURACY))
    for written in (page(card(reviewed(), given)), markdown(card(reviewed(), given))):
        assert written.index("This card holds figures of accuracy") < written.index("What it promises")
        assert written.index("NOT PRIVATE: these figures") < written.index("0.9123 ± 0.0021")
    assert "figures of accuracy, which no guarantee" not in page(card(reviewed()))


def test_nobody_who_is_listed_is_named_and_no_item_either():
    made = release("factors and people")
    written = page(card(reviewed(made)))
    assert "5 people listed" in written
    assert not any(name in written for name in (*made.users, *made.items))


def test_no_text_of_a_file_acts():
    evil = (
        '</p><script>alert(1)</script><img src="http://a.org/x" onerror=alert(1)>[x](http://a.org)|`'
        + HOSTILE
    )
    said = statement(
        model=evil,
        settings=evil,
        hushrec=evil,
        assumes=(Clause("assumes.catalogue_says", {"names": evil}),),
        ledger=dict.fromkeys(
            ("id", "file", "head", "population", "controller", "contact", "domain", "date"), evil
        ),
        caveats=(Clause("author.foreign", {"names": evil}),),
    )
    made = release(statement=said, settings={evil: {evil: evil}}, model=evil[:60])
    history = Clause("card.ledger.history", {"file": evil, "records": 1, "release": 1})
    document = card(ReviewedFile.of(made, evil, evil), Given(history=history, options=((evil, evil),)))
    for shown in (read(page(document)), of_markdown(markdown(document))):
        assert harmless(shown)
        assert shown.count('</p><script>alert(1)</script><img src="http://a.org/x"') > 10
    assert addresses(page(document)) == []


def test_a_card_has_no_script_and_prints():
    written = page(card(reviewed()))
    assert "@media print" in written
    assert "<link" not in written
    assert "url(" not in written


# -- what is not promised, and what it is for ----------------------------------------------------------------


def test_what_an_adjacency_leaves_out_comes_first():
    for unit, adjacency in (("record", "add-remove"), ("record", "replace"), ("user", "replace")):
        said = statement(unit=unit, adjacency=adjacency)
        assert points(unit=unit, adjacency=adjacency)[0] == said.guarantee.covered(Words())
    assert points()[0].startswith("Facts about everybody")


def test_of_interactions_no_rating_is_spoken_of():
    first, *_ = points(unit="record", interactions=True)
    assert "interaction" in first
    assert "rating" not in first


def test_of_a_file_that_promises_nothing_nothing_else_is_listed():
    for changes in ({"caveats": (UNPROTECTED,)}, KINDS["exact"]):
        (point,) = points(**changes)
        assert point.startswith("Anything.")


def test_accounts_are_spoken_of_where_one_is_the_unit():
    (accounts,) = (point for point in points() if "several accounts" in point)
    assert accounts.endswith("Several people on one account count as one person.")
    assert not any("account" in point for point in points(unit="record", interactions=True))
    known = "If readers know that you gave it"
    assert known not in read(page(card(reviewed(unit="record", interactions=True))))
    assert known in read(page(card(reviewed(unit="record"))))


def test_people_who_are_listed_and_who_is_trusted_are_said():
    assert any(
        "a row for each person" in point for point in points(of=reviewed(release("factors and people")))
    )
    assert not any("a row for each person" in point for point in points())
    assert any("The curator, who holds all data" in point for point in points())
    assert any("randomized the rows is trusted" in point for point in points(**KINDS["released rows"]))


def test_uses_are_those_of_the_file():
    named = facts(part(2))
    assert set(named) == {"intended use", "out of scope", "taste", "caveats"}
    assert named["taste"] == release().taste
    assert "not for publication" in facts(part(2, caveats=(UNPROTECTED,)))["intended use"]
    assert "randomized rows" in facts(part(2, data_set()))["intended use"]
    assert "taste" not in facts(part(2, data_set()))


# -- the data, the ledger, the file --------------------------------------------------------------------------


def test_data_are_public_facts_and_the_ledger_says_who_answers_for_them():
    assert facts(part(6))["catalogue"] == "4 items, declared as public"
    assert facts(part(6, data_set()))["holds"] == "9 people, 27 cells"
    named = facts(part(7, **KINDS["declared"]))
    assert named["population"] == "Our subscribers"
    assert named["controller"] == "Films Ltd"
    assert named["head"] == "ab" * 32
    assert "spent with this release: ε = 1.25 of a total of 4" in text(part(7, **KINDS["declared"]))


def test_what_is_missing_is_named():
    assert "Not declared: population, controller, contact." in text(part(7))
    assert "No ledger that is kept was charged" in text(part(7, ledger={}))
    assert "Not checked" not in text(part(8, ledger={}))


def test_a_checked_history_is_said_to_be_checked():
    assert "Verified for this card: history.json holds 3 records" in text(part(8, given=EVERYTHING))
    assert "Not checked" not in text(part(8, given=EVERYTHING))
    assert "Not checked for this card" in text(part(8))


def test_the_file_is_named_by_its_digest():
    named = facts(part(8, hushrec="0.1.0", settings="77" * 32))
    assert named["SHA-256"] == SHA
    assert named["SHA-256 of the settings"] == "77" * 32
    assert named["made by"] == "hushrec 0.1.0"
    assert named["model"] == "Planted, settings rank=2, covariance.clip=None"
    assert "digest of the domain" not in named


def test_a_signature_is_called_what_it_is():
    told = facts(part(8, reviewed(ranker(signed_by="abc"))))["signature"]
    assert told == "checked against a key of the author of this card, abc"
    assert facts(part(8))["signature"].startswith("not checked: everyone who can write this file")


def test_settings_of_any_length_are_one_line():
    made = reviewed(release(settings={"a": "x" * 10_000}))
    assert len(facts(part(8, made))["model"].encode()) <= 512


def test_the_name_of_a_file_is_one_word_of_a_command():
    for name, word in (("a; touch x #.safetensors", "a; touch x #.safetensors"), ("-c", "./-c")):
        steps = commands(replace(reviewed(), named=name))
        assert [shlex.split(step)[:2][-1] for step in steps[:1]] == [word]
        assert all(word in shlex.split(step) for step in steps)


def test_the_steps_verify_this_file():
    steps = commands(reviewed())
    assert all("films.safetensors" in step for step in steps)
    assert any("--key" in step for step in steps)
    assert not any("--key" in step for step in commands(data_set()))


# -- the checklist: a part for each factor, answered from the statement, with boxes that stay open -----------


@EVERY_KIND
def test_every_factor_is_answered_and_leaves_a_box(changes):
    rows = checks(**changes)
    assert [*rows] == FACTORS
    assert all(answer and tasks for answer, tasks in rows.values())
    _, *sections = part(9, **changes)
    assert all(isinstance(row.blocks[1], Points) and row.blocks[1].open for row in sections)


def test_no_figure_is_given_where_none_is_promised():
    for changes in (KINDS["seeded"], KINDS["exact"]):
        rows = checks(**changes)
        assert rows[FACTORS[0]][0] == "No finite ε is promised."
        assert "protects no one" in rows[FACTORS[7]][0]
    assert checks()[FACTORS[0]][0].startswith("This file: ε = 1.25 at δ = 1e-06. μ ≤ 0.673 (Gaussian")
    answer, _ = checks(**KINDS["one of a series"])[FACTORS[0]]
    assert "This file" not in answer, "the ε is that of all of them"
    assert "ε = 1.25 of the series. μ ≤ 0.673" in answer


@pytest.mark.parametrize(
    ("unit", "adjacency", "told"),
    [
        ("user", "add-remove", ("everything that one person gave", "(unbounded")),
        ("record", "add-remove", ("one single rating", "(unbounded")),
        ("record", "replace", ("one single rating", "(bounded", "that it is there is not protected")),
        ("user", "replace-items", ("everything that one person gave", "which items")),
    ],
)
def test_the_unit_and_its_neighbours_are_named(unit, adjacency, told):
    answer, _ = checks(unit=unit, adjacency=adjacency)[FACTORS[1]]
    assert all(word in answer for word in told)


def test_an_authors_bounds_are_not_called_ours():
    answer, tasks = checks(caveats=(CLAIMED,))[FACTORS[2]]
    assert "declared by their author" in answer
    assert any("reviewed" in task for task in tasks)
    assert "derived in hushrec" in checks()[FACTORS[2]][0]


def test_what_is_given_changes_what_is_left_to_do():
    assert checks(EVERYTHING)[FACTORS[3]] != checks()[FACTORS[3]]


def test_the_ledgers_total_is_part_of_an_answer():
    answer, _ = checks(**KINDS["declared"])[FACTORS[5]]
    assert "this is 1 of at most 1. ε = 1.25 of a total of 4 is spent with it" in answer
    assert "No kept ledger" in checks(ledger={})[FACTORS[5]][0]


def test_rows_that_were_randomized_alone_need_no_trusted_curator():
    assert checks(**KINDS["released rows"])[FACTORS[6]][0].startswith("Local model")
    assert checks()[FACTORS[6]][0].startswith("Central model")
    assert "only if it converged" in checks(**KINDS["conditional"])[FACTORS[7]][0]
