import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.budget import Budget

WHOLE = {"epsilon": 1.0, "delta": 1e-6, "unit": "user", "adjacency": "add-remove"}


def test_a_budget_is_frozen_and_compares_by_value() -> None:
    budget = Budget(**WHOLE)
    assert budget == Budget(**WHOLE)
    assert str(budget) == "ε = 1 at δ = 1e-06 per user, add-remove"
    with pytest.raises(ValueError, match="frozen"):
        budget.epsilon = 2.0


@pytest.mark.parametrize("field", WHOLE)
def test_every_field_must_be_named(field: str) -> None:
    with pytest.raises(BudgetError, match=f"correct: {field}$"):
        Budget(**{name: value for name, value in WHOLE.items() if name != field})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", math.inf),
        ("epsilon", math.nan),
        ("epsilon", 1e-13),
        ("epsilon", 1e7),
        ("epsilon", "1"),
        ("epsilon", True),
        ("delta", -1e-9),
        ("delta", 1e-2),
        ("delta", math.nan),
        ("unit", "household"),
        ("adjacency", "bounded"),
    ],
)
def test_wrong_fields_are_refused(field: str, value: object) -> None:
    with pytest.raises(BudgetError):
        Budget(**(WHOLE | {field: value}))


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(BudgetError, match="gamma"):
        Budget(**WHOLE, gamma=1)


def test_an_allowance_is_the_decimal_that_was_written() -> None:
    # The double nearest to 0.3 lies below it: taken exactly, a plan of 0.3 would not fit a ledger of 0.3.
    assert fixed_point.allowance(0.3) == 300_000_000_000
    assert fixed_point.allowance(1e-12) == 1
    assert fixed_point.allowance(1.9e-12) == 1


@settings(derandomize=True, max_examples=200)
@given(st.fractions(min_value=0, max_value=10**6))
def test_rounding_protects(loss: Fraction) -> None:
    assert 0 <= fixed_point.cost(loss) - loss * fixed_point.PER_ONE < 1
    assert loss <= fixed_point.float_above(loss)
    assert fixed_point.as_written(fixed_point.written_below(loss)) <= loss
    assert loss == 0 or fixed_point.float_above(loss) <= float(loss) * (1 + 2**-51)
    assert fixed_point.cost(
        fixed_point.as_written(fixed_point.shown(fixed_point.cost(loss)))
    ) >= fixed_point.cost(loss)
    assert fixed_point.as_written(fixed_point.written_above(loss)) >= loss
    assert fixed_point.written_above(loss) in (float(loss), math.nextafter(float(loss), math.inf))
    assert fixed_point.allowance(fixed_point.shown(fixed_point.cost(loss))) >= fixed_point.cost(loss)
