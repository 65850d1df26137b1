"""Errors: one harmless line each, with figures that are not better than what holds."""

import pytest

from hushrec.errors import BudgetExceeded, HushrecError
from hushrec.text import escaped
from support.hostile import HOSTILE, harmless


def under(kind):
    return {kind}.union(*map(under, kind.__subclasses__()))


@pytest.mark.parametrize("kind", sorted(under(HushrecError) - {BudgetExceeded}, key=str))
def test_every_error_is_one_harmless_line(kind):
    shown = str(kind(f"no item {HOSTILE} here"))
    assert shown == f"no item {escaped(HOSTILE)} here"
    assert harmless(shown, lines=False)


HIGH = 1.0000004  # prints as 1 where it is rounded to the nearest
LOW = 1.2345678


def test_a_refusal_rounds_up_what_is_asked_and_down_what_is_left():
    for started in (True, False):
        text = str(BudgetExceeded(HIGH, LOW, "user", started=started))
        assert "ε = 1.00001 per user" in text
        assert "ε = 1.23456" in text
        assert "ε = 1.23457" not in text
