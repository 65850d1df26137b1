"""Least squares from right-hand sides under noise: what is particular to it."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.data.synthetic import netflix_like

HALVED = {"item sums": 0.12, "item counts": 0.03, "user sums": 0.28, "user counts": 0.07}
HALVED |= {f"{side}, round {t + 1}": 0.25 / 5 for side in ("users", "items") for t in range(5)}


def hinted(domain, ratings):
    return domain.model_copy(update={"expected_ratings": ratings})


def test_least_squares_find_what_averages_leave(listed_rmse, budget):
    config = hr.PrivateALS(rank=4)
    assert listed_rmse(config) < listed_rmse(hr.GlobalEffects(user_biases="released")) - 0.02
    found, left = (listed_rmse(m, budget(20.0)) for m in (config, hr.GlobalEffects(user_biases="released")))
    assert found < left - 0.005


def test_each_epoch_solves_each_side_once(listed, budget):
    domain = hinted(listed[0].domain, 10**6)
    planned = hr.plan(hr.PrivateALS(rank=3, epochs=3), domain, budget())
    rounds = [m for m in planned.measurements if ", round " in m.event.name]
    names = [f"{side}, round {t}" for t in range(1, 4) for side in ("users", "items")]
    assert [m.event.name for m in rounds] == names
    assert [m.event.sensitivity for m in rounds] == pytest.approx([0.9] * 6, rel=1e-3)
    assert sum(m.share for m in rounds) == pytest.approx(0.65), "the averages get the rest"
    more = hr.plan(hr.PrivateALS(rank=3, epochs=3), hinted(domain, 1000), budget(0.5))
    assert sum(m.share for m in more.measurements if ", round " in m.event.name) < 0.5, "factors drown"


def test_a_crowd_too_small_to_show_factors_gets_averages_alone(listed, budget):
    """The release of averages, bit for bit; a larger crowd or a setting brings rounds back."""
    train, allowed = listed[0], budget(1.0)
    few, many = hinted(train.domain, 10_000), hinted(train.domain, 10**6)
    moved = hr.Ratings(few, train.users, train.indptr, train.items, train.steps)
    averages = hr.GlobalEffects(user_biases="released", noise="gaussian")
    alone, hidden = (
        hr.fit(moved, model, allowed, entropy=hr.testing.Seeded(1)) for model in (averages, hr.PrivateALS())
    )
    assert [m.name for m in hidden.statement.measurements] == [m.name for m in alone.statement.measurements]
    for name, tensor in alone.tensors.items():
        np.testing.assert_array_equal(tensor, hidden.tensors[name])
    assert hr.PrivateALS().footprint(few, allowed) == averages.footprint(few, allowed)
    assert hr.PrivateALS().footprint(many, allowed) != averages.footprint(many, allowed)
    for model, domain, epochs in ((hr.PrivateALS(), many, 5), (hr.PrivateALS(epochs=3), few, 3)):
        names = [m.event.name for m in hr.plan(model, domain, allowed).measurements]
        assert len([name for name in names if ", round " in name]) == 2 * epochs


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_it_is_never_worse_than_averages(epsilon, budget):
    """Few people and many items: noise hides factors, and rounds all the same would cost too much."""
    train, test = holdout(netflix_like(600, 800, 30_000, seed=7), 0.1, seed=1)
    domain = hinted(train.domain, 30_000).model_copy(update={"users": tuple(train.users.to_list())})
    train = hr.Ratings(domain, train.users, train.indptr, train.items, train.steps)

    def error(model):
        release = hr.fit(train, model, budget(epsilon), entropy=hr.testing.Seeded(1))
        return hr.evaluate(release, train=train, test=test)["rmse"]

    averages = error(hr.GlobalEffects(user_biases="released", noise="gaussian"))
    assert error(hr.PrivateALS()) <= 1.002 * averages < error(hr.PrivateALS(epochs=5, shares=HALVED))
