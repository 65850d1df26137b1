"""Gradients that are made of each user's own ratings: their vectors stay on their devices."""

import pytest

import hushrec as hr


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


def test_less_noise_is_more_accurate_for_people_at_home(rmse, budget):
    config = hr.UserLevelSGD(rank=4)
    errors = [rmse(config, budget(epsilon, "user")) for epsilon in (0.3, 5.0, 1000.0)]
    assert errors[0] > errors[1] > errors[2] + 0.005
    assert errors[2] < rmse(hr.GlobalEffects()) - 0.01, "it learns factors"


def test_the_clip_norm_is_what_a_user_moves_a_round_by(world, budget):
    """In widths times quarters of the width: 4 stars of one star each."""
    for clip_norm in (0.375, 0.75):
        planned = hr.plan(world[0].domain, hr.UserLevelSGD(clip_norm=clip_norm), budget(unit="user"))
        (moved,) = {event.sensitivity for event in planned.noisy if ", epoch " in event.name}
        assert moved == pytest.approx(clip_norm * 4, rel=1e-6)
