"""Parts of a budget become noise that costs them, and no more: of μ², or at δ = 0 of ε."""

import dataclasses

import pytest

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import largest_cost, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated, divided, responses, with_noise
from hushrec.privacy.accounting.measurement import LARGEST, Measurement, Norm


def budget(epsilon: float = 1.0, delta: float = 1e-6) -> Budget:
    return Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")


def test_pure_noise_costs_more_at_a_delta() -> None:
    """δ pays for adding up, and one measurement has nothing to add."""

    def scale(delta: float) -> float:
        cost = divided(budget(delta=delta), {"a": 1.0})["a"]
        return with_noise(Measurement("a", 1.0, "l1", 0.25, 1), cost, delta).noise

    assert scale(0.0) == 1.0
    assert scale(1e-6) == pytest.approx(5.1, abs=0.1)


def test_a_grid_too_coarse_for_the_noise_is_refused_with_one_that_would_do() -> None:
    with pytest.raises(BudgetError, match="choose a step between"):
        with_noise(Measurement("a", 1.0, "l2", 2.0**20, 1), 10**12, 1.0)


@pytest.mark.parametrize("symbols", [2, 6, 257])
@pytest.mark.parametrize("cells", [1, 30, 17_770])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 500.0])
@pytest.mark.parametrize("delta", [0.0, 1e-8])
def test_responses_spend_the_budget_and_no_more(
    symbols: int, cells: int, epsilon: float, delta: float
) -> None:
    answers = responses("r", budget(epsilon, delta), symbols=symbols, cells=cells, size=17_770)
    assert (answers.symbols, answers.sensitivity, answers.size) == (symbols, cells, 17_770)
    whole = largest_cost(budget(epsilon, delta))
    if answers.exponent == LARGEST:
        return
    assert 0 <= whole - answers.spent().units(delta) < 1000 + whole * 1e-8
    more = dataclasses.replace(answers, exponent=answers.exponent * (1 + 1e-7))
    assert more.spent().units(delta) > whole
    if delta == 0:
        assert float(answers.loss) * cells == pytest.approx(epsilon, rel=1e-9)


def test_an_epsilon_too_little_for_so_many_cells_is_refused() -> None:
    with pytest.raises(BudgetError, match="let people answer fewer"):
        responses("r", budget(1e-9, 0.0), symbols=6, cells=10_000, size=10_000)


# -- splits -------------------------------------------------------------------------------------------------

SAMPLE = Measurement("sample", 50.0, "loss", 2**-20, 12)
SPLIT = {"items": 0.25, "round": 0.75}
SPLITS = [{"a": 0.5, "b": 0.5 + 4e-10}, dict.fromkeys("abc", 1 / 3), dict.fromkeys("abcdefg", 1 / 7)]
KINDS = pytest.mark.parametrize(("norm", "delta"), [("l2", 1e-6), ("l1", 1e-6), ("l1", 0.0)])


def sums(norm: Norm = "l2") -> list[Measurement]:
    return [Measurement("items", 3.0, norm, 2**-14, 8), Measurement("round", 0.5, norm, 2**-16, 8)]


@pytest.mark.parametrize("split", SPLITS, ids=["a hair above the whole", "thirds", "sevenths"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_parts_come_to_no_more_than_the_whole(split: dict[str, float], delta: float) -> None:
    costs = divided(budget(delta=delta), split)
    assert sum(costs.values()) <= largest_cost(budget(delta=delta)) < sum(costs.values()) + 2 * len(split)


def test_a_measurement_costs_no_more_than_its_part() -> None:
    """Floats round σ to either side of what the part buys, so among so many some would cost more."""
    for k in range(1, 300):
        cost, bound = 10**9 * k + 7 * k, 0.1 * k
        for norm, delta, slack in (
            ("l2", 1e-6, 0.0),
            ("l1", 0.0, 0.0),
            ("loss", 0.0, 0.0),
            ("l1", 1e-6, 1e-11),
            ("loss", 1e-6, 1e-11),
        ):
            found = with_noise(Measurement("a", bound, norm, 2**-8, 1), cost, delta)
            assert 0 <= cost - found.spent().units(delta) <= 1 + cost * slack


@KINDS
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_sums_are_split_exactly(epsilon: float, norm: Norm, delta: float) -> None:
    costs = divided(budget(epsilon, delta), SPLIT)
    assert calibrated(sums(norm), SPLIT, budget(epsilon, delta)) == tuple(
        with_noise(one, costs[one.name], delta) for one in sums(norm)
    )


@KINDS
def test_a_sample_and_sums_share_what_the_budget_counts(norm: Norm, delta: float) -> None:
    items, round_ = sums(norm)
    split = {"items": 0.1, "sample": 0.6, "round": 0.3}
    found = calibrated([items, SAMPLE, round_], split, budget(4.0, delta))
    assert [one.listed for one in found] == [items, SAMPLE, round_]
    whole = largest_cost(budget(4.0, delta))
    for one in found:
        assert one.spent().units(delta) / whole == pytest.approx(split[one.name], rel=1e-9)
    assert 0 <= whole - spent_of(found).units(delta) <= whole * 1e-10


def test_what_is_exact_has_no_part_and_stays_in_its_place() -> None:
    public = Measurement("counts", 0.0, "l2", 0.25, 4)
    items, round_ = sums()
    found = calibrated([items, public, round_], SPLIT, budget())
    assert found == (*(calibrated([items, round_], SPLIT, budget())[:1]), public, found[2])
    assert found[2].noise > 0


def test_more_than_the_budget_is_refused() -> None:
    with pytest.raises(BudgetError, match="split"):
        calibrated(sums(), {"items": 0.6, "round": 0.6}, budget())
    with pytest.raises(BudgetError, match="less than one unit"):
        calibrated([SAMPLE], {"sample": 1e-15}, budget(delta=0.0))
    with pytest.raises(BudgetError, match="give a δ"):
        calibrated(sums(), SPLIT, budget(delta=0.0))


def test_the_check_of_what_is_left_would_see_a_sample_that_is_not_counted() -> None:
    """The fault that the tests above catch: sums that share the whole budget beside a sample."""
    both = [*calibrated([SAMPLE], {"sample": 0.6}, budget()), *calibrated(sums(), SPLIT, budget())]
    assert spent_of(both).epsilon_units(1e-6) > budget().epsilon_units
