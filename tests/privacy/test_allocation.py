"""Shares become noise that costs the budget, no more: sums exactly, and a draw its own part first."""

import math

import pytest

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import gaussian, laplace, split_gaussian, split_laplace
from hushrec.privacy.accounting.events import drawn_rate
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.query import AnyQuery, Draw, Norm, Sum

DRAW: Draw[object] = Draw("sample", 50.0, 2**-20, 12)


def budget(epsilon: float = 4.0, delta: float = 1e-6) -> Budget:
    return Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")


def sums(norm: Norm = "l2", rate: float = 1.0) -> list[AnyQuery]:
    return [Sum("items", 3.0, norm, 2**-14, 8), Sum("round", 0.5, norm, 2**-16, 8, rate)]


SHARES = {"items": 0.25, "round": 0.75}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_sums_are_split_exactly(epsilon: float) -> None:
    found = calibrated(sums(), SHARES, budget(epsilon))
    rhos = split_gaussian(budget(epsilon), SHARES)
    assert found == [
        gaussian("items", rho=rhos["items"], sensitivity=3.0, step=2**-14, size=8),
        gaussian("round", rho=rhos["round"], sensitivity=0.5, step=2**-16, size=8),
    ]
    pure = split_laplace(budget(epsilon, 0.0), SHARES)
    assert calibrated(sums("l1"), SHARES, budget(epsilon, 0.0)) == [
        laplace("items", epsilon=pure["items"], sensitivity=3.0, step=2**-14, size=8),
        laplace("round", epsilon=pure["round"], sensitivity=0.5, step=2**-16, size=8),
    ]


@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_a_sample_of_people_spends_the_whole_budget_too(rate: float) -> None:
    everybody, some = calibrated(sums(rate=rate), SHARES, budget())
    assert (everybody.rate, some.rate) == (1.0, drawn_rate(rate))
    left = budget().epsilon_units - spent_of([everybody, some]).epsilon_units(1e-6)
    assert 0 <= left < 10_000  # of 1e12


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_draw_costs_its_part_of_epsilon_and_sums_share_the_rest(norm: Norm) -> None:
    items, round_ = sums(norm)
    split = {"items": 0.1, "sample": 0.6, "round": 0.3}
    found = calibrated([items, DRAW, round_], split, budget())
    assert [event.name for event in found] == ["items", "sample", "round"]
    assert found[1].sensitivity / found[1].noise == pytest.approx(0.6 * 4.0)
    left = budget().epsilon_units - spent_of(found).epsilon_units(1e-6)
    assert 0 <= left < 10_000
    # The rest keeps its own proportions.
    alone = calibrated([items, round_], SHARES, budget(1.6))
    assert [found[0].noise, found[2].noise] == pytest.approx([event.noise for event in alone], rel=1e-9)


def test_a_draw_alone_takes_all_of_it() -> None:
    (event,) = calibrated([DRAW], {"sample": 1.0}, budget(delta=0.0))
    assert event.noise == pytest.approx(50.0 / 4.0)
    assert 0 <= budget().epsilon_units - spent_of([event]).epsilon_sum <= 1


def test_more_than_the_budget_is_refused() -> None:
    with pytest.raises(BudgetError, match="split"):
        calibrated(sums(), {"items": 0.6, "round": 0.6}, budget())
    with pytest.raises(BudgetError, match="less than one unit"):
        calibrated([DRAW], {"sample": 1e-15}, budget(delta=0.0))


def test_the_check_of_what_is_left_would_see_a_draw_that_is_not_counted() -> None:
    """The fault that the tests above catch: sums that share the whole budget beside a draw."""
    draw = calibrated([DRAW], {"sample": 0.6}, budget())
    both = [*draw, *calibrated(sums(), SHARES, budget())]
    assert spent_of(both).epsilon_units(1e-6) > budget().epsilon_units
    assert math.isfinite(spent_of(both).epsilon(1e-6))
