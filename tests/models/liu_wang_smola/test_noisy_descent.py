"""Descent of item factors: what a crowd shows of them, and where it starts."""

import dataclasses

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.declarations import Crowd
from hushrec.models.liu_wang_smola import noisy_descent
from hushrec.models.liu_wang_smola.noisy_descent import Descent
from hushrec.privacy.accounting.budget import Unprotected

EXACT = Unprotected("user", "add-remove")


def test_more_people_who_rate_more_show_more(budget):
    asked, descent = budget(4.0, "user"), Descent()
    crowds = [Crowd(n, n * each, declared=True) for each in (5.0, 100.0) for n in (100.0, 1e4, 1e6)]
    prospects = [descent.reach(crowd, 2_000, asked).prospect for crowd in crowds]
    assert prospects[0] < prospects[1] < prospects[2] < prospects[4] < prospects[5]
    shows = [descent.shows(crowd, 2_000, asked) for crowd in crowds]
    assert shows == [False, False, False, False, True, True]
    assert descent.shows(crowds[0], 2_000, EXACT), "without noise"


def test_every_epoch_is_a_query_of_all_factors():
    domain = hr.Domain(range(30), scale=(1, 5, 1), max_users=100)
    names = [query.name for query in Descent(rank=2, epochs=3).queries(domain)]
    assert names == ["items, epoch 1", "items, epoch 2", "items, epoch 3"]
    assert {query.size for query in Descent(rank=2).queries(domain)} == {60}
    assert len([*Descent().queries(domain)]) == 32


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


def test_a_measured_crowd_decides_how_far_it_goes(world, budget):
    """The same gradients of a crowd that is taken for a tenth as large: noise is trusted less."""
    train = world[0]
    few = Crowd(100.0, 4_000.0, declared=True)
    right, small = (
        hr.baseline(dataclasses.replace(train, domain=domain), hr.PosteriorMF(epochs=4))
        for domain in (
            train.domain.model_copy(update={"expected_users": 1_000, "expected_records": 40_000}),
            train.domain.model_copy(update={"expected_users": int(few.users), "expected_records": 400}),
        )
    )
    assert not np.array_equal(right.tensors["item_factors"], small.tensors["item_factors"])
