"""Branches of a plan: the dearest is paid, one is made, and no choice among them costs more than that."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import Spent, dearest, gaussian_epsilon, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated, divided, names_of, paths
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.weights import weights

BUDGET = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def of(name: str, sigma: float, branch: str = "") -> Measurement:
    return Measurement(name, 1.0, "l2", 2**-10, 3, branch, sigma)


FIRST, PAIRS, POPULAR, COUNTS = ALL = (
    of("first", 4.0),
    of("pairs", 2.0, "pairs"),
    of("popular", 9.0, "pairs"),
    of("again", 1.9, "counts"),
)


def plan(measurements: Sequence[Measurement]) -> Plan:
    budget = BUDGET.model_copy(update={"epsilon": 50.0})
    return Plan("toy", {}, "d" * 64, 1000, budget, tuple(measurements))


def independent_epsilon(path: Sequence[Measurement], delta: float = 1e-6) -> float:
    """By μ² = Σ (Δ/σ)², in floats and without the accountant's sums."""
    return gaussian_epsilon(math.sqrt(sum((one.sensitivity / one.noise) ** 2 for one in path)), delta)


def test_a_path_has_what_is_always_made_and_one_branch_in_order() -> None:
    assert names_of(ALL) == ["pairs", "counts"]
    assert paths(ALL) == [[FIRST, PAIRS, POPULAR], [FIRST, COUNTS]]
    assert paths([FIRST]) == [[FIRST]]
    assert not names_of([FIRST])


def test_the_dearest_branch_is_paid_and_no_other() -> None:
    assert spent_of(ALL) == FIRST.spent() + COUNTS.spent()
    cheaper = dataclasses.replace(COUNTS, noise=2.1)
    assert spent_of([FIRST, PAIRS, POPULAR, cheaper]) == FIRST.spent() + PAIRS.spent() + POPULAR.spent()
    assert dearest([("", FIRST.spent()), ("a", Spent(0, None))])[0] == "a"
    assert dearest([("", FIRST.spent())]) == ("", FIRST.spent())


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.floats(0.3, 60.0)), min_size=1, max_size=12),
    st.sampled_from([1.0, 0.5, 1 / 64]),
)
def test_epsilon_covers_every_path_and_is_that_of_the_dearest(
    drawn: list[tuple[str, float]], part: float
) -> None:
    """Also for a user whose weight scales everything that they add."""
    whole = [of(f"m{place}", sigma, branch) for place, (branch, sigma) in enumerate(drawn)]
    scaled = [dataclasses.replace(one, sensitivity=part) for one in whole]
    epsilon = spent_of(scaled).epsilon_at(1e-6)
    alone = [independent_epsilon(path) for path in paths(scaled)]
    assert all(epsilon >= one - 1e-9 for one in alone)
    assert epsilon == pytest.approx(max(alone), abs=1e-6)


def test_whoever_asks_for_less_is_weighed_by_the_dearest_path() -> None:
    asked = np.array([0.1, 0.3, 1.0])
    alone = [tuple(dataclasses.replace(one, branch="") for one in path) for path in paths(ALL)]
    by_path = [weights(path, 1e-6, asked) for path in alone]
    np.testing.assert_array_equal(weights(ALL, 1e-6, asked), np.minimum(*by_path))


def test_only_gaussian_noise_is_in_a_branch() -> None:
    """Of other losses, neither bounds the other."""
    with pytest.raises(BudgetError, match="branch b: only Gaussian noise"):
        dearest([("", Spent(1, None)), ("b", Spent(1, 1))])


def test_a_plan_with_branches_has_gaussian_noise_alone() -> None:
    other = Measurement("x", 1.0, "l1", 2**-10, 3)
    branched = Measurement("y", 1.0, "l2", 2**-10, 3, branch="b")
    with pytest.raises(BudgetError, match="a plan with branches adds Gaussian noise"):
        calibrated([other, branched], {"x": 0.5, "y": 0.5}, BUDGET)
    with pytest.raises(BudgetError, match="a plan with branches adds Gaussian noise"):
        calibrated([dataclasses.replace(other, branch="b")], {"x": 1.0}, BUDGET)


def test_each_branch_takes_all_of_the_rest() -> None:
    listed = [
        Measurement("first", 2.0, "l2", 2**-10, 3),
        Measurement("pairs", 1.0, "l2", 2**-10, 3, branch="pairs"),
        Measurement("popular", 1.0, "l2", 2**-10, 3, branch="pairs"),
        Measurement("again", 2.0, "l2", 2**-10, 3, branch="counts"),
    ]
    split = {"first": 0.2, "pairs": 0.7, "popular": 0.1, "again": 0.8}
    found = calibrated(listed, split, BUDGET)
    assert [one.listed for one in found] == listed
    for path in paths(found):
        left = BUDGET.epsilon_units - spent_of(path).epsilon_units(1e-6)
        assert 0 <= left < 1000
    assert 0 <= BUDGET.epsilon_units - spent_of(found).epsilon_units(1e-6) < 1000
    with pytest.raises(BudgetError, match="add to at most 1"):
        calibrated(listed, split | {"again": 0.9}, BUDGET)


def test_without_branches_noise_is_what_it_was() -> None:
    listed = [Measurement("a", 2.0, "l2", 2**-10, 3), Measurement("b", 1.0, "l2", 2**-10, 3)]
    found = calibrated(listed, {"a": 0.25, "b": 0.75}, BUDGET)
    assert all("branch" not in one.facts() for one in found)
    costs = divided(BUDGET, {"a": 0.25, "b": 0.75})
    assert [one.spent().mu_squared for one in found] == pytest.approx([*costs.values()], abs=1)


def test_a_plan_costs_its_dearest_branch_and_says_that_one_is_made() -> None:
    toy = plan(ALL)
    assert toy.epsilon == pytest.approx(max(map(independent_epsilon, paths(ALL))), abs=1e-9)
    assert toy.dearest == "counts"
    assert [line.name for line in toy.measured()] == ["first", "again"]
    assert [line.name for line in toy.measured(branch="pairs")] == ["first", "pairs", "popular"]
    assert toy.facts["branches"] == {"pairs": ["pairs", "popular"], "counts": ["again"]}
    assert [line["name"] for line in toy.facts["measurements"]] == [one.name for one in ALL]
    assert "Either pairs and popular, or again, decided after first: one of these is measured" in " ".join(
        str(toy).split()
    )
    assert toy.branches == {"pairs": ("pairs", "popular"), "counts": ("again",)}
    assert (plan([FIRST]).dearest, plan([FIRST]).branches) == ("", {})
    assert "branches" not in plan([FIRST]).facts
    assert "Either" not in str(plan([FIRST]))


def test_what_readers_are_told_of_attacks_is_of_the_dearest_path() -> None:
    toy = plan(ALL)
    mu = math.sqrt(sum((one.sensitivity / one.noise) ** 2 for one in (FIRST, COUNTS)))
    assert toy.guarantee.odds.mu == pytest.approx(mu, rel=1e-6)


def test_a_plan_and_its_key_depend_on_the_branches() -> None:
    alike = [dataclasses.replace(one, branch=one.branch and "x") for one in ALL]
    assert plan(alike).key("l") != plan(ALL).key("l")
    with pytest.raises(BudgetError, match=r"the budget is 0\.5"):
        dataclasses.replace(plan(ALL), budget=BUDGET.model_copy(update={"epsilon": 0.5}))


def test_laplace_noise_beside_branches_is_added_to_the_dearest() -> None:
    """A hand-made plan may measure other noise always."""
    always = Measurement("x", 1.0, "l1", 2**-10, 3, noise=2.0)
    assert spent_of([always, *ALL]) == always.spent() + spent_of(ALL)
