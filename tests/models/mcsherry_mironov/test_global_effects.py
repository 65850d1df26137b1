import numpy as np
import pytest

import hushrec as hr


def test_without_noise_it_beats_item_averages_and_says_that_it_is_not_private(world, rmse):
    train, test = world
    values, items = train.numbers(), train.items
    means = np.bincount(items, values, minlength=150) / np.maximum(np.bincount(items, minlength=150), 1)
    item_average = np.sqrt(np.mean((means[test.items] - test.numbers()) ** 2))
    release = hr.baseline(train, hr.GlobalEffects())
    assert hr.evaluate(release, train=train, test=test)["rmse"] < item_average - 0.01
    assert str(release.statement).startswith("NOT PRIVATE: no noise")


@pytest.mark.parametrize("unit", ["record", "user"])
def test_less_noise_is_more_accurate_and_much_budget_approaches_none(rmse, budget, unit):
    config = hr.GlobalEffects()
    errors = [rmse(config, budget(epsilon, unit)) for epsilon in (0.1, 1.0, 1000.0)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < rmse(config) + 0.01


def test_pure_noise_with_laplace(world, budget):
    train, _ = world
    pure = budget(delta=0.0)
    plan = hr.plan(train.domain, hr.GlobalEffects(noise="laplace"), pure)
    assert plan.epsilon == pytest.approx(4.0, abs=1e-9)
    assert {m.mechanism for m in plan.measurements} == {"laplace"}
