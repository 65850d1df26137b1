"""The figures of a statement: on the safe side in tables, and what cannot be together."""

from dataclasses import replace

import pytest

from hushrec.documents.measured import Local, Measured, Promised
from hushrec.documents.sentences import answers_section, measured_table, promised_table

SUMS = Measured("sums", "gaussian", 2.00004, 7.99999, 4000, 1.0, 0.0300004)
EXACT = Measured("counts", "exact", 0.0, 0.0, 4, 0.0, 0.0)
CELL = Local("cell", 0.05, 0.00125, None, 40, 0.8)
STRICT = Promised("strict", 0.5, 0.25, 0.4)


def test_a_line_rounds_up_what_may_be_lost_and_down_what_protects():
    laplace = replace(SUMS, entries=0, mechanism="laplace")
    sums, exact, errors = measured_table([SUMS, EXACT, laplace]).rows
    assert sums == ("sums", "gaussian", "2.001", "σ = 7.999", "4,000", "1.000", "μ = 0.03001")
    assert exact == ("counts", "exact", "0", "none needed", "4", "", "")
    assert errors[3:5] == ("b = 7.999", "each rating")
    high = 1.0000004  # prints as 1 where it is rounded to the nearest
    table = promised_table([Promised("strict", high, 0.5, high)])
    assert table.rows == [("strict", "ε = 1.00001", "ε = 1.00001", "0.5000")]
    assert table.heads[2] == "is promised"
    assert promised_table([STRICT], sure=False).heads[2] == "would be promised"


def test_what_one_answer_reveals_is_rounded_up_and_how_often_it_lies_down():
    table, changed = answers_section(replace(CELL, epsilon=0.05000004, changed=0.80000009), 2.0000004).blocks
    assert table.rows == [["one cell", "0.0500001", "0.00125"], ["one user, 40 cells", "2.00001", "0.05"]]
    assert changed.text == "An answered cell differs from the truth with probability 0.8."
    claimed = answers_section(replace(CELL, what="slot", claimed=7.0000004), 2.0).blocks[0]
    assert [row[-1] for row in claimed.rows] == ["7.00001", ""]


def test_what_cannot_be_together_is_seen():
    assert SUMS.is_possible
    assert EXACT.is_possible
    assert not replace(SUMS, noise=0.0).is_possible
    assert not replace(SUMS, mechanism="randomized response", noise=1.01).is_possible
    assert STRICT.is_possible
    assert Promised("absent", 0.0, 0.0, 0.0).is_possible
    for changes in ({"promised": 0.51}, {"weight": 0.0}, {"personal_epsilon": 0.0, "promised": 0.0}):
        assert not replace(STRICT, **changes).is_possible, changes


def test_answers_of_one_person_add_up():
    """Of cells that are drawn at random a share differs; at worst all that do."""
    assert CELL.expected_together == pytest.approx(0.05)
    assert replace(CELL, drawn=0.5).expected_together == pytest.approx(0.025)
    assert CELL.costs(2.0, 0.0)
    assert not CELL.costs(2.1, 1e-6)
    assert not CELL.costs(1.9, 0.0)
    assert CELL.costs(1.9, 1e-6), "at some δ all together may cost less than their sum"
