"""Many predictions at once: what a release says one by one, of every distance and number of neighbours."""

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.evaluation import protocol

DISTANCES = pytest.mark.parametrize("distance", ["squared", "cosine", "pearson"])


@DISTANCES
@pytest.mark.parametrize("k", [7, 1000])
@pytest.mark.parametrize(("model", "n_test"), [(hr.UserKNN, 150), (hr.ItemKNN, 300)])
@pytest.mark.full
def test_many_at_once_are_predicted_as_one_by_one(world, monkeypatch, model, n_test, distance, k):
    """Also who is absent from the training part, and items that nobody rated there."""
    train, test = world
    train = train.select(np.isin(train.user_index(), np.arange(0, train.n_users, 2)))
    train = train.select((train.items % 9 != 0) | (train.user_index() > 2))
    test = test.slice(0, n_test)
    release = hr.baseline(train, model(n_neighbours=k, distance=distance))
    at_once = protocol.predictions(release, train=train, test=test)
    monkeypatch.setattr(protocol, "predict_many", lambda *parts: None)
    one_by_one = protocol.predictions(release, train=train, test=test)
    np.testing.assert_allclose(at_once, one_by_one, rtol=0, atol=1e-6)
    assert np.ptp(at_once) > 1


def test_many_at_once_on_halves_of_stars(monkeypatch):
    """On a scale that single precision does not hold, nor does every mean."""
    rng = np.random.default_rng(1)
    users, items = np.nonzero(rng.random((60, 30)) < 0.5)
    ratings = rng.integers(0, 11, len(users)) / 10
    rows = {"user_id": users.astype(str), "item_id": items.astype(str), "rating": ratings}
    domain = hr.Domain(range(31), scale=(0, 1, 0.1), max_users=200)
    train, test = holdout(hr.load(pl.DataFrame(rows), domain), 0.2, seed=0)
    for distance in ("squared", "cosine", "pearson"):
        release = hr.baseline(train, hr.UserKNN(n_neighbours=5, distance=distance))
        at_once = protocol.predictions(release, train=train, test=test)
        with monkeypatch.context() as patch:
            patch.setattr(protocol, "predict_many", lambda *parts: None)
            one_by_one = protocol.predictions(release, train=train, test=test)
        np.testing.assert_allclose(at_once, one_by_one, rtol=0, atol=1e-6)
