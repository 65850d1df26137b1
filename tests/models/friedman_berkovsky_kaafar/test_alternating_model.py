"""What models of user and item factors share: rounds where factors show, and averages alone elsewhere."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.data.synthetic import netflix_like

MODELS = pytest.mark.parametrize(("model", "epochs"), [(hr.PrivateSGD, 12), (hr.PrivateALS, 5)])


def hinted(domain, ratings):
    return domain.model_copy(update={"expected_records": ratings})


def rounds(model, domain, budget):
    planned = hr.plan(domain, model, budget).measured()
    return [m for m in planned if ", epoch " in m.name]


@MODELS
def test_rounds_find_what_averages_leave(listed_rmse, budget, model, epochs):
    averages = hr.GlobalEffects(user_biases="released")
    assert listed_rmse(model(rank=4)) < listed_rmse(averages) - 0.02
    found, left = (listed_rmse(one, budget(20.0)) for one in (model(rank=4), averages))
    assert found < left - 0.005


@MODELS
def test_each_epoch_measures_each_side_once(listed, budget, model, epochs):
    domain = hinted(listed[0].domain, 10**6)
    measured = rounds(model(rank=3, epochs=4), domain, budget())
    names = [f"{side}, epoch {t}" for t in range(1, 5) for side in ("users", "items")]
    assert [m.name for m in measured] == names
    assert {m.mechanism for m in measured} == {"gaussian"}
    assert len({m.split for m in measured}) == 1
    assert sum(m.split for m in measured) == pytest.approx(0.65), "the averages get the rest"
    twice = rounds(model(rank=3, epochs=4), domain, budget(adjacency="replace"))
    for once, moved in zip(measured, twice, strict=True):
        assert moved.sensitivity == pytest.approx(2 * once.sensitivity)
    more = rounds(model(rank=3, epochs=4), hinted(domain, 1000), budget(0.5))
    assert sum(m.split for m in more) < 0.5, "factors drown"


@MODELS
def test_a_crowd_too_small_to_show_factors_gets_averages_alone(listed, budget, model, epochs):
    """The release of averages, bit for bit; a larger crowd or a setting brings rounds back."""
    train, allowed = listed[0], budget(1.0)
    few, many = hinted(train.domain, 10_000), hinted(train.domain, 10**6)
    moved = hr.People(few, train.users, train.indptr, train.items, train.values)
    averages = hr.GlobalEffects(user_biases="released", noise="gaussian")
    alone, hidden = (
        hr.testing.fit(moved, one, allowed, entropy=hr.testing.Seeded(1)) for one in (averages, model())
    )
    assert [m.name for m in hidden.statement.measurements] == [m.name for m in alone.statement.measurements]
    for name, tensor in alone.tensors.items():
        np.testing.assert_array_equal(tensor, hidden.tensors[name])
    assert model().footprint(few, allowed) == averages.footprint(few, allowed)
    assert model().footprint(many, allowed) != averages.footprint(many, allowed)
    for one, domain, number in ((model(), many, epochs), (model(epochs=3), few, 3)):
        assert len(rounds(one, domain, allowed)) == 2 * number


@MODELS
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.full
def test_it_is_never_worse_than_averages(epsilon, budget, model, epochs):
    """Few people and many items: noise hides factors, and rounds all the same would cost too much."""
    train, test = holdout(netflix_like(600, 800, 30_000, seed=7), 0.1, seed=1)
    domain = hinted(train.domain, 30_000).model_copy(update={"users": tuple(train.users.to_pylist())})
    train = hr.People(domain, train.users, train.indptr, train.items, train.values)
    halved = {"item sums": 0.12, "item counts": 0.03, "user sums": 0.28, "user counts": 0.07}
    sides = [f"{side}, epoch {t + 1}" for side in ("users", "items") for t in range(epochs)]
    forced = model(epochs=epochs, split=halved | dict.fromkeys(sides, 0.25 / epochs))

    def error(one):
        release = hr.testing.fit(train, one, budget(epsilon), entropy=hr.testing.Seeded(1))
        return hr.evaluate(release, train=train, test=test)["rmse"]

    averages = error(hr.GlobalEffects(user_biases="released", noise="gaussian"))
    assert error(model()) <= 1.002 * averages < error(forced)
