"""Descent of item factors: what a crowd shows of them, and where it starts."""

import dataclasses

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.declared.crowd import Crowd
from hushrec.models.phases.noisy_descent import Descent
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


def test_every_epoch_is_a_query_of_all_factors(budget):
    domain = hr.Domain(range(30), scale=(1, 5, 1), max_users=100)
    names = [query.name for query in Descent(rank=2, epochs=3).queries(domain, budget(4.0, "user"))]
    assert names == ["items, epoch 1", "items, epoch 2", "items, epoch 3"]
    assert {query.size for query in Descent(rank=2).queries(domain, budget(4.0, "user"))} == {60}
    assert len([*Descent().queries(domain, budget(4.0, "user"))]) == 32


def test_the_clip_grows_with_a_large_epsilon(budget):
    domain = hr.Domain(range(30), scale=(1, 5, 1), max_users=100)

    def clip(epsilon, **settings):
        return next(Descent(**settings).queries(domain, budget(epsilon, "user"))).sensitivity

    assert clip(1.0) == clip(20.0) == pytest.approx(2.4, rel=1e-3)
    assert clip(40.0) == pytest.approx(4.8, rel=1e-3)
    assert clip(40.0, clip_norm=0.1) == pytest.approx(0.4, rel=1e-3)


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
