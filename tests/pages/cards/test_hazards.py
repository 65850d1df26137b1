"""The checklist: a row for each factor, answered from the statement, with boxes that stay open."""

import math

import pytest

from hushrec.pages.cards.document import Check
from hushrec.pages.cards.hazards import hazards
from hushrec.pages.cards.subject import Subject
from support.releases import release, statement
from support.statements import KINDS

FACTORS = (
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
)


def checks(*, audited=False, measured=False, **changes):
    subject = Subject.of(release(statement=statement(**changes)))
    _, *rows = hazards(subject, audited=audited, measured=measured)
    return {row.name: row for row in rows if isinstance(row, Check)}


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_every_factor_is_answered_and_leaves_a_box(changes):
    rows = checks(**changes)
    assert tuple(rows) == FACTORS
    assert all(row.answered and row.tasks for row in rows.values())


def test_no_figure_is_given_where_none_is_promised():
    for changes in ({"caveat": "NOT PRIVATE: seeded"}, {"epsilon": math.inf, "caveat": "NOT PRIVATE: x"}):
        rows = checks(**changes)
        assert rows[FACTORS[0]].answered == "No finite ε is promised."
        assert "protects nobody" in rows[FACTORS[7]].answered
    assert checks()[FACTORS[0]].answered.startswith("ε = 1.25 at δ = 1e-06, μ ≤ 0.673 (Gaussian")


@pytest.mark.parametrize(
    ("unit", "adjacency", "words"),
    [
        ("user", "add-remove", ("everything that one person gave", "(unbounded")),
        ("rating", "add-remove", ("one single rating", "(unbounded")),
        ("rating", "replace", ("one single rating", "(bounded", "that it is there is not protected")),
        ("user", "replace-items", ("everything that one person gave", "which items")),
    ],
)
def test_the_unit_and_its_neighbours_are_named(unit, adjacency, words):
    answered = checks(unit=unit, adjacency=adjacency)[FACTORS[1]].answered
    assert all(word in answered for word in words)


def test_an_authors_bounds_are_not_called_ours():
    told = checks(caveat="AUTHOR'S CLAIM: mine.Model")["Algorithms and correctness"]
    assert "declared by their author" in told.answered
    assert any("reviewed" in task for task in told.tasks)
    assert "derived in hushrec" in checks()["Algorithms and correctness"].answered


def test_what_is_given_changes_what_is_left_to_do():
    assert checks(audited=True)[FACTORS[2]].tasks != checks()[FACTORS[2]].tasks
    assert checks(measured=True)[FACTORS[3]].answered != checks()[FACTORS[3]].answered


def test_the_ledgers_total_is_told():
    told = checks(**KINDS["declared"])[FACTORS[5]].answered
    assert "this is 1 of at most 1; ε = 1.25 of a total of 4 is spent with it" in told
    assert "No kept ledger" in checks(ledger={})[FACTORS[5]].answered


def test_rows_that_were_randomized_alone_need_no_trusted_curator():
    assert checks(**KINDS["released rows"])[FACTORS[6]].answered.startswith("Local model")
    assert checks()[FACTORS[6]].answered.startswith("Central model")
    assert "only if it converged" in checks(**KINDS["conditional"])[FACTORS[7]].answered
