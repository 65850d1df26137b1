"""Nearest people: a world whose answer is known, and no privacy claimed."""

import numpy as np
import pyarrow as pa
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.evaluation.baselines import item_average
from hushrec.evaluation.compare import rmse as rmse_of
from hushrec.models.du_leighton_patel.user_knn import UserKNN

DISTANCES = pytest.mark.parametrize("distance", ["squared", "cosine", "pearson"])


@pytest.fixture(scope="module")
def blocks():
    """Four tastes that say nothing of each other; each person has one, and rates most items by it."""
    rng = np.random.default_rng(0)
    tastes = rng.integers(1, 6, (4, 40))
    table = np.clip(tastes[np.arange(120) % 4] + rng.integers(-1, 2, (120, 40)), 1, 5)
    users, items = np.nonzero(rng.random((120, 40)) < 0.9)
    rows = {"user_id": users.astype(str), "item_id": items.astype(str), "rating": table[users, items]}
    domain = hr.Domain(range(40), scale=(1, 5, 1), max_users=200)
    return holdout(hr.load(pa.table(rows), domain), 0.2, seed=0)


@DISTANCES
def test_people_of_the_same_taste_are_found(blocks, distance):
    """The mean of many errs by little more than the noise, √(2/3), and the item mean by far more."""
    train, test = blocks
    release = hr.baseline(train, UserKNN(n_neighbours=15, distance=distance))
    found = hr.evaluate(release, train=train, test=test)["rmse"]
    assert found < 1.0
    assert found < rmse_of(test.numbers(), item_average(train, test)) - 0.3


def test_it_is_not_private_and_says_so(blocks, tmp_path):
    train, _ = blocks
    release = hr.baseline(train, UserKNN())
    assert str(release.statement).startswith("NOT PRIVATE")
    assert release.users == ()
    path = release.save(tmp_path / "rows.safetensors")
    assert len(hr.Client(path).recommend({"3": 5}, n=5)) == 5


def test_a_budget_is_refused_with_the_fix(blocks, budget):
    train, _ = blocks
    for verb in (
        lambda: hr.fit(train, UserKNN(), budget(), ledger=hr.Ledger.ephemeral(budget())),
        lambda: hr.plan(train.domain, UserKNN(), budget()),
    ):
        with pytest.raises(BudgetUnsupported, match=r"release the data first \(randomize"):
            verb()


def test_settings_out_of_range_are_refused():
    for wrong in ({"n_neighbours": 0}, {"distance": "euclidean"}, {"weights": "distance"}):
        with pytest.raises(ConfigError, match="UserKNN"):
            UserKNN(**wrong)


def test_nobody_at_all(blocks):
    train, test = blocks
    nobody = train.select(np.zeros(train.n_entries, dtype=bool))
    release = hr.baseline(nobody, UserKNN())
    assert hr.evaluate(release, train=nobody, test=test)["rmse"] == pytest.approx(
        np.sqrt(np.mean((test.numbers() - 3) ** 2))
    )
