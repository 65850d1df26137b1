"""What both models of a covariance share: what they measure, what is booked, and every way of cleaning."""

import pytest

import hushrec as hr

MODELS = pytest.mark.parametrize("model", [hr.CovarianceSVD, hr.CovarianceKNN])


@MODELS
@pytest.mark.parametrize("way", ["weighted", "shrink", "none"])
@pytest.mark.full
def test_every_way_of_cleaning_runs(rmse, budget, way, model):
    rank = {} if model is hr.CovarianceKNN and way == "none" else {"rank": 8}
    assert 0.5 < rmse(model(covariance={"cleaning": way}, **rank), budget(20.0)) < 1.8


@MODELS
def test_under_replace_nothing_but_values_is_noisy(world, budget, model):
    plan = hr.plan(world[0].domain, model(), budget(adjacency="replace"))
    assert [m.name for m in plan.noisy] == ["item sums", "covariance"]
