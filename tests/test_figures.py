"""What people read is never better than what holds, and no worse than the last digit."""

import math
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.errors import ConfigError, ReleaseError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.text import above, below, is_number, left, odds, whole

FIGURES = st.just(0.0) | st.floats(1e-300, 1e300) | st.floats(1e-9, 1e4)


@settings(derandomize=True, max_examples=800)
@given(FIGURES, st.integers(1, 15))
def test_what_costs_rounds_up_and_what_protects_down(figure, digits):
    written = Decimal(repr(figure))
    over, under = above(figure, digits), below(figure, digits)
    assert Decimal(under) <= written <= Decimal(over)
    assert float(under) <= figure <= float(over)
    step = Decimal(1).scaleb(written.adjusted() - digits + 1) if figure else 0
    assert Decimal(over) - Decimal(under) in (0, step)  # the next figures of so many digits


@settings(derandomize=True, max_examples=500)
@given(st.floats(0, 4e6))
def test_what_is_left_rounds_down(epsilon):
    written, shown = Decimal(repr(epsilon)), Decimal(left(epsilon))
    assert shown <= written < shown + Decimal("0.0001")


@settings(derandomize=True, max_examples=800)
@given(st.floats(0, 700, allow_nan=False))
def test_a_factor_is_never_below_the_true_one(epsilon):
    with localcontext() as context:
        context.prec = 60
        true = Decimal(epsilon).exp()
        shown = Decimal(odds(epsilon).replace(",", ""))
        assert true <= shown <= true * Decimal("1.0101")


@settings(derandomize=True, max_examples=500)
@given(st.integers(0, 10**16))
def test_counted_losses_are_shown_by_a_decimal_that_covers_them(count):
    shown = fixed_point.shown(count)
    assert Fraction(Decimal(above(shown))) >= Fraction(count, fixed_point.PER_ONE)


@pytest.mark.parametrize(
    ("count", "text"),
    [(10**12, "1"), (3 * 10**11, "0.3"), (10**11, "0.1"), (10**12 - 1, "1"), (10**12 + 1, "1.00001")],
)
def test_round_figures_stay_round_where_that_is_true(count, text):
    assert above(fixed_point.shown(count)) == text


def test_figures_that_people_know():
    assert [odds(e) for e in (0, 1, 4, 8, 1.25)] == ["1", "2.72", "54.6", "2,990", "3.5"]
    assert [above(x) for x in (1e-6, 0.1, 0.3, 1 / 3, math.inf, None)] == [
        "1e-06", "0.1", "0.3", "0.333334", "∞", "∞",
    ]  # fmt: skip
    assert [left(x) for x in (8.8e-11, 0.99999, 2.5, 100.0)] == ["0", "0.9999", "2.5", "100"]
    assert getcontext().prec == 28  # nobody's arithmetic was changed


# -- wherever figures are printed -------------------------------------------------------------------------

HIGH = 1.0000004  # prints as 1 where it is rounded to the nearest
LOW = 1.2345678


def test_a_plan_and_a_budget_round_so_too():
    budget = Budget(epsilon=HIGH, delta=1.0000004e-6, unit="user", adjacency="add-remove")
    assert str(budget) == "ε = 1.00001 at δ = 1.00001e-06 per user, add-remove"
    event = Measurement("sums", 2.0000004, "l2", 0.25, 4, noise=LOW * 10)
    plan = Plan("toy", {}, "0" * 64, 1000, Budget(**budget.model_dump() | {"epsilon": 8}), (event,))
    row = " ".join(next(line for line in str(plan).splitlines() if line.startswith("sums")).split())
    assert "2.001 σ = 12.34 4" in row
    assert Decimal(row.split("μ = ")[1]) >= Decimal(plan.measured()[0].cost)
    total = str(plan).split("toy: ε = ")[1].split()[0]
    assert Decimal(total) >= Decimal(plan.epsilon)


def test_losses_of_a_ledger_are_shown_from_above():
    spent = Spent(123_456_789_012, None)
    assert Decimal(above(spent.epsilon_at(1e-6))) * fixed_point.PER_ONE >= spent.epsilon_units(1e-6)


# -- which values are numbers -----------------------------------------------------------------------------

NONE = [math.nan, math.inf, -math.inf, True, False, np.True_, "3", b"3", None, [], [3], 1j, np.array([3])]


def test_numbers_are_finite_and_neither_text_nor_truth_values():
    assert all(map(is_number, [0, -1, 2.5, 10**400, Fraction(1, 3), np.int64(7), np.float32(0.5)]))
    assert not any(map(is_number, [*NONE, np.float64("nan"), np.float32("inf")]))


def test_a_whole_number_may_be_of_any_type():
    for value in (3, 3.0, np.int32(3), np.float64(3), Fraction(3)):
        found = whole(value, "n", 1, ConfigError)
        assert (found, type(found)) == (3, int)
    assert whole(10**400, "n", 1, ConfigError) == 10**400
    assert whole(0, "n", 0, ConfigError) == 0


@pytest.mark.parametrize("value", [*NONE, 2.5, 0, -1, Fraction(7, 2)])
def test_anything_else_is_refused_by_name(value):
    with pytest.raises(ReleaseError, match=r"^length must be a whole number, 1 or more$"):
        whole(value, "length", 1, ReleaseError)
