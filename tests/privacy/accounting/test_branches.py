"""Branches of a plan: the dearest is paid, one is made, and no choice among them costs more than that."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrec.documents import words
from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import Spent, dearest, gaussian_epsilon, price, spent_of
from hushrec.privacy.accounting.ages import Part as Release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import Part, gaussians
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace
from hushrec.privacy.accounting.plan import Measurement, Plan, names_of, paths
from hushrec.privacy.accounting.weights import weights
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.query import Sum

BUDGET = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def event(name: str, sigma: float, branch: str = "", **changes: Any) -> Gaussian:
    return Gaussian(
        name, **{"sensitivity": 1.0, "noise": sigma, "step": 2**-10, "size": 3, "branch": branch} | changes
    )


FIRST, PAIRS, POPULAR, COUNTS = EVENTS = (
    event("first", 4.0),
    event("pairs", 2.0, "pairs"),
    event("popular", 9.0, "pairs"),
    event("again", 1.9, "counts"),
)


def plan(events: Sequence[Event], **changes: Any) -> Plan:
    parts = tuple(Measurement(one, 1 / len(events)) for one in events)
    budget = BUDGET.model_copy(update={"epsilon": 50.0})
    return dataclasses.replace(Plan("toy", {}, "d" * 64, 1000, budget, parts), **changes)


def independent_epsilon(path: Sequence[Gaussian], delta: float = 1e-6) -> float:
    """By μ² = Σ (Δ/σ)², in floats and without the accountant's sums."""
    return gaussian_epsilon(math.sqrt(sum((one.sensitivity / one.noise) ** 2 for one in path)), delta)


def test_a_path_has_what_is_always_made_and_one_branch_in_order() -> None:
    assert names_of(EVENTS) == ["pairs", "counts"]
    assert paths(EVENTS) == [[FIRST, PAIRS, POPULAR], [FIRST, COUNTS]]
    assert paths([FIRST]) == [[FIRST]]
    assert not names_of([FIRST])


def test_the_dearest_branch_is_paid_and_no_other() -> None:
    assert spent_of(EVENTS) == price(FIRST) + price(COUNTS)
    cheaper = dataclasses.replace(COUNTS, noise=2.1)
    assert spent_of([FIRST, PAIRS, POPULAR, cheaper]) == price(FIRST) + price(PAIRS) + price(POPULAR)
    assert dearest([("", price(FIRST)), ("a", Spent())])[0] == "a"
    assert dearest([("", price(FIRST))]) == ("", price(FIRST))


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.floats(0.3, 60.0)), min_size=1, max_size=12),
    st.sampled_from([1.0, 0.5, 1 / 64]),
)
def test_epsilon_covers_every_path_and_is_that_of_the_dearest(
    drawn: list[tuple[str, float]], part: float
) -> None:
    """Also for a user whose weight scales everything that they add."""
    events = [event(f"m{place}", sigma, branch) for place, (branch, sigma) in enumerate(drawn)]
    scaled = [dataclasses.replace(one, sensitivity=part) for one in events]
    epsilon = spent_of(scaled).epsilon(1e-6)
    alone = [independent_epsilon(path) for path in paths(scaled)]
    assert all(epsilon >= one - 1e-9 for one in alone)
    assert epsilon == pytest.approx(max(alone), abs=1e-6)


def test_whoever_asks_for_less_is_weighed_by_the_dearest_path() -> None:
    asked = np.array([0.1, 0.3, 1.0])
    alone = [tuple(dataclasses.replace(one, branch="") for one in path) for path in paths(EVENTS)]
    by_path = [weights(path, 1e-6, asked) for path in alone]
    np.testing.assert_array_equal(weights(EVENTS, 1e-6, asked), np.minimum(*by_path))


@pytest.mark.parametrize("loss", [Spent(epsilon_sum=1), Spent(rho=1, pure_rho=1), Spent(curve=(1,))])
def test_only_gaussian_noise_over_everybody_is_in_a_branch(loss: Spent) -> None:
    """Of other losses, neither bounds the other."""
    with pytest.raises(BudgetError, match="branch b: only Gaussian noise"):
        dearest([("", Spent(rho=1)), ("b", loss)])
    with pytest.raises(BudgetError, match="a sample belongs to no branch"):
        event("some", 4.0, "b", rate=0.5)


@pytest.mark.parametrize(
    "other", [Sum("x", 1.0, "l1", 2**-10, 3), Sum("x", 1.0, "l2", 2**-10, 3, rate=0.5)], ids=["l1", "sample"]
)
def test_a_plan_with_branches_has_gaussian_noise_alone(other: Sum) -> None:
    branched = Sum("y", 1.0, "l2", 2**-10, 3, branch="b")
    with pytest.raises(BudgetError, match="a plan with branches adds Gaussian noise"):
        calibrated([other, branched], {"x": 0.5, "y": 0.5}, BUDGET)
    with pytest.raises(BudgetError, match="a plan with branches adds Gaussian noise"):
        calibrated([dataclasses.replace(other, branch="b")], {"x": 1.0}, BUDGET)


def test_each_branch_takes_all_of_the_rest() -> None:
    queries = [
        Sum("first", 2.0, "l2", 2**-10, 3),
        Sum("pairs", 1.0, "l2", 2**-10, 3, branch="pairs"),
        Sum("popular", 1.0, "l2", 2**-10, 3, branch="pairs"),
        Sum("again", 2.0, "l2", 2**-10, 3, branch="counts"),
    ]
    split = {"first": 0.2, "pairs": 0.7, "popular": 0.1, "again": 0.8}
    events = calibrated(queries, split, BUDGET)
    assert [(one.name, one.branch) for one in events] == [(one.name, one.branch) for one in queries]
    for path in paths(events):
        left = BUDGET.epsilon_units - spent_of(path).epsilon_units(1e-6)
        assert 0 <= left < 1000
    assert 0 <= BUDGET.epsilon_units - spent_of(events).epsilon_units(1e-6) < 1000
    with pytest.raises(BudgetError, match="add to at most 1"):
        calibrated(queries, split | {"again": 0.9}, BUDGET)


def test_without_branches_noise_is_what_it_was() -> None:
    queries = [Sum("a", 2.0, "l2", 2**-10, 3), Sum("b", 1.0, "l2", 2**-10, 3)]
    found = calibrated(queries, {"a": 0.25, "b": 0.75}, BUDGET)
    assert all("branch" not in one.facts() for one in found)
    parts = [
        Part(one.name, one.sensitivity, one.step, one.size, part)
        for one, part in zip(queries, (0.25, 0.75), strict=True)
    ]
    assert [one.noise for one in found] == pytest.approx(
        [one.noise for one in gaussians(BUDGET, parts)], rel=1e-9
    )


def test_a_plan_costs_its_dearest_branch_and_says_that_one_is_made() -> None:
    toy = plan(EVENTS)
    assert toy.epsilon == pytest.approx(max(map(independent_epsilon, paths(EVENTS))), abs=1e-9)
    assert toy.unpaid == (PAIRS, POPULAR)
    assert [line.name for line in toy.measured()] == ["first", "again"]
    assert [line.name for line in toy.measured(branch="pairs")] == ["first", "pairs", "popular"]
    assert toy.facts["branches"] == {"pairs": ["pairs", "popular"], "counts": ["again"]}
    assert [line["name"] for line in toy.facts["measurements"]] == [one.name for one in EVENTS]
    said = words.say("plan.either", either="pairs and popular, or again", first="first")
    assert said in " ".join(str(toy).split())
    assert "branches" not in plan([FIRST]).facts
    assert "Either" not in str(plan([FIRST]))


def test_what_readers_are_told_of_attacks_is_of_the_dearest_path() -> None:
    toy = plan(EVENTS)
    mu = math.sqrt(sum((one.sensitivity / one.noise) ** 2 for one in (FIRST, COUNTS)))
    assert toy.guarantee.odds.mu == pytest.approx(mu, rel=1e-6)


def test_the_parts_of_each_path_add_to_at_most_one() -> None:
    parts = {"first": 0.5, "pairs": 0.25, "popular": 0.25, "again": 0.5}
    made = tuple(Measurement(one, parts[one.name]) for one in EVENTS)
    assert plan(EVENTS, measurements=made).branches == {"pairs": ("pairs", "popular"), "counts": ("again",)}
    more = (*made[:3], Measurement(COUNTS, 0.6))
    with pytest.raises(BudgetError, match="add to at most 1"):
        plan(EVENTS, measurements=more)


def test_a_plan_and_its_key_depend_on_the_branches() -> None:
    alike = [dataclasses.replace(one, branch=one.branch and "x") for one in EVENTS]
    assert len({plan(events).key("l", 0) for events in (EVENTS, alike)}) == 2
    with pytest.raises(BudgetError, match=r"the budget is 0\.5"):
        dataclasses.replace(plan(EVENTS), budget=BUDGET.model_copy(update={"epsilon": 0.5}))


def test_a_series_has_no_branches() -> None:
    assert plan([FIRST], part=Release(0, 2, "s", "m")).part
    with pytest.raises(BudgetError, match="releases of a series share their noise"):
        plan(EVENTS, part=Release(0, 2, "s", "m"))


def test_laplace_noise_beside_branches_is_added_to_the_dearest() -> None:
    """A hand-made plan may measure other noise always."""
    always = Laplace("x", 1.0, 2.0, 2**-10, 3)
    assert spent_of([always, *EVENTS]) == price(always) + spent_of(EVENTS)
