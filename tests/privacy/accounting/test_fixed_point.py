"""Units of privacy loss: rounded once, and always to the side of the protected people."""

import math
import random
from fractions import Fraction

from hushrec.privacy.accounting import fixed_point

COUNTS = [*range(2000), *(random.Random(1).randrange(2**e) for e in range(11, 62) for _ in range(40))]


def test_a_figure_that_is_shown_is_never_below_what_was_spent() -> None:
    for count in COUNTS:
        shown, spent = fixed_point.shown(count), Fraction(count, fixed_point.PER_ONE)
        assert fixed_point.as_written(shown) >= spent, "as the decimal that it is written as"
        assert fixed_point.allowance(shown) >= count, "and allows it, read as an owner writes it"
        assert Fraction(shown) <= spent * (1 + Fraction(1, 2**51))
        if count:
            assert Fraction(math.nextafter(shown, math.inf)) >= spent, "which formulas are given"


def test_costs_are_rounded_up_and_allowances_down() -> None:
    for count in COUNTS:
        exact = Fraction(3 * count + 1, 3)  # a third of a unit more
        assert fixed_point.cost(exact / fixed_point.PER_ONE) == count + 1
        assert fixed_point.cost(Fraction(count, fixed_point.PER_ONE)) == count
    for figure in (0.1, 0.3, 1 / 3, 2 / 3, 1e-13, 7.7000000000001, 1.0000000000005, 1e-12 * (1 - 2**-53)):
        assert (
            fixed_point.allowance(figure)
            <= Fraction(repr(figure)) * fixed_point.PER_ONE
            < fixed_point.allowance(figure) + 1
        )


def test_a_root_is_not_below_it() -> None:
    for count in COUNTS:
        assert fixed_point.as_written(fixed_point.root_above(count)) ** 2 * fixed_point.PER_ONE >= count
        assert fixed_point.root_above(count) ** 2 <= count / fixed_point.PER_ONE * (1 + 1e-11) + 1e-11
    assert (fixed_point.root_above(0), fixed_point.root_above(fixed_point.PER_ONE // 4)) == (0.0, 0.5)
