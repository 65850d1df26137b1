"""One draw from a posterior: pure ε, on a condition that it and all after it must name."""

import dataclasses
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import BudgetError, GrantError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import pure_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.sums_on_disk import Arrays

BUDGET = Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
SAMPLE = Measurement("item factors", 5.0, "loss", 2**-20, 12, noise=10.0)
SUMS = Measurement("sums", 1.0, "l2", 2**-8, 4, noise=40.0)


def plan(*measurements: Measurement) -> Plan:
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, measurements)


def test_it_costs_the_largest_change_by_the_temperature() -> None:
    cost = SAMPLE.spent()
    assert cost == pure_cost(Fraction(1, 2))
    assert (cost.epsilon, cost.epsilon_at(0.0)) == (fixed_point.PER_ONE // 2, 0.5)


LARGEST = Budget(epsilon=4.6e6, delta=1e-6, unit="user", adjacency="add-remove")
HUGE = 4.59e6
LARGE = {
    "posterior sample": Measurement("v", HUGE, "loss", 1.0, 12, noise=1.0),
    "laplace": Measurement("v", HUGE, "l1", 1.0, 12, noise=1.0),
    "gaussian": Measurement("v", 3000.0, "l2", 1.0, 12, noise=1.0),
}


@pytest.mark.parametrize("one", LARGE.values(), ids=LARGE)
def test_the_largest_epsilon_of_a_budget_can_be_booked(one: Measurement, path: Path) -> None:
    most = LARGEST if one.norm == "l2" else LARGEST.model_copy(update={"delta": 0.0})
    large = Plan("toy", {}, "d" * 64, 1000, most, (one,))
    assert 1e6 < large.epsilon <= 4.6e6
    ledger = Ledger.create(path, most)
    ledger.charge(large, entropy=Seeded(1))
    assert Ledger.open(path).state().spent == large.spent.units(most.delta)


def test_a_total_that_no_ledger_counts_is_refused_in_plain_words(path: Path) -> None:
    """The total of a seeded experiment is what its plan costs, whatever the budget was."""
    total = BUDGET.model_copy(update={"epsilon": 5e6})
    for start in (Ledger.ephemeral, lambda total: Ledger.create(path, total)):
        with pytest.raises(BudgetError, match="four million"):
            start(total)
    assert not path.exists()
    with pytest.raises(BudgetError, match="four million"):
        Ledger.create(path, BUDGET).extend(total)
    assert Ledger.open(path).state().total == BUDGET


@pytest.mark.parametrize("bound", [0.5, 3.0])
def test_neighbours_posteriors_differ_by_no_more(bound: float) -> None:
    """B under add-remove, 2 B under replace, and not less: worst cases on a grid."""
    generator = np.random.default_rng(1)
    temperature, worst = 2.0, {"add-remove": 0.0, "replace": 0.0}
    for trial in range(300):
        others = generator.uniform(0, 9, 40)
        own, another = generator.uniform(0, bound, (2, 40))
        if trial % 3 == 0:  # the extremes: one point spared, all else at the bound, and the reverse
            own, another = np.full(40, bound), np.zeros(40)
            own[0], another[0] = 0.0, bound
            others = np.where(np.arange(40) == 0, 30.0 if trial % 2 else 0.0, 0.0 if trial % 2 else 30.0)
        with_own, without, with_another = (
            -(others + loss) / temperature - np.logaddexp.reduce(-(others + loss) / temperature)
            for loss in (own, np.zeros(40), another)
        )
        worst["add-remove"] = max(worst["add-remove"], np.abs(with_own - without).max())
        worst["replace"] = max(worst["replace"], np.abs(with_own - with_another).max())
    for adjacency, change in (("add-remove", bound), ("replace", 2 * bound)):
        stated = Measurement("v", change, "loss", 1.0, 1, noise=temperature).spent().epsilon_at(0.0)
        assert 0.95 * stated < worst[adjacency] <= stated
        fault = Measurement("v", change / 2, "loss", 1.0, 1, noise=temperature).spent().epsilon_at(0.0)
        assert worst[adjacency] > fault  # half of it, a planted fault, would be found


def test_numbers_without_sense_are_refused() -> None:
    for wrong in ({"noise": -1.0}, {"sensitivity": math.inf}, {"noise": math.nan}, {"step": 0.0}):
        with pytest.raises(BudgetError):
            dataclasses.replace(SAMPLE, **wrong)
    dataclasses.replace(SAMPLE, noise=1e-9)  # no sampler of noise bounds it


def test_it_is_drawn_once_from_a_secret_key_and_is_itself_the_value(path: Path) -> None:
    grant, keys = Ledger.create(path, BUDGET).charge(plan(SAMPLE, SUMS)), list[bytes]()

    def draw(key: bytes) -> Arrays:
        keys.append(key)
        return {"items": np.arange(12.0)}

    drawn = grant.sample(SAMPLE.listed, draw)["items"]
    np.testing.assert_array_equal(drawn, np.arange(12.0))
    assert len(keys[0]) == 32
    with pytest.raises(GrantError, match="already made"):
        grant.sample(SAMPLE.listed, draw)
    assert len(keys) == 1


def test_a_seeded_key_is_repeatable() -> None:
    keys = list[bytes]()

    def draw(key: bytes) -> Arrays:
        keys.append(key)
        return {}

    for seed in (1, 1, 2):
        grant = Ledger.ephemeral(BUDGET).charge(plan(SAMPLE), entropy=Seeded(seed))
        grant.sample(SAMPLE.listed, draw)
    assert keys[0] == keys[1] != keys[2]


def test_a_plan_lists_its_temperature_and_its_condition() -> None:
    both = plan(SAMPLE, SUMS)
    line = next(line for line in str(both).splitlines() if line.startswith("item factors"))
    assert " ".join(line.split()) == "item factors posterior sample 5 T = 10 12 0.998 ε = 0.5"
    assert both.caveats == (SAMPLE.condition,)
    assert plan(SUMS).caveats == ()
