"""Lines of a statement: figures on the safe side, and which lines cannot be."""

import math
from dataclasses import replace

import pytest

from hushrec.release.statement_lines import Local, Measured, Promised, finite

SAMPLED = Measured("sums", "subsampled gaussian", 2.00004, 7.99999, 4000, 1.0, 0.0300004, 0.0625004)
EXACT = Measured("counts", "exact", 0.0, 0.0, 4, 0.0, 0.0)
CELL = Local("cell", 0.05, 0.00125, None, 40, 0.8)
STRICT = Promised("strict", 0.5, 0.25, 0.4)


def test_a_line_rounds_up_what_may_be_lost_and_down_what_protects():
    cells = SAMPLED.cells()
    assert cells == (
        "sums", "subsampled gaussian", "2.001", "σ = 7.999, q = 0.06251", "4,000", "1.000", "ρ = 0.03001",
    )  # fmt: skip
    assert EXACT.cells() == ("counts", "exact", "0", "none needed", "4", "", "")
    assert replace(SAMPLED, entries=0, rate=1.0, mechanism="laplace").cells()[3:5] == (
        "b = 7.999",
        "each rating",
    )
    high = 1.0000004  # prints as 1 where it is rounded to the nearest
    assert Promised("strict", high, 0.5, high).cells() == ("strict", "ε = 1.00001", "ε = 1.00001", "0.5000")


@pytest.mark.parametrize(
    "changes",
    [
        {"mechanism": "magic"},
        {"name": "su\nms"},
        {"noise": 0.0},
        {"rate": 1.0},
        {"rate": 1.5},
        {"rate": 0.0},
        {"sensitivity": math.inf, "cost": math.inf},  # Gaussian noise has a bound
        {"cost": -1.0},
        {"cost": math.nan},
        {"entries": 10**400},
        {"mechanism": "randomized response", "rate": 1.0, "noise": 1.01},
    ],
    ids=str,
)
def test_measurements_that_cannot_be_are_seen(changes):
    assert SAMPLED.is_valid
    assert EXACT.is_valid
    assert not Measured("slots", "item substitution", math.inf, 0.2, 60, 1.0, math.inf).is_valid
    assert not replace(SAMPLED, **changes).is_valid


@pytest.mark.parametrize(
    "changes",
    [{"weight": 1.01}, {"promised": 0.51}, {"weight": 0.0}, {"asked": 0.0, "promised": 0.0}],
    ids=str,
)
def test_promises_that_cannot_be_are_seen(changes):
    assert STRICT.is_valid
    assert Promised("absent", 0.0, 0.0, 0.0).is_valid
    assert not replace(STRICT, **changes).is_valid


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
