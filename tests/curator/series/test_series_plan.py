"""The plan of a series: one cost for all releases, the same noise in each, and refusals."""

from dataclasses import replace

import pytest

import hushrec as hr
from hushrec.curator.series.series_plan import repeated, seen, series_plan
from hushrec.errors import BudgetError, BudgetUnsupported, ConfigError, DataError
from hushrec.privacy.accounting.ages import Part, joint_norm
from hushrec.privacy.ledger.booking import series_of
from support.series import DOMAIN

CLICKS = hr.Domain(range(30), max_users=100)


def planned(model, domain, total, releases=52):
    """A plan with the split that the model has."""
    return series_plan(model, domain, total, releases, repeated(model, domain, total, releases).split)


@pytest.fixture
def total(budget):
    return budget(4.0, "user")


def test_all_releases_together_cost_the_budget(total):
    plan = planned(hr.GlobalEffects(), DOMAIN, total, 52)
    assert plan.part == Part(0, 52)
    assert 3.99 < plan.epsilon <= 4
    counts = plan.events[-1]
    cap = repeated(hr.GlobalEffects(), DOMAIN, total, 52).sums.contribution_cap
    assert counts.sensitivity == pytest.approx(cap**0.5 * joint_norm(52), 1e-6)
    once = hr.GlobalEffects().effects.sums(DOMAIN, seen(total, 52), "l2")
    assert seen(total, 52).epsilon == pytest.approx(4 / joint_norm(52) ** 2)
    assert cap == once.contribution_cap, "K follows the noise of a running sum"


def test_every_part_has_the_same_noise_and_another_key(total):
    first = planned(hr.GlobalEffects(), DOMAIN, total, 52)
    last = replace(first, part=Part(51, 52))
    assert series_of(first, "ledger") == series_of(last, "ledger") != ""
    assert first.key("ledger", 0) != last.key("ledger", 0)
    other = replace(first, part=Part(0, 52, "another"))
    assert series_of(other, "ledger") != series_of(first, "ledger")
    assert series_of(first, "other") != series_of(first, "ledger")
    assert series_of(replace(first, part=None), "ledger") == ""


def test_a_series_is_the_same_in_a_larger_catalogue_but_not_with_other_noise(total, budget):
    model = hr.GlobalEffects().settled(DOMAIN, total)
    first = series_of(planned(model, DOMAIN, total, 52), "ledger")
    grown = hr.Domain([*DOMAIN.items, "new"], scale=(1, 5, 1), max_users=100, max_per_user=500)
    assert series_of(planned(model, grown, total, 52), "ledger") == first
    split = dict(repeated(model, DOMAIN, total, 52).split)
    others = (
        series_plan(model, DOMAIN, total, 52, {**split, "item sums": split["item sums"] / 2}),
        planned(model, DOMAIN, total, 51),
        planned(model, DOMAIN, budget(3.0, "user"), 52),
        planned(hr.GlobalEffects(effects={"clip": 0.4}), DOMAIN, total, 52),
        planned(hr.Popularity(), CLICKS, total, 52),
    )
    assert len({first, *(series_of(plan, "ledger") for plan in others)}) == 6


def test_what_has_no_series_is_refused(total, budget):
    with pytest.raises(BudgetUnsupported, match="unit user under add-remove"):
        planned(hr.GlobalEffects(), DOMAIN, budget(4.0, "record"), 52)
    with pytest.raises(BudgetUnsupported, match="set δ"):
        planned(hr.GlobalEffects(), DOMAIN, total.model_copy(update={"delta": 0.0}), 52)
    for model in (
        hr.CovarianceSVD(),
        hr.GlobalEffects(noise="laplace"),
        hr.GlobalEffects(split={"item sums": 0.5}),
        hr.MatrixFactorization(),
    ):
        with pytest.raises(ConfigError):
            planned(model, DOMAIN, total, 52)
    with pytest.raises(DataError):
        planned(hr.Popularity(), DOMAIN, total, 52)
    with pytest.raises(BudgetError, match="from 1 to"):
        planned(hr.GlobalEffects(), DOMAIN, total, 0)


def test_a_plan_takes_what_a_ledger_has_left(tmp_path, budget):
    total = budget(4.0, "user")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total, 52)
    plan = hr.plan_series(DOMAIN, hr.GlobalEffects(), ledger)
    settled = hr.GlobalEffects().settled(DOMAIN, seen(total, 52))
    assert plan == planned(settled, DOMAIN, total, 52)
    assert plan.settings["effects"]["contribution_cap"] == settled.effects.contribution_cap
    assert "for all 52 releases of the series together, each of which measures all of this once" in str(plan)
    assert "A fit needs about" in str(plan), "each release needs as much memory"
    assert plan == hr.plan_series(DOMAIN, hr.GlobalEffects(), ledger.path)
    clicks = hr.plan_series(CLICKS, hr.Popularity(), ledger)
    assert clicks.epsilon == pytest.approx(4, abs=2e-3)
