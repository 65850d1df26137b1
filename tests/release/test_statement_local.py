"""What the statement says of data whose rows people randomized themselves."""

import json
import math
from dataclasses import replace

import pytest

from hushrec.documents.sentences import Groups
from hushrec.errors import ReleaseError
from hushrec.release.statement import Local, Measured, Statement
from support.statements import UNPROTECTED

CELLS = 40
CELL = Local("cell", 0.05, 0.00125, None, CELLS, 0.8)
SLOT = Local("slot", 11.5, 9.25, None, 3, 0.1)
RESPONSES = Measured("responses", "randomized response", 40.0, 0.8, 60, 1.0, 2.0)
SWAPS = Measured("profiles", "item substitution", 3.0, 0.1, 60, 1.0, 34.5)
UNCOVERED = Groups.exact()
ASSURING = "Anyone who reads this file"


@pytest.fixture
def cells(statement):
    facts = {
        "adjacency": "replace",
        "epsilon": 2.0,
        "delta": 0.0,
        "measurements": (RESPONSES,),
        "local": CELL,
    }
    return lambda **changes: statement(**(facts | changes))


@pytest.fixture
def slots(statement):
    facts = {
        "adjacency": "replace-items",
        "epsilon": 34.5,
        "delta": 0.0,
        "measurements": (SWAPS,),
        "local": SLOT,
    }
    return lambda **changes: statement(**(facts | changes))


def lines(statement):
    return [" ".join(line.split()) for line in str(statement).splitlines()]


# -- figures ----------------------------------------------------------------------------------------------


def test_a_small_table_shows_them(cells, slots):
    shown = lines(cells())
    at = shown.index("exact ε expected loss")
    assert shown[at + 2 : at + 6] == [
        "one cell 0.05 0.00125",
        "one user, 40 cells 2 0.05",
        "",
        "An answered cell differs from the truth with probability 0.8.",
    ]
    shown = lines(slots())
    at = shown.index("exact ε expected loss, at most")
    assert shown[at + 2 : at + 6] == [
        "one slot 11.5 9.25",
        "one user, 3 slots 34.5 27.75",
        "",
        "A slot's item is drawn at random with probability 0.1; the draw may return the same item.",
    ]
    counted = lines(slots(local=replace(SLOT, claimed=10.5)))
    at = counted.index("exact ε expected loss, at most as D2P counts, (ε, λ)")
    assert counted[at + 2 : at + 4] == ["one slot 11.5 9.25 10.5", "one user, 3 slots 34.5 27.75"]
    assert "profiles item substitution 3 swap = 0.1 60 1.000 ε = 34.5" in shown
    assert "responses randomized response 40 flip = 0.8 60 1.000 ε = 2" in lines(cells())


def test_groups_that_nobody_paid_for_take_the_promise_away(statement, slots):
    made = slots(caveats=(UNCOVERED,), epsilon=1.5, local=replace(SLOT, epsilon=0.5, expected=0.1))
    assert not made.private
    first, second, *_ = str(made).splitlines()
    assert first.startswith(
        "GROUPS NOT COVERED: the groups of items were made from everybody's exact ratings"
    )
    assert second.startswith(
        "The ε below holds only against readers who learn nothing from the groups; against "
        "anybody else nothing is promised."
    )
    assert ASSURING not in str(made)
    assert "too weak" not in str(made)
    later = statement(caveats=(UNCOVERED,), adjacency="replace-items")  # another release of the same ledger
    assert Statement.from_json(later.to_json()) == later
    assert "The ε below holds only against readers" in str(later)


# -- JSON -------------------------------------------------------------------------------------------------


def test_json_keeps_the_figures_and_old_files_have_none(statement, cells, slots):
    for made in (cells(), slots(), slots(caveats=(UNCOVERED,)), cells(caveats=(UNPROTECTED,))):
        text = json.dumps(made.to_json(), allow_nan=False)
        assert Statement.from_json(json.loads(text)) == made
    assert "local" not in statement().to_json()
    assert cells(delta=1e-6, epsilon=1.9).private  # at some δ the sum is less
    assert Statement.from_json(cells(delta=1e-6, epsilon=1.9).to_json()).local == CELL


@pytest.mark.parametrize(
    "changes",
    [
        {"local": replace(CELL, what="slot")},
        {"local": replace(CELL, epsilon=0.04)},
        {"local": replace(CELL, count=39)},
        {"local": replace(CELL, expected=0.06)},
        {"epsilon": 1.9},
        {"epsilon": 2.1},
        {"epsilon": 2.1, "delta": 1e-6},
        {"epsilon": math.inf},
        {"unit": "record"},
        {"unit": "record", "adjacency": "replace-items", "local": None},
        {"measurements": (replace(RESPONSES, mechanism="laplace"),)},
        {"measurements": (replace(RESPONSES, noise=1.5),)},
        {"measurements": (RESPONSES, Measured("sums", "laplace", 1.0, 1.0, 4, 1.0, 1.0))},
        {"measurements": ()},
    ],
    ids=str,
)
def test_figures_that_do_not_hang_together_are_refused(cells, changes):
    with pytest.raises(ReleaseError, match="without grounds"):
        Statement.from_json(cells(**changes).to_json())


def test_groups_do_not_excuse_an_unknown_epsilon(slots):
    with pytest.raises(ReleaseError, match="without grounds"):
        Statement.from_json(slots(caveats=(UNCOVERED,), epsilon=math.inf, local=None).to_json())
