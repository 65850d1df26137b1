"""Equal shares: what fits as often as it is planned, and not a step more; what a larger charge is told."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from hushrec.errors import BudgetError, BudgetExceeded, BudgetUnsupported, ShareExceeded
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import Part, gaussians
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.ledger.booking import Remainder
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from support.ledgers import finish

MakePlan = Callable[..., Plan]
Planner = Callable[[Budget], Plan]
TOTAL = Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
PURE = TOTAL.model_copy(update={"delta": 0.0})
WEEKS = 52


def sampled(budget: Budget) -> Plan:
    parts = [Part(f"round {i}", 1.0, 2**-10, 4, 0.5, 0.125) for i in range(2)]
    shares = tuple(Measurement(event, 0.5) for event in gaussians(budget, parts))
    return Plan("toy", {}, "d" * 64, 1000, budget, shares)


@pytest.fixture(params=["gaussian", "laplace, pure", "laplace among gaussian", "samples"])
def kind(request: pytest.FixtureRequest, make_plan: MakePlan) -> tuple[Budget, Planner]:
    """A total, and what a release of a kind of noise costs under a budget."""
    if request.param == "samples":
        return TOTAL, sampled
    if request.param == "laplace, pure":
        return PURE, lambda budget: make_plan(budget.epsilon, delta=0.0)
    if request.param == "laplace among gaussian":  # with δ > 0, so that pure losses compose better than Σε
        return TOTAL, lambda budget: make_plan(budget.epsilon / 2, delta=0.0)
    return TOTAL, lambda budget: make_plan(budget.epsilon)


def larger(budget: Budget) -> Budget:
    """The next number of four significant digits."""
    step = 10 ** (int(f"{budget.epsilon:e}".split("e")[1]) - 3)
    return budget.model_copy(update={"epsilon": float(f"{budget.epsilon + step:.3e}")})


def charged(total: Budget, plan: Plan, times: int) -> int:
    """How often, at most, the plan can be charged to a ledger with this total that nobody shares."""
    ledger = Ledger.ephemeral(total)
    for made in count():
        if made == times:
            return made
        try:
            ledger.charge(plan)
        except BudgetExceeded:
            return made
    raise AssertionError


@pytest.mark.full
def test_as_many_shares_as_are_planned_fit_a_ledger_and_not_one_more(kind: tuple[Budget, Planner]) -> None:
    total, planner = kind
    share = Remainder(total, WEEKS).share(planner)
    assert (share.delta, share.unit, share.adjacency) == (total.delta, total.unit, total.adjacency)
    assert share.epsilon == float(f"{share.epsilon:.3e}")
    assert charged(total, planner(share), WEEKS + 1) == WEEKS
    assert charged(total, planner(larger(share)), WEEKS) < WEEKS


@pytest.mark.full
def test_whoever_plans_for_them_is_not_asked(path: Path, kind: tuple[Budget, Planner]) -> None:
    """And shares that are taken one by one are those that were planned, or a rounding more."""
    (total, planner), months = kind, 12
    planned = Remainder(total, months).share(planner)
    ledger = Ledger.create(path, total, max_releases=months)
    taken = [planned]
    for month in range(months):
        share = ledger.share(planner)
        assert taken[-1].epsilon <= share.epsilon
        assert ledger.releases_left == months - month
        ledger.charge(planner(share))
        taken.append(share)
    assert taken[months // 2].epsilon <= planned.epsilon * 1.002
    assert ledger.remaining < 0.002 * total.epsilon
    with pytest.raises(BudgetError, match="no release left"):
        ledger.share(planner)


def test_a_charge_beyond_its_share_is_refused_and_changes_nothing(path: Path, make_plan: MakePlan) -> None:
    """The fault that was seen: the first release of 52 takes all of the total."""
    ledger = Ledger.create(path, TOTAL, max_releases=WEEKS)
    head = ledger.head
    with pytest.raises(ShareExceeded) as refusal:
        ledger.charge(make_plan(4.0))
    text = str(refusal.value)
    assert text.startswith(
        "this release costs ε = 4 per user, more than an equal share of what the ledger has"
    )
    assert "left for 52 releases: 52 like it would bring the total to ε = 46." in text
    assert "it may be 4;" in text
    assert "--accept share" in text
    assert ledger.head == head
    assert ledger.charge(make_plan(4.0), accept="share").private
    assert ledger.remaining == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(BudgetError, match="too little for 51 more releases"):
        ledger.share(lambda budget: make_plan(budget.epsilon))


def test_one_release_has_the_whole_total(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL)
    assert ledger.share(lambda budget: make_plan(budget.epsilon)) == TOTAL
    with pytest.raises(BudgetExceeded):
        ledger.charge(make_plan(4.001))
    ledger.charge(make_plan(4.0))


@pytest.mark.parametrize("parts", [3, 7, 10, 49])
def test_exact_shares_are_not_lost_to_rounding(path: Path, make_plan: MakePlan, parts: int) -> None:
    total = PURE.model_copy(update={"epsilon": parts / 10})
    ledger = Ledger.create(path, total, max_releases=parts)
    assert Remainder(total, parts).share(lambda budget: make_plan(budget.epsilon, delta=0.0)).epsilon == 0.1
    for _ in range(parts):
        ledger.charge(make_plan(0.1, delta=0.0))
    assert ledger.remaining == 0.0


def test_what_one_release_leaves_the_others_may_have(path: Path, make_plan: MakePlan) -> None:
    def planner(budget: Budget) -> Plan:
        return make_plan(budget.epsilon)

    ledger = Ledger.create(path, TOTAL, max_releases=10)
    first = ledger.share(planner)
    ledger.charge(make_plan(0.1))
    assert ledger.share(planner).epsilon > first.epsilon
    with pytest.raises(ShareExceeded, match="9 releases"):
        ledger.charge(make_plan(2.0))
    ledger.charge(make_plan(2.0), accept="share")
    assert ledger.share(planner).epsilon < first.epsilon
    ledger.extend(TOTAL, max_releases=20)
    assert ledger.releases_left == 18


def test_a_forfeited_charge_stays_spent_and_its_index_is_planned_again(
    path: Path, make_plan: MakePlan
) -> None:
    def planner(budget: Budget) -> Plan:
        return make_plan(budget.epsilon)

    ledger = Ledger.create(path, TOTAL, max_releases=10)
    first = ledger.share(planner)
    ledger.forfeit(ledger.charge(planner(first)))
    assert ledger.releases_left == 10
    assert ledger.share(planner).epsilon < first.epsilon
    ledger.charge(planner(ledger.share(planner)), release_index=3)  # and the process dies
    assert ledger.releases_left == 9
    again = ledger.share(planner, 3)
    assert again.epsilon < ledger.share(planner, 4).epsilon  # one of ten, in place of one of nine
    ledger.forfeit_index(3)
    ledger.charge(planner(again))


def test_a_release_that_was_made_keeps_its_budget(path: Path, make_plan: MakePlan) -> None:
    """So that the same command gives the same plan, and with it the same bytes."""

    def planner(budget: Budget) -> Plan:
        return make_plan(budget.epsilon)

    ledger = Ledger.create(path, TOTAL, max_releases=10)
    share = ledger.share(planner)
    finish(ledger, ledger.charge(planner(share)), b"one")
    ledger.charge(make_plan(2.0), accept="share")
    ledger.extend(TOTAL.model_copy(update={"epsilon": 9.0}), max_releases=99)
    assert Ledger.open(path).share(planner, 0) == share
    assert ledger.stored(planner(ledger.share(planner, 0)), 0) == b"one"
    assert ledger.share(planner, 2) != share


def test_nobody_is_asked_where_nothing_is_claimed(path: Path, make_plan: MakePlan) -> None:
    Ledger.create(path, TOTAL, max_releases=WEEKS).charge(make_plan(4.0), entropy=Seeded(1))
    Ledger.ephemeral(TOTAL, max_releases=WEEKS).charge(make_plan(4.0))


def test_what_no_share_can_pay_for_is_refused_by_the_plan(make_plan: MakePlan) -> None:
    def fixed(budget: Budget) -> Plan:
        if budget.epsilon < 1:
            raise BudgetError("planted: the settings cost ε = 1")
        return make_plan(1.0)

    with pytest.raises(BudgetError, match="planted: the settings"):
        Remainder(TOTAL, WEEKS).share(fixed)
    assert Remainder(TOTAL, 2).share(fixed) == TOTAL


def test_refusals_that_do_not_depend_on_epsilon_are_those_of_the_plan(make_plan: MakePlan) -> None:
    def unsupported(budget: Budget) -> Plan:
        raise BudgetUnsupported("planted")

    with pytest.raises(BudgetUnsupported, match="planted"):
        Remainder(TOTAL, 2).share(unsupported)
    with pytest.raises(BudgetError, match="too large for up to 1,000 users"):
        Remainder(TOTAL.model_copy(update={"delta": 1e-3}), 2).share(
            lambda b: make_plan(b.epsilon, delta=b.delta)
        )


def test_the_count_is_that_of_the_ledger(path: Path, make_plan: MakePlan) -> None:
    plan = make_plan(0.5)
    ledger = Ledger.create(path, TOTAL, max_releases=WEEKS)
    for made in (1, 2):
        ledger.charge(plan, accept="share")
        counted = Remainder(TOTAL, WEEKS, Spent()).after(plan.spent, made)
        assert ledger.remaining == pytest.approx(TOTAL.epsilon - fixed_point.shown(counted), abs=1e-12)
