"""Equal shares of models: planned for a year, taken week by week."""

import pytest

import hushrec as hr
from hushrec.errors import BudgetError, ConfigError, LedgerError, ShareExceeded
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects

WEEKS = 52
MODEL, ALONE = GlobalEffects(), hr.AdaptiveFactors()


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


@pytest.fixture
def total(budget):
    return budget(4.0)


@pytest.fixture
def ledger(tmp_path, total):
    return hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=WEEKS)


def test_a_share_is_read_off_public_facts(small, total):
    share = hr.split_budget(total, WEEKS)
    assert share == total.model_copy(update={"epsilon": 0.4659})
    assert hr.plan(small.domain, MODEL, share).epsilon <= 0.4659
    assert hr.split_budget(total, 1) == total
    with pytest.raises(BudgetError, match="no release left"):
        hr.split_budget(total, 0)
    for wrong in (-1, 2.5, True, "2"):
        with pytest.raises(BudgetError, match="releases must be a whole number"):
            hr.split_budget(total, wrong)


def test_auto_takes_the_next_share(small, ledger, total):
    planned = hr.split_budget(total, WEEKS)
    release = hr.fit(small, ALONE, "auto", ledger=ledger)
    assert release.statement.private
    assert release.statement.epsilon <= planned.epsilon
    assert release.statement.epsilon == pytest.approx(planned.epsilon)
    assert ledger.state().releases_left == WEEKS - 1
    assert ledger.share().epsilon == pytest.approx(planned.epsilon, rel=0.002)


def test_the_first_of_a_year_takes_half_and_each_later_one_an_equal_share(small, ledger, total):
    first = hr.fit(small, MODEL, "auto", ledger=ledger)
    assert first.statement.epsilon == pytest.approx(hr.split_budget(total, WEEKS, first=True).epsilon)
    assert ledger.state().spent == pytest.approx(ledger.state().allowed / 2, rel=2e-3)
    later = ledger.share().epsilon
    second = hr.fit(small, MODEL, "auto", ledger=ledger)
    assert second.statement.year["own_epsilon"] == pytest.approx(later)
    assert ledger.share().epsilon == pytest.approx(later, rel=2e-3)
    with pytest.raises(BudgetError, match="no release left"):
        hr.split_budget(total, 0, first=True)
    assert hr.split_budget(total, 1, first=True) == total


def test_settings_that_decide_the_cost_are_held_to_an_equal_share_too(small, tmp_path):
    method = hr.DistanceBased(groups="ratings", keep_probability=0.5, group_probability=0.5, threshold=4.0)
    cost = method.plan(small.domain).epsilon
    total = hr.Budget(epsilon=1.5 * cost, delta=0.0, unit="user", adjacency="replace-items")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=2)
    with pytest.raises(ShareExceeded, match="more than an equal share"):
        hr.randomize(small, method, ledger=ledger)
    hr.randomize(small, method, ledger=ledger, accept=("share", "weak"))


def test_auto_needs_a_ledger(small, ledger):
    with pytest.raises(LedgerError, match='"auto" takes a share of a ledger that is there'):
        hr.fit(small, MODEL, "auto", ledger=None)
    with pytest.raises(ConfigError, match='budget is a Budget, or "auto"'):
        hr.fit(small, MODEL, "all", ledger=ledger)
    with pytest.raises(ConfigError, match=r"a fit charges a budget.*call hushrec\.baseline"):
        hr.fit(small, MODEL, ledger=ledger)
