"""Equal shares: what fits as often as it is planned, and not a step more; what a larger charge is told."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from hushrec.errors import BudgetError, BudgetExceeded, ShareExceeded
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.booking import spent_after, split_budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

MakePlan = Callable[..., Plan]
Planner = Callable[[Budget], Plan]
TOTAL = Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
PURE = TOTAL.model_copy(update={"delta": 0.0})
WEEKS = 52


def of_laplace_noise(budget: Budget) -> Plan:
    listed = [Measurement(name, 1.0, "l1", 2**-10, 4) for name in ("sums", "counts")]
    return Plan("toy", {}, "d" * 64, 1000, budget, calibrated(listed, {"sums": 0.5, "counts": 0.5}, budget))


@pytest.fixture(params=["gaussian", "laplace, pure", "laplace by μ"])
def kind(request: pytest.FixtureRequest, make_plan: MakePlan) -> tuple[Budget, Planner]:
    """A total, and what a release of a kind of noise costs under a budget."""
    if request.param == "gaussian":
        return TOTAL, lambda budget: make_plan(budget.epsilon)
    return (PURE if "pure" in request.param else TOTAL), of_laplace_noise


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
    share = split_budget(total, WEEKS)
    assert (share.delta, share.unit, share.adjacency) == (total.delta, total.unit, total.adjacency)
    assert share.epsilon == float(f"{share.epsilon:.3e}")
    assert charged(total, planner(share), WEEKS + 1) == WEEKS
    assert charged(total, planner(larger(share)), WEEKS) < WEEKS


@pytest.mark.full
def test_whoever_plans_for_them_is_not_asked(path: Path, kind: tuple[Budget, Planner]) -> None:
    """And shares that are taken one by one are those that were planned, or a rounding more."""
    (total, planner), months = kind, 12
    planned = split_budget(total, months)
    ledger = Ledger.create(path, total, max_releases=months)
    taken = [planned]
    for month in range(months):
        share = ledger.share()
        assert taken[-1].epsilon <= share.epsilon
        assert ledger.state().releases_left == months - month
        ledger.charge(planner(share))
        taken.append(share)
    assert taken[months // 2].epsilon <= planned.epsilon * 1.002
    assert ledger.state().spent > 0.998 * largest_cost(total)
    with pytest.raises(BudgetError, match="no release left"):
        ledger.share()


def test_a_charge_beyond_its_share_is_refused_and_changes_nothing(path: Path, make_plan: MakePlan) -> None:
    """The fault that was seen: the first release of 52 takes all of the total."""
    ledger = Ledger.create(path, TOTAL, max_releases=WEEKS)
    head = ledger.state().head
    with pytest.raises(ShareExceeded) as refusal:
        ledger.charge(make_plan(4.0))
    text = str(refusal.value)
    assert text.startswith(
        "this release costs ε = 4 per user, more than an equal share of what the ledger has"
    )
    assert "left for 52 releases: 52 like it would bring the total to ε = 46." in text
    assert "it may be 4;" in text
    assert "--accept share" in text
    assert f"An equal share is ε = {ledger.share().epsilon}: --epsilon auto takes it" in text
    assert ledger.state().head == head
    assert ledger.charge(make_plan(4.0), accept=["share"]).private
    assert ledger.state().remaining == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(BudgetError, match="too little for 51 more releases"):
        ledger.share()


def test_one_release_has_the_whole_total(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL)
    assert ledger.share() == TOTAL
    with pytest.raises(BudgetExceeded):
        ledger.charge(make_plan(4.001))
    ledger.charge(make_plan(4.0))


@pytest.mark.parametrize("parts", [3, 7, 10, 49])
def test_exact_shares_are_not_lost_to_rounding(path: Path, make_plan: MakePlan, parts: int) -> None:
    total = PURE.model_copy(update={"epsilon": parts / 10})
    ledger = Ledger.create(path, total, max_releases=parts)
    assert split_budget(total, parts).epsilon == 0.1
    for _ in range(parts):
        ledger.charge(make_plan(0.1, delta=0.0))
    assert ledger.state().remaining == 0.0


def test_what_one_release_leaves_the_others_may_have(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=10)
    first = ledger.share()
    ledger.charge(make_plan(0.1))
    assert ledger.share().epsilon > first.epsilon
    with pytest.raises(ShareExceeded, match="9 releases"):
        ledger.charge(make_plan(2.0))
    ledger.charge(make_plan(2.0), accept=["share"])
    assert ledger.share().epsilon < first.epsilon
    ledger.extend(TOTAL, max_releases=20)
    assert ledger.state().releases_left == 18


def test_a_forfeited_charge_stays_spent_and_its_index_is_planned_again(
    path: Path, make_plan: MakePlan
) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=10)
    first = ledger.share()
    ledger.forfeit(ledger.charge(make_plan(first.epsilon)))
    assert ledger.state().releases_left == 10
    assert ledger.share().epsilon < first.epsilon
    ledger.charge(make_plan(ledger.share().epsilon))  # and the process dies
    assert ledger.state().releases_left == 9
    nine = ledger.share()
    ledger.forfeit(0)
    assert ledger.share().epsilon < nine.epsilon  # one of ten, in place of one of nine


def test_nobody_is_asked_where_nothing_is_claimed(path: Path, make_plan: MakePlan) -> None:
    Ledger.create(path, TOTAL, max_releases=WEEKS).charge(make_plan(4.0), entropy=Seeded(1))
    Ledger.ephemeral(TOTAL, max_releases=WEEKS).charge(make_plan(4.0))


@pytest.mark.parametrize("total", [TOTAL, PURE], ids=["gaussian", "pure"])
@pytest.mark.parametrize("releases", [1, 2, 7, 52, 1000])
def test_a_share_is_a_division(total: Budget, releases: int) -> None:
    share = split_budget(total, releases)
    whole = largest_cost(total)
    assert largest_cost(share) * releases <= whole < largest_cost(larger(share)) * releases
    spent = whole // 3
    rest = split_budget(total, releases, spent)
    assert largest_cost(rest) * releases <= whole - spent < largest_cost(larger(rest)) * releases


def test_the_count_is_that_of_the_ledger(path: Path, make_plan: MakePlan) -> None:
    plan = make_plan(0.5)
    ledger = Ledger.create(path, TOTAL, max_releases=WEEKS)
    for made in (1, 2):
        before = ledger.state().spent
        grant = ledger.charge(plan, accept=["share"])
        assert grant.ledger["spent_epsilon"] == spent_after(plan, made, TOTAL)
        assert grant.ledger["spent_epsilon"] == spent_after(plan, 1, TOTAL, before)
        assert ledger.state().spent == made * plan.spent.mu_squared
