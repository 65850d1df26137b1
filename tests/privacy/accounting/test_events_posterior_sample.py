"""One draw from a posterior: pure ε, on a condition that it and all after it must name."""

import dataclasses
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import BudgetError, GrantError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import price
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace, PosteriorSample
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import Bounded
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

BUDGET = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
SAMPLE = PosteriorSample("item factors", 5.0, 10.0, 2**-20, 12)
SUMS = Gaussian("sums", 1.0, 40.0, 2**-8, 4)


def plan(*events: Event) -> Plan:
    split = tuple(Measurement(event, 1 / len(events)) for event in events)
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, split)


def test_it_costs_the_largest_change_by_the_temperature() -> None:
    cost = price(SAMPLE)
    assert (cost.epsilon_sum, cost.pure_rho, cost.rho) == (
        fixed_point.PER_ONE // 2,
        fixed_point.PER_ONE // 8,
        0,
    )
    assert cost.epsilon(0.0) == 0.5


@pytest.mark.parametrize("make", [PosteriorSample, Laplace])
def test_its_zcdp_loss_is_never_above_epsilon(make: type[Laplace]) -> None:
    """A divergence of any order is at most ε, and so at most αε: far below αε²/2 where ε is large."""
    for epsilon in (1e-6, 0.1, 1.0, 1.9, 2.0, 2.1, 10.0, 1e3, 4e6, 2.0**40):
        cost = price(make("v", epsilon, 1.0, 1.0, 12))
        assert cost.epsilon_sum == fixed_point.cost(Fraction(epsilon))
        assert cost.pure_rho <= min(cost.epsilon_sum, fixed_point.cost(Fraction(epsilon) ** 2 / 2))
        if make is not Laplace:
            assert cost.pure_rho == min(cost.epsilon_sum, fixed_point.cost(Fraction(epsilon) ** 2 / 2))


LARGEST = Budget(epsilon=4.6e6, delta=1e-6, unit="user", adjacency="add-remove")
HUGE = 4.59e6
LARGE: dict[str, Event] = {
    "posterior sample": PosteriorSample("v", HUGE, 1.0, 1.0, 12),
    "laplace": Laplace("v", HUGE, 1.0, 1.0, 12),
    "gaussian": Gaussian("v", 3000.0, 1.0, 1.0, 12),
    "subsampled gaussian": Gaussian("v", 2000.0, 1.0, 1.0, 12, 0.5),
}


@pytest.mark.parametrize("event", LARGE.values(), ids=LARGE)
def test_the_largest_epsilon_of_a_budget_can_be_booked(event: Event, path: Path) -> None:
    split = (Measurement(event, 1.0),)
    large = Plan("toy", {}, "d" * 64, 1000, LARGEST, split)
    assert 1e6 < large.epsilon <= 4.6e6
    ledger = Ledger.create(path, LARGEST)
    ledger.charge(large, entropy=Seeded(1))
    assert Ledger.open(path).spent == large.spent


def test_a_total_that_no_ledger_counts_is_refused_in_plain_words(path: Path) -> None:
    """The total of a seeded experiment is what its plan costs, whatever the budget was."""
    total = BUDGET.model_copy(update={"epsilon": 5e6})
    for start in (Ledger.ephemeral, lambda total: Ledger.create(path, total)):
        with pytest.raises(BudgetError, match="four million"):
            start(total)
    assert not path.exists()
    with pytest.raises(BudgetError, match="four million"):
        Ledger.create(path, BUDGET).extend(total)
    assert Ledger.open(path).total == BUDGET


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
        stated = price(PosteriorSample("v", change, temperature, 1.0, 1)).epsilon(0.0)
        assert 0.95 * stated < worst[adjacency] <= stated
        fault = price(PosteriorSample("v", change / 2, temperature, 1.0, 1)).epsilon(0.0)
        assert worst[adjacency] > fault  # half of it, a planted fault, would be found


def test_numbers_without_sense_are_refused() -> None:
    for wrong in ({"noise": 0.0}, {"sensitivity": math.inf}, {"noise": math.nan}, {"step": 0.0}):
        with pytest.raises(BudgetError):
            dataclasses.replace(SAMPLE, **wrong)
    dataclasses.replace(SAMPLE, noise=1e-9)  # no sampler of noise bounds it


def test_its_key_is_given_once_and_nothing_else_is_released_under_it(path: Path) -> None:
    grant = Ledger.create(path, BUDGET).charge(plan(SAMPLE, SUMS))
    with pytest.raises(GrantError, match="posterior sample noise, which this release does not add"):
        grant.measure(Bounded("item factors", np.zeros(12, np.int64), 5.0, "l2", 2**-20))
    with pytest.raises(GrantError, match="booked was gaussian"):
        grant.sample_key("sums")
    key = grant.sample_key("item factors")
    assert len(key) == 32
    with pytest.raises(GrantError, match="already made"):
        grant.sample_key("item factors")


def test_a_seeded_key_is_repeatable() -> None:
    keys = [
        Ledger.ephemeral(BUDGET).charge(plan(SAMPLE), entropy=Seeded(s)).sample_key("item factors")
        for s in (1, 1, 2)
    ]
    assert keys[0] == keys[1] != keys[2]


def test_a_plan_lists_its_temperature() -> None:
    line = next(line for line in str(plan(SAMPLE, SUMS)).splitlines() if line.startswith("item factors"))
    assert " ".join(line.split()) == "item factors posterior sample 5 T = 10 12 0.500 ε = 0.5"
