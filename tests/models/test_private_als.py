"""Least squares from right-hand sides under noise: what is particular to it."""

import pytest

import hushrec as hr


def test_least_squares_find_what_averages_leave(listed_rmse, budget):
    config = hr.PrivateALS(rank=4)
    assert listed_rmse(config) < listed_rmse(hr.GlobalEffects(user_biases="released")) - 0.02
    found, left = (listed_rmse(m, budget(20.0)) for m in (config, hr.GlobalEffects(user_biases="released")))
    assert found < left - 0.005


def test_each_epoch_solves_each_side_once(listed, budget):
    planned = hr.plan(hr.PrivateALS(rank=3, epochs=3), listed[0].domain, budget())
    rounds = [m for m in planned.measurements if ", round " in m.event.name]
    names = [f"{side}, round {t}" for t in range(1, 4) for side in ("users", "items")]
    assert [m.event.name for m in rounds] == names
    assert [m.event.sensitivity for m in rounds] == pytest.approx([0.9] * 6, rel=1e-3)
    assert 0.7 < sum(m.share for m in rounds) < 0.9, "the averages get the rest"
    more = hr.plan(hr.PrivateALS(rank=3, epochs=3), listed[0].domain, budget(0.5))
    assert sum(m.share for m in more.measurements if ", round " in m.event.name) < 0.5, "factors drown"
