"""Nearest people and similar items: worlds whose answer is known, and no privacy claimed."""

import numpy as np
import pyarrow as pa
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.errors import ConfigError
from hushrec.evaluation.baselines import item_average
from hushrec.evaluation.compare import rmse as rmse_of
from hushrec.models.du_leighton_patel import item_knn

DISTANCES = ("squared", "cosine", "pearson")


def world(table, rng, n_items):
    """Nine tenths of a table of ratings, in a catalogue of ``n_items``: four fifths of them, and the rest."""
    users, items = np.nonzero(rng.random(table.shape) < 0.9)
    rows = {"user_id": users.astype(str), "item_id": items.astype(str), "rating": table[users, items]}
    return holdout(
        hr.load(pa.table(rows), hr.Domain(range(n_items), scale=(1, 5, 1), max_users=200)), 0.2, seed=0
    )


@pytest.fixture(scope="module")
def worlds():
    """Four tastes, of which each person has one; and four genres, which each person likes or dislikes."""
    rng = np.random.default_rng(0)
    tastes = rng.integers(1, 6, (4, 40))
    people = np.clip(tastes[np.arange(120) % 4] + rng.integers(-1, 2, (120, 40)), 1, 5)
    likes = rng.choice([2, 4], (200, 4))
    genres = likes[:, np.arange(48) % 4] + rng.integers(-1, 2, (200, 48))
    return {hr.UserKNN: world(people, rng, 40), hr.ItemKNN: world(genres, rng, 50)}


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(("model", "n_neighbours"), [(hr.UserKNN, 15), (hr.ItemKNN, 5)])
def test_what_is_alike_is_found(worlds, model, n_neighbours, distance):
    """Their mean errs by little more than the noise, √(2/3), and the item mean by far more."""
    train, test = worlds[model]
    release = hr.baseline(train, model(n_neighbours=n_neighbours, distance=distance))
    found = hr.evaluate(release, train=train, test=test)["rmse"]
    assert found < 1.0
    assert found < rmse_of(test.numbers(), item_average(train, test)) - 0.25


@pytest.mark.parametrize("model", [hr.UserKNN, hr.ItemKNN])
def test_it_lists_nobody_and_says_that_it_is_not_private(worlds, model, tmp_path):
    train, _ = worlds[model]
    release = hr.baseline(train, model())
    assert str(release.statement).startswith("NOT PRIVATE")
    assert release.users == ()
    client = hr.Client(release.save(tmp_path / "release.safetensors"))
    assert len(client.recommend({"3": 5}, n=5)) == 5
    if model is hr.ItemKNN:
        assert client.predict({"3": 5}, ["48"])["48"] == pytest.approx(train.numbers().mean())  # unrated


def test_a_catalogue_too_large_for_all_pairs_is_refused(worlds, monkeypatch):
    monkeypatch.setattr(item_knn, "_LARGEST", 49)
    with pytest.raises(ConfigError, match="at most 49 items"):
        hr.baseline(worlds[hr.ItemKNN][0], hr.ItemKNN())


@pytest.mark.parametrize("model", [hr.UserKNN, hr.ItemKNN])
def test_nobody_at_all(worlds, model):
    train, test = worlds[model]
    nobody = train.select(np.zeros(train.n_entries, dtype=bool))
    found = hr.evaluate(hr.baseline(nobody, model()), train=nobody, test=test)["rmse"]
    assert found == pytest.approx(np.sqrt(np.mean((test.numbers() - 3) ** 2)))
