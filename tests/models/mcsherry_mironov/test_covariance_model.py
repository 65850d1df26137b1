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
    booked = [(e.measurement, e.mechanism, e.sensitivity, e.sigma, e.size) for e in ledger.entries()]
    assert booked == [(e.name, e.mechanism, e.sensitivity, e.deviation, e.size) for e in plan.events]
    assert ledger.spent == plan.spent
    assert release.statement.epsilon == plan.epsilon
    assert plan.epsilon <= 2.0 < plan.epsilon * 1.001
    assert release.statement.private


@MODELS
def test_under_replace_nothing_but_values_is_noisy(world, budget, model):
    plan = hr.plan(world[0].domain, model(), budget(adjacency="replace"))
    assert [m.event.name for m in plan.measurements] == ["item sums", "covariance"]
