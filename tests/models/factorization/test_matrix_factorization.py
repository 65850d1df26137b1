"""The model that has no noise: what it finds, whom it lists, and that it takes no budget."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.models.factorization.factorizers import Sparse
from support.least_squares import als_wr


@pytest.mark.parametrize(
    "settings", [{}, {"effects": False, "power": 1.0, "reg": 0.08}, {"solver": "sgd", "reg": 0.05}], ids=str
)
@pytest.mark.full
def test_it_finds_what_averages_leave(rmse, listed_rmse, settings):
    """With a roster or without; its vectors predict as well as folding in does."""
    config = hr.MatrixFactorization(rank=4, **settings)
    assert listed_rmse(config) < rmse(hr.GlobalEffects()) - 0.01
    assert rmse(config) == pytest.approx(listed_rmse(config), abs=0.01)


def test_without_a_roster_it_lists_those_who_rated(world):
    train, _ = world
    release = hr.baseline(train, hr.MatrixFactorization(rank=3))
    assert release.users == tuple(train.users.to_pylist())
    assert release.tensors["user_factors"].shape == (train.n_users, 3)


def test_clean_factorisation_is_least_squares_about_the_mean(listed):
    """``effects=False, power=1``: predictions are the mean and the factors' product."""
    train, _ = listed
    config = hr.MatrixFactorization(rank=3, effects=False, power=1.0, reg=0.1, epochs=5)
    client = hr.Client(hr.baseline(train, config))
    global_mean = train.numbers().mean()
    known = Sparse(
        train.roster_indptr(), train.items, (train.numbers() - global_mean).astype(np.float32), 150
    )
    rows, columns = als_wr(known, 3, 5, 0.1)
    for person in (0, 5, 1002):
        found = list(client.predict(user=train.domain.users[person]).values())
        np.testing.assert_allclose(found, np.clip(global_mean + columns @ rows[person], 1, 5), atol=2e-3)
