"""Gradients at released factors: what is particular to them, and the form where vectors stay at home."""

import numpy as np
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


def test_as_published_under_replace_it_draws_noise_for_every_rating_in_every_epoch(
    listed, listed_rmse, budget
):
    config = hr.PrivateSGD(rank=3, epochs=4, analysis="published")
    planned = hr.plan(config, listed[0].domain, budget(adjacency="replace"))
    assert [e.name for e in planned.events if e.size == 0] == [f"ratings, round {t}" for t in range(1, 5)]
    assert planned.epsilon == pytest.approx(planned.claimed_epsilon, rel=1e-9)
    assert listed_rmse(config, budget(1000.0, adjacency="replace")) == pytest.approx(
        listed_rmse(config), abs=0.03
    )


# -- unit user --------------------------------------------------------------------------------------------


@pytest.fixture
def fold_in(world, budget):
    """No roster is needed where nobody's vector is released."""
    return hr.fit(
        world[0], hr.PrivateSGD(rank=3, epochs=4), budget(4.0, unit="user"), entropy=hr.testing.Seeded(1)
    )


def test_where_people_are_protected_their_vectors_stay_at_home(fold_in, world):
    assert fold_in.kind == "factors"
    assert fold_in.users == ()
    assert sorted(fold_in.tensors) == ["item_effects", "item_factors", "item_noise"]
    n_users = world[0].n_users
    assert all(n_users not in tensor.shape for tensor in fold_in.tensors.values())
    stated = [m.name for m in fold_in.statement.measurements]
    assert stated[:4] == ["global sum", "global count", "item sums", "item counts"]
    assert stated[4:] == [f"items, round {t}" for t in range(1, 5)]
    assert "3.999" in f"{fold_in.statement.epsilon:.4f}" or fold_in.statement.epsilon <= 4


def test_a_roster_changes_nothing_there(fold_in, listed, budget):
    config, allowed = hr.PrivateSGD(rank=3, epochs=4), budget(4.0, unit="user")
    again = hr.fit(listed[0], config, allowed, entropy=hr.testing.Seeded(1))
    assert again.kind == "factors"
    for name, tensor in fold_in.tensors.items():
        np.testing.assert_array_equal(tensor, again.tensors[name])


def test_less_noise_is_more_accurate_for_people_at_home(rmse, budget):
    config = hr.PrivateSGD(rank=4)
    errors = [rmse(config, budget(epsilon, "user")) for epsilon in (0.3, 5.0, 1000.0)]
    assert errors[0] > errors[1] > errors[2] + 0.005
    assert errors[2] < rmse(hr.GlobalEffects()) - 0.01, "it learns factors"


def test_only_the_corrected_form_protects_people(world, budget):
    with pytest.raises(BudgetUnsupported, match='set analysis="corrected"'):
        hr.plan(hr.PrivateSGD(analysis="published"), world[0].domain, budget(unit="user"))


def test_little_budget_goes_to_the_effects(world, budget):
    shares = []
    for epsilon in (0.1, 1.0, 10.0):
        planned = hr.plan(hr.PrivateSGD(), world[0].domain, budget(epsilon, unit="user"))
        shares.append(sum(m.share for m in planned.measurements if "round" in m.event.name))
    assert shares[0] < shares[1] < shares[2] == pytest.approx(0.7)
