"""The parts of a statement: figures on the safe side, and what cannot be."""

import math
from dataclasses import replace

import pytest

from hushrec.documents.measured import Local, Measured, Promised, finite, is_ledger, promised_table
from support.releases import statement

SUMS = Measured("sums", "gaussian", 2.00004, 7.99999, 4000, 1.0, 0.0300004)
EXACT = Measured("counts", "exact", 0.0, 0.0, 4, 0.0, 0.0)
CELL = Local("cell", 0.05, 0.00125, None, 40, 0.8)
STRICT = Promised("strict", 0.5, 0.25, 0.4)


def test_a_line_rounds_up_what_may_be_lost_and_down_what_protects():
    cells = SUMS.cells()
    assert cells == (
        "sums", "gaussian", "2.001", "σ = 7.999", "4,000", "1.000", "μ = 0.03001",
    )  # fmt: skip
    assert EXACT.cells() == ("counts", "exact", "0", "none needed", "4", "", "")
    laplace = replace(SUMS, entries=0, mechanism="laplace")
    assert laplace.cells()[3:5] == ("b = 7.999", "each rating")
    high = 1.0000004  # prints as 1 where it is rounded to the nearest
    table = promised_table([Promised("strict", high, 0.5, high)])
    assert table.rows == [("strict", "ε = 1.00001", "ε = 1.00001", "0.5000")]
    assert table.heads == ["class", "asks for", "is promised", "weight"]
    assert promised_table([STRICT], sure=False).heads[2] == "would be promised"


@pytest.mark.parametrize(
    "changes",
    [
        {"mechanism": "magic"},
        {"name": "su\nms"},
        {"noise": 0.0},
        {"mechanism": "subsampled gaussian"},
        {"sensitivity": math.inf, "cost": math.inf},  # Gaussian noise has a bound
        {"cost": -1.0},
        {"cost": math.nan},
        {"entries": 10**400},
        {"mechanism": "randomized response", "noise": 1.01},
    ],
    ids=str,
)
def test_measurements_that_cannot_be_are_seen(changes):
    assert SUMS.is_valid
    assert EXACT.is_valid
    assert not Measured("slots", "item substitution", math.inf, 0.2, 60, 1.0, math.inf).is_valid
    assert not replace(SUMS, **changes).is_valid


@pytest.mark.parametrize(
    "changes",
    [{"weight": 1.01}, {"promised": 0.51}, {"weight": 0.0}, {"personal_epsilon": 0.0, "promised": 0.0}],
    ids=str,
)
def test_promises_that_cannot_be_are_seen(changes):
    assert STRICT.is_valid
    assert Promised("absent", 0.0, 0.0, 0.0).is_valid
    assert not replace(STRICT, **changes).is_valid


def test_what_one_answer_reveals_is_rounded_up_and_how_often_it_lies_down():
    told = replace(CELL, epsilon=0.05000004, changed=0.80000009).section(2.0000004)
    table, changed = told.blocks
    assert table.rows == [("one cell", "0.0500001", "0.00125"), ("one user, 40 cells", "2.00001", "0.05")]
    assert changed.text == "An answered cell differs from the truth with probability 0.8."
    claimed = replace(CELL, what="slot", claimed=7.0000004).section(2.0).blocks[0]
    assert claimed.heads[-1] == "as D2P counts, (ε, λ)"
    assert [row[-1] for row in claimed.rows] == ["7.00001", ""]


def test_answers_of_one_person_add_up():
    """Of cells that are drawn at random a share differs; at worst all that do."""
    assert CELL.expected_together == pytest.approx(0.05)
    assert replace(CELL, drawn=0.5).expected_together == pytest.approx(0.025)
    assert CELL.costs(2.0, 0.0)
    assert not CELL.costs(2.1, 1e-6)
    assert not CELL.costs(1.9, 0.0)
    assert CELL.costs(1.9, 1e-6), "at some δ all together may cost less than their sum"


def test_numbers_are_finite_and_not_negative():
    assert [finite(value) for value in (0, 1.5, 2**1000)] == [True] * 3
    assert not any(finite(value) for value in (-1e-9, math.inf, math.nan, 2**1024, "1", None))


@pytest.mark.parametrize("unread", [{"id": 5}, {"head": None}, {"seq": -1}, {"seq": True}, {"file": 1}])
def test_a_ledger_that_no_reader_can_name_or_compare_is_seen(unread):
    told = statement().ledger
    assert is_ledger(told)
    assert is_ledger({})
    assert not is_ledger({**told, **unread})
    assert not is_ledger([*told])
