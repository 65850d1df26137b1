"""Gradients that are made of each user's own ratings: their vectors stay on their devices."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.data.synthetic import netflix_like
from hushrec.errors import BudgetUnsupported

SPENT = {
    **dict.fromkeys(("global sum", "global count", "slopes"), 0.02),
    "item sums": 0.38,
    "item counts": 0.06,
}
SPENT |= {f"items, epoch {t + 1}": 0.5 / 12 for t in range(12)}


def hinted(domain, users, ratings):
    return domain.model_copy(update={"expected_users": users, "expected_records": ratings})


def expecting(train, users, ratings):
    domain = hinted(train.domain, users, ratings)
    return hr.People(domain, train.users, train.indptr, train.items, train.values)


@pytest.fixture
def fold_in(world, budget):
    """No roster is needed where nobody's vector is released."""
    return hr.testing.fit(
        world[0], hr.UserLevelSGD(rank=3, epochs=4), budget(4.0, unit="user"), entropy=hr.testing.Seeded(1)
    )


def test_where_people_are_protected_their_vectors_stay_at_home(fold_in, world):
    assert fold_in.kind == "factors"
    assert fold_in.users == ()
    assert sorted(fold_in.tensors) == ["item_effects", "item_factors", "item_noise", "item_popularity"]
    n_users = world[0].n_users
    assert all(n_users not in tensor.shape for tensor in fold_in.tensors.values())
    stated = [m.name for m in fold_in.statement.measurements]
    assert stated[:5] == ["global sum", "global count", "slopes", "item sums", "item counts"]
    assert stated[5:] == [f"items, epoch {t}" for t in range(1, 5)]
    assert "3.999" in f"{fold_in.statement.epsilon:.4f}" or fold_in.statement.epsilon <= 4


def test_a_roster_changes_nothing_there(world, listed, budget):
    config, allowed = hr.UserLevelSGD(rank=3, epochs=4), budget(4.0, unit="user")
    without, again = (
        hr.testing.fit(expecting(train, 400, 12_000), config, allowed, entropy=hr.testing.Seeded(1))
        for train in (world[0], listed[0])
    )
    assert again.kind == "factors"
    for name, tensor in without.tensors.items():
        np.testing.assert_array_equal(tensor, again.tensors[name])


def test_less_noise_is_more_accurate_for_people_at_home(rmse, budget):
    config = hr.UserLevelSGD(rank=4)
    errors = [rmse(config, budget(epsilon, "user")) for epsilon in (0.3, 5.0, 1000.0)]
    assert errors[0] > errors[1] > errors[2] + 0.005
    assert errors[2] < rmse(hr.GlobalEffects()) - 0.01, "it learns factors"


def test_it_protects_people_where_they_come_and_go(world, budget):
    for unit, adjacency in (("record", "add-remove"), ("record", "replace"), ("user", "replace")):
        with pytest.raises(BudgetUnsupported, match="UserLevelSGD protects user under add-remove; change"):
            hr.plan(world[0].domain, hr.UserLevelSGD(), budget(unit=unit, adjacency=adjacency))


def test_the_clip_norm_is_what_a_user_moves_a_round_by(world, budget):
    """In widths times quarters of the width: 4 stars of one star each."""
    for clip_norm in (0.375, 0.75):
        planned = hr.plan(world[0].domain, hr.UserLevelSGD(clip_norm=clip_norm), budget(unit="user"))
        (moved,) = {event.sensitivity for event in planned.noisy if ", epoch " in event.name}
        assert moved == pytest.approx(clip_norm * 4, rel=1e-6)


def test_a_crowd_too_small_to_show_factors_gets_item_effects_alone(world, budget):
    """The release of global effects, bit for bit; a larger crowd or a setting brings rounds back."""
    train, allowed = world[0], budget(1.0, unit="user")
    few, many = hinted(train.domain, 300, 9000), hinted(train.domain, 10**6, 10**8)
    effects, hidden = (
        hr.testing.fit(expecting(train, 300, 9000), model, allowed, entropy=hr.testing.Seeded(1))
        for model in (hr.GlobalEffects(), hr.UserLevelSGD())
    )
    assert [m.name for m in hidden.statement.measurements] == [m.name for m in effects.statement.measurements]
    for name, tensor in effects.tensors.items():
        np.testing.assert_array_equal(tensor, hidden.tensors[name])
    assert len(hr.plan(many, hr.UserLevelSGD(), allowed).measurements) == 5 + 12
    assert len(hr.plan(few, hr.UserLevelSGD(epochs=3), allowed).measurements) == 5 + 3
    model = hr.UserLevelSGD()
    assert model.footprint(few, allowed) == hr.GlobalEffects().footprint(few, allowed)
    assert model.footprint(many, allowed) != model.footprint(few, allowed)


def test_rounds_get_the_more_the_more_there_is_to_see(world, budget):
    """Of the budget, half at most; and the noise alone does not decide, but the crowd as well."""

    def share(epsilon, users):
        domain = hinted(world[0].domain, users, 100 * users)
        planned = hr.plan(domain, hr.UserLevelSGD(), budget(epsilon, unit="user"))
        return sum(m.split for m in planned.measured() if "epoch" in m.name)

    assert share(1.0, 100) == 0 < share(1.0, 10**5) < share(1.0, 10**6) < 0.5
    assert share(1.0, 10**5) < share(10.0, 10**5) < 0.5


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_it_is_never_worse_than_effects(epsilon, budget):
    """Few people and many items: noise hides factors, and twelve rounds would cost too much."""
    train, test = holdout(netflix_like(600, 800, 30_000, seed=7), 0.1, seed=1)
    train = expecting(train, 600, 30_000)

    def error(model):
        release = hr.testing.fit(train, model, budget(epsilon, unit="user"), entropy=hr.testing.Seeded(1))
        return hr.evaluate(release, train=train, test=test)["rmse"]

    effects = error(hr.GlobalEffects())
    assert error(hr.UserLevelSGD()) <= 1.002 * effects < error(hr.UserLevelSGD(epochs=12, split=SPENT))
