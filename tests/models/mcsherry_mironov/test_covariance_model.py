"""What both models of a covariance share: what they measure, what is booked, and every way of cleaning."""

import pytest

import hushrec as hr

MODELS = pytest.mark.parametrize("model", [hr.CovarianceSVD, hr.CovarianceKNN])
UNITS = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]


@MODELS
@pytest.mark.parametrize("way", ["weighted", "shrink", "none"])
@pytest.mark.full
def test_every_way_of_cleaning_runs(rmse, budget, way, model):
    rank = {} if model is hr.CovarianceKNN and way == "none" else {"rank": 8}
    assert 0.5 < rmse(model(covariance={"cleaning": way}, **rank), budget(20.0)) < 1.8


@MODELS
@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_plan_is_what_the_ledger_books(world, budget, tmp_path, model, unit, adjacency, noise):
    chosen, allowed = model(rank=4, noise=noise), budget(2.0, unit, adjacency)
    plan = hr.plan(world[0].domain, chosen, allowed)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", allowed)
    release = hr.fit(world[0], chosen, allowed, ledger=ledger)
    (charge,) = ledger.state().charges
    booked = [one.facts() | {"sigma": one.deviation} for one in plan.noisy]
    assert [record | own for record, own in zip(charge.booked, booked, strict=True)] == [*charge.booked]
    assert ledger.state().spent == plan.spent.units(allowed.delta)
    assert release.statement.epsilon == plan.epsilon
    assert plan.spent.epsilon_at(1e-6) <= 2.0 < plan.spent.epsilon_at(1e-6) * 1.001
    assert plan.epsilon <= 2.0
    assert release.statement.private


@MODELS
def test_under_replace_nothing_but_values_is_noisy(world, budget, model):
    plan = hr.plan(world[0].domain, model(), budget(adjacency="replace"))
    assert [m.name for m in plan.noisy] == ["item sums", "covariance"]
