import dataclasses
import inspect
import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.documents.sentences import Groups
from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated, divided, with_noise
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement
from hushrec.privacy.accounting.plan import Plan, require_small_delta, usual_delta

BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
PURE = BUDGET.model_copy(update={"delta": 0.0})


def test_shares_may_not_exceed_the_whole() -> None:
    for split in ({"a": 0.6, "b": 0.5}, {"a": 0.0}, {"a": -0.1}, {}):
        with pytest.raises(BudgetError, match="parts must be positive"):
            divided(BUDGET, split)


def test_a_part_that_is_kept_back_is_not_spent() -> None:
    assert divided(PURE, {"a": 0.5}) == {"a": PURE.epsilon_units // 2}
    assert divided(BUDGET, {"a": 0.5}) == {"a": largest_cost(BUDGET) // 2}


@settings(derandomize=True, max_examples=200)
@given(st.integers(1, 10**15), st.floats(1e-6, 1e6))
def test_noise_is_rounded_so_that_the_charge_fits(cost: int, sensitivity: float) -> None:
    step = sensitivity * 2**-4
    normal = with_noise(
        Measurement("a", sensitivity, "l2", min(step, sensitivity / math.sqrt(cost)), 3), cost, 1.0
    )
    assert normal.spent().mu_squared <= cost
    less = dataclasses.replace(normal, noise=normal.noise * (1 - 1e-14))
    assert less.spent().mu_squared >= cost
    scaled = with_noise(Measurement("a", sensitivity, "l1", sensitivity / cost, 3), cost, 0.0)
    assert scaled.spent().units(0.0) <= cost


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 20.0])
def test_a_split_plan_spends_its_budget_and_no_more(
    make_plan: Callable[..., Plan], epsilon: float, delta: float
) -> None:
    plan = make_plan(epsilon, delta=delta, names=("a", "b", "c"))
    left = plan.budget.epsilon_units - plan.spent.epsilon_units(delta)
    assert 0 <= left < 10_000  # of 1e12


def test_a_plan_that_costs_more_than_its_budget_is_refused(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan()
    with pytest.raises(BudgetError, match="add noise or raise the budget"):
        dataclasses.replace(plan, budget=BUDGET.model_copy(update={"epsilon": 0.99}))


def test_delta_must_be_small_for_so_many_users(make_plan: Callable[..., Plan]) -> None:
    dataclasses.replace(make_plan(), max_users=99_999)
    with pytest.raises(BudgetError, match="choose one below 1e-06"):
        dataclasses.replace(make_plan(), max_users=100_000)


@given(st.integers(1, 10**12))
def test_the_usual_delta_is_accepted_and_no_smaller_than_it_has_to_be(users: int) -> None:
    usual = usual_delta(users)
    require_small_delta(usual, users)
    assert usual == 1e-6 or 100 * users * usual >= 0.9999


def test_the_usual_delta_is_below_the_bound_at_powers_of_ten() -> None:
    assert [usual_delta(users) for users in (1, 99_999, 100_000, 10**6)] == [1e-6, 1e-6, 1e-7, 1e-8]


def test_measurements_have_names_of_their_own(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan()
    with pytest.raises(BudgetError, match="unique name"):
        dataclasses.replace(plan, measurements=plan.measurements[:1] * 2)
    with pytest.raises(BudgetError, match="unique name"):
        dataclasses.replace(plan, measurements=())


def test_a_plan_cannot_see_data() -> None:
    types = {str(field.type) for field in dataclasses.fields(Plan)}
    assert types == {
        "<class 'str'>",
        "<class 'int'>",
        "<class 'hushrec.privacy.accounting.budget.Budget'>",
        "collections.abc.Mapping[str, typing.Any]",
        "collections.abc.Mapping[str, float]",
        "tuple[hushrec.privacy.accounting.measurement.Measurement, ...]",
        "tuple[str, ...]",
        "tuple[hushrec.documents.fact.Fact, ...]",
        "hushrec.documents.fact.Fact | None",
        "hushrec.privacy.accounting.year.Year | None",
    }
    for helper in (divided, calibrated, with_noise):
        assert "ndarray" not in str(inspect.signature(helper))


def test_the_config_is_a_copy_of_json_values(make_plan: Callable[..., Plan]) -> None:
    config = {"grid": [1, 2]}
    plan = dataclasses.replace(make_plan(), settings=config)
    config["grid"].append(3)
    assert plan.settings == {"grid": [1, 2]}
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(plan, settings={"x": math.nan})
    with pytest.raises(TypeError):
        dataclasses.replace(plan, settings={"x": object()})


def test_the_key_names_population_and_plan(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan()
    changed = [
        plan.key("q"),
        make_plan(model="other").key("p"),
        make_plan(epsilon=1.1).key("p"),
        make_plan(size=5).key("p"),
        dataclasses.replace(plan, settings={"rank": 4}).key("p"),
        dataclasses.replace(plan, domain_digest="e" * 64).key("p"),
        dataclasses.replace(plan, max_users=1001).key("p"),
    ]
    assert plan.key("p") == dataclasses.replace(plan).key("p")
    assert len({plan.key("p"), *changed}) == 1 + len(changed)


def test_a_plan_begins_with_its_epsilon_and_ends_with_what_is_measured(
    make_plan: Callable[..., Plan],
) -> None:
    lines = str(make_plan()).splitlines()
    assert lines[0] == "toy: ε = 1 at δ = 1e-06 per user, add-remove"
    assert lines[-5:] == [
        "What will be measured:",
        "measurement  mechanism  Δ      noise  entries  split        cost",
        "────────────────────────────────────────────────────────────────",
        "sums         gaussian   2  σ = 11.94        4  0.500  μ = 0.1674",
        "counts       gaussian   2  σ = 11.94        4  0.500  μ = 0.1674",
    ]
    assert "b = 4 " in str(make_plan(delta=0.0))


def test_a_plan_is_facts_as_a_statement_has_them(make_plan: Callable[..., Plan]) -> None:
    plan = dataclasses.replace(make_plan(), personal_epsilon={"strict": 0.5}, foreign=("mine.Model",))
    facts = plan.facts
    assert (facts["epsilon"], facts["budget_epsilon"]) == (plan.epsilon, plan.budget.epsilon)
    assert [(line["name"], line["cost"]) for line in facts["measurements"]] == [
        (line.name, line.cost) for line in plan.measured()
    ]
    assert facts["classes"] == [dataclasses.asdict(one) for one in plan.classes]
    assert facts["caveats"] == [{"name": "author.foreign", "names": "mine.Model"}]
    assert facts["reading"] == plan.guarantee.odds.to_json()
    assert plan.document().facts == json.loads(json.dumps(facts, allow_nan=False))


def test_a_plan_says_its_conditions_before_its_epsilon(make_plan: Callable[..., Plan]) -> None:
    plan = dataclasses.replace(make_plan(), uncovered=Groups.exact(), foreign=("mine.Model",))
    assert [caveat.kind for caveat in plan.caveats] == ["groups", "author"]
    first, second, third, *_ = str(plan).splitlines()
    assert first.startswith("GROUPS NOT COVERED: the groups of items were made from everybody's exact")
    assert second.startswith("AUTHOR'S CLAIM: mine.Model is not part of hushrec")
    assert third.startswith("toy: ε = 1 ")


def test_what_costs_nothing_is_listed_as_exact(make_plan: Callable[..., Plan]) -> None:
    plan, counts = make_plan(), Measurement("item counts", 0.0, "l2", 1.0, 12)
    first, *others = plan.measurements
    with_counts = dataclasses.replace(plan, measurements=(first, counts, *others))
    assert (with_counts.noisy, with_counts.spent) == (plan.noisy, plan.spent)
    assert with_counts.key("p") == plan.key("p")
    sums, free, *rest = with_counts.measured()
    assert (sums, *rest) == plan.measured()
    assert (free.name, free.mechanism, free.entries, free.split, free.cost) == (
        "item counts",
        "exact",
        12,
        0.0,
        0.0,
    )
    with pytest.raises(BudgetError, match="a plan needs measurements"):
        dataclasses.replace(plan, measurements=(counts,))


def test_a_part_is_that_of_what_the_budget_counts(make_plan: Callable[..., Plan]) -> None:
    for delta in (1e-6, 0.0):
        assert [line.split for line in make_plan(delta=delta).measured()] == [0.5, 0.5]


def plan_of(one: Measurement, adjacency: str = "replace") -> Plan:
    budget = BUDGET.model_copy(update={"unit": "record", "adjacency": adjacency})
    return Plan("toy", {}, "d" * 64, 1000, budget, (one,))


def test_an_entry_for_every_rating_is_for_those_whose_number_is_public() -> None:
    errors = Measurement("errors", 1.0, "l1", 1.0, EVERY_RATING, noise=8.0)
    assert " each rating " in str(plan_of(errors))
    with pytest.raises(BudgetError, match='adjacency "replace"'):
        plan_of(errors, adjacency="add-remove")
    assert plan_of(errors).key("p") != plan_of(dataclasses.replace(errors, size=5)).key("p")


# -- a plan without Gaussian noise --------------------------------------------------------------------------


def test_a_pure_plan_states_the_smaller_of_two_bounds(make_plan: Callable[..., Plan]) -> None:
    """And never more than a ledger counts for it."""
    few = plan_of(Measurement("errors", 1.0, "l1", 1.0, 5, noise=8.0))
    assert (few.epsilon, few.spent.epsilon_at(1e-6)) == (0.125, pytest.approx(0.6213, abs=0.001))
    epochs = tuple(Measurement(f"{i}", 1.0, "l1", 1.0, 5, noise=200.0) for i in range(1000))
    many = dataclasses.replace(few, budget=BUDGET, measurements=epochs)
    assert many.spent.epsilon == 5 * 10**12
    assert many.epsilon == many.spent.epsilon_at(1e-6) < 1.0
    mixed = dataclasses.replace(few, measurements=(*few.noisy, make_plan(0.5).noisy[0]))
    assert mixed.epsilon == mixed.spent.epsilon_at(1e-6)


def test_a_plan_that_pays_for_a_delta_says_so(make_plan: Callable[..., Plan]) -> None:
    hint = "δ = 0 gives this model less noise at the same ε"
    pure = plan_of(Measurement("errors", 1.0, "l1", 1.0, 5, noise=8.0))
    assert hint in str(pure)
    assert hint not in str(make_plan(delta=0.0))
    assert hint not in str(make_plan())
