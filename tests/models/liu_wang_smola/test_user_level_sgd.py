"""Descent with the tastes at home: what is booked, and how far its clip and its noise reach."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.declarations import Crowd
from hushrec.models.liu_wang_smola import noisy_descent
from hushrec.models.liu_wang_smola.noisy_descent import Descent
from hushrec.privacy.accounting.budget import Unprotected


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
    assert stated[:5] == ["global sum", "global count", "weight ratios", "item sums", "item counts"]
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


# -- descent of item factors: what a crowd shows of them, and where it starts -----------------------------


EXACT = Unprotected("user", "add-remove")


def test_what_is_booked_does_not_depend_on_the_crowd():
    small, large = (hr.Domain(range(30), scale=(1, 5, 1), max_users=n) for n in (100, 10**6))
    for settings, norm in (({}, 2.4), ({"clip_norm": 0.1}, 0.4)):
        (one,) = {
            query.sensitivity for domain in (small, large) for query in Descent(**settings).queries(domain)
        }
        assert one == pytest.approx(norm, rel=1e-3)


def test_the_clip_is_wider_where_noise_hides_less_than_clipping(budget):
    films, crowd, asked = (
        Crowd(6_000.0, 1e6, declared=True),
        Crowd(1e5, 5e6, declared=True),
        budget(4.0, "user"),
    )
    assert Descent().widening(films, 3_700, asked) == 1
    assert 1 < Descent().widening(films, 3_700, budget(20.0, "user")) < 3
    assert Descent().widening(Crowd(2e4, 1e6, declared=True), 2_000, asked) < Descent().widening(
        crowd, 2_000, asked
    )
    assert (
        Descent().widening(crowd, 2_000, EXACT) == Descent().widening(crowd, 2_000, budget(20.0, "user")) == 5
    )
    assert Descent().widening(Crowd(100.0, 1e3, declared=True), 2_000, budget(60.0, "user")) == 3
    assert Descent(clip_norm=0.6).widening(crowd, 2_000, asked) == 1
    assert (
        Descent().reach(crowd, 2_000, asked).kept > 3 * Descent(clip_norm=0.6).reach(crowd, 2_000, asked).kept
    )


def test_a_wider_clip_is_that_norm_scaled_to_what_is_booked(world, monkeypatch):
    """Without noise, the same factors up to the grid as with the wide norm itself, if it is scaled."""
    train = world[0]

    def factors(**settings):
        return hr.baseline(train, hr.PosteriorMF(epochs=6, **settings)).tensors["item_factors"]

    wide = factors(clip_norm=3.0)
    assert Descent().widening(train.domain.crowd, train.domain.n_items, EXACT) == 5
    np.testing.assert_allclose(factors(), wide, atol=0.01 * np.abs(wide).max())
    monkeypatch.setattr(
        noisy_descent, "item_scales", lambda counts, right=noisy_descent.item_scales: 5 * right(counts)
    )
    assert np.abs(factors() - wide).max() > 0.1 * np.abs(wide).max()
