"""What models of user and item factors share: rounds where factors show, and averages alone elsewhere."""

import pytest

import hushrec as hr

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
