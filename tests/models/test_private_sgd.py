"""Gradients at released factors: what is particular to them."""

import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported


def test_gradients_find_what_averages_leave(listed_rmse, budget):
    config = hr.PrivateSGD(rank=4)
    assert listed_rmse(config) < listed_rmse(hr.GlobalEffects(user_biases="released")) - 0.02
    found, left = (listed_rmse(m, budget(20.0)) for m in (config, hr.GlobalEffects(user_biases="released")))
    assert found < left - 0.005


def test_each_epoch_has_two_measurements_of_one_size(listed, budget):
    domain = listed[0].domain
    planned = hr.plan(hr.PrivateSGD(rank=3, epochs=5), domain, budget())
    rounds = [m for m in planned.measurements if ", round " in m.event.name]
    names = [f"{side}, round {t}" for t in range(1, 6) for side in ("users", "items")]
    assert [m.event.name for m in rounds] == names
    assert {m.event.mechanism for m in planned.measurements} == {"gaussian"}
    assert len({m.share for m in rounds}) == 1
    assert 0.7 < sum(m.share for m in rounds) < 0.9, "the averages get the rest"
    assert [m.event.sensitivity for m in rounds] == pytest.approx([0.8 * 0.42] * 10, rel=1e-3)
    twice = hr.plan(hr.PrivateSGD(rank=3, epochs=5), domain, budget(adjacency="replace"))
    sums = {m.event.name: m.event.sensitivity for m in twice.measurements}
    assert sums["users, round 1"] == pytest.approx(2 * rounds[0].event.sensitivity)


def test_unit_user_is_another_algorithm(listed, budget):
    with pytest.raises(BudgetUnsupported, match="PrivateSGD protects rating under add-remove, rating under"):
        hr.plan(hr.PrivateSGD(), listed[0].domain, budget(unit="user"))
