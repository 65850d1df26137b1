"""Similar items: a world whose answer is known, and no privacy claimed."""

import numpy as np
import pyarrow as pa
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.evaluation.baselines import item_average
from hushrec.evaluation.compare import rmse as rmse_of
from hushrec.models.du_leighton_patel import item_knn
from hushrec.models.du_leighton_patel.item_knn import ItemKNN

DISTANCES = pytest.mark.parametrize("distance", ["squared", "cosine", "pearson"])


@pytest.fixture(scope="module")
def genres():
    """Four genres; each person likes or dislikes each of them, whatever he thinks of the others."""
    rng = np.random.default_rng(0)
    likes = rng.choice([2, 4], (200, 4))
    table = likes[:, np.arange(48) % 4] + rng.integers(-1, 2, (200, 48))
    users, items = np.nonzero(rng.random((200, 48)) < 0.9)
    rows = {"user_id": users.astype(str), "item_id": items.astype(str), "rating": table[users, items]}
    domain = hr.Domain(range(50), scale=(1, 5, 1), max_users=200)
    return holdout(hr.load(pa.table(rows), domain), 0.2, seed=0)


@DISTANCES
def test_items_of_a_genre_are_found(genres, distance):
    """Their mean errs by the noise alone, √(2/3), and by what few of them say; the item mean by 1 more."""
    train, test = genres
    release = hr.baseline(train, ItemKNN(n_neighbours=5, distance=distance))
    found = hr.evaluate(release, train=train, test=test)["rmse"]
    assert found < 1.0
    assert found < rmse_of(test.numbers(), item_average(train, test)) - 0.25


def test_it_is_not_private_and_says_so(genres, tmp_path):
    train, _ = genres
    release = hr.baseline(train, ItemKNN())
    assert str(release.statement).startswith("NOT PRIVATE")
    path = release.save(tmp_path / "items.safetensors")
    client = hr.Client(path)
    assert len(client.recommend({"3": 5}, n=5)) == 5
    mean = train.numbers().mean()
    assert client.predict({"3": 5}, ["48"])["48"] == pytest.approx(mean)  # nobody rated it


def test_a_budget_is_refused_with_the_fix(genres, budget):
    train, _ = genres
    for verb in (
        lambda: hr.fit(train, ItemKNN(), budget(), ledger=hr.Ledger.ephemeral(budget())),
        lambda: hr.plan(train.domain, ItemKNN(), budget()),
    ):
        with pytest.raises(BudgetUnsupported, match=r"release the data first \(randomize"):
            verb()


def test_settings_out_of_range_are_refused():
    for wrong in ({"n_neighbours": 0}, {"distance": "euclidean"}, {"shrinkage": 100}):
        with pytest.raises(ConfigError, match="ItemKNN"):
            ItemKNN(**wrong)


def test_a_catalogue_too_large_for_all_pairs_is_refused(genres, monkeypatch):
    monkeypatch.setattr(item_knn, "_LARGEST", 49)
    with pytest.raises(ConfigError, match="at most 49 items"):
        hr.baseline(genres[0], ItemKNN())


def test_nobody_at_all(genres):
    train, test = genres
    nobody = train.select(np.zeros(train.n_entries, dtype=bool))
    release = hr.baseline(nobody, ItemKNN())
    assert hr.evaluate(release, train=nobody, test=test)["rmse"] == pytest.approx(
        np.sqrt(np.mean((test.numbers() - 3) ** 2))
    )
