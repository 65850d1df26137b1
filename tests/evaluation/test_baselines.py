import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.split import kfold
from hushrec.evaluation.baselines import global_average, global_effects, item_average
from hushrec.evaluation.compare import rmse


@pytest.fixture
def parts(ratings):
    return ratings({"u": {"a": 1, "b": 2}, "v": {"a": 5}}), ratings({"w": {"a": 1, "b": 1, "d": 1}})


def test_global_average(ratings, parts):
    assert global_average(*parts) == pytest.approx([8 / 3] * 3)
    assert global_average(ratings({}), parts[1]) == pytest.approx([3] * 3)


def test_item_average_leans_on_the_global_one(parts):
    overall = 8 / 3
    wanted = [(6 + 10 * overall) / 12, (2 + 10 * overall) / 11, overall]
    assert item_average(*parts) == pytest.approx(wanted)
    assert item_average(*parts, item_reg=0) == pytest.approx([3, 2, overall])


def by_hand(train, test, item_reg, user_reg):
    """Friedman et al. 2016, Alg. 1 and 2, rating by rating."""
    lo, hi, _ = train.domain.scale
    rows = [(row["user_id"], row["item_id"], row["rating"]) for row in train.table().to_pylist()]
    overall = sum(r for *_, r in rows) / len(rows)

    def average(values, reg, centre):
        return (sum(values) + reg * centre) / (len(values) + reg)

    items = {
        item: average([r for _, i, r in rows if i == item], item_reg, overall) for item in train.domain.items
    }
    residuals = [(user, r - items[item]) for user, item, r in rows]
    mean = sum(r for _, r in residuals) / len(residuals)
    found = []
    for row in test.table().to_pylist():
        own = [r for user, r in residuals if user == row["user_id"]]
        level = min(max(average(own, user_reg, mean), -2), 2)
        found.append(min(max(items[row["item_id"]] + level, lo), hi))
    return found


@pytest.mark.parametrize(("item_reg", "user_reg"), [(10, 100), (1, 0.5), (0.25, 3)])
def test_global_effects_are_the_published_algorithm(ratings, item_reg, user_reg):
    rng = np.random.default_rng(0)
    cells = {f"u{u}": {i: int(rng.integers(1, 6)) for i in "abcd"} for u in range(9)}
    train = {
        u: {i: s for i, s in row.items() if i != "abcd"[k % 4]} for k, (u, row) in enumerate(cells.items())
    }
    test = {u: {i: s for i, s in row.items() if i not in train[u]} for u, row in cells.items()}
    train, test = ratings(train), ratings(test | {"stranger": {"a": 3}})
    found = global_effects(train, test, item_reg=item_reg, user_reg=user_reg)
    wanted = by_hand(train, test, item_reg, user_reg)
    assert found == pytest.approx(wanted, abs=1e-12)
    if (item_reg, user_reg) == (10, 100):
        assert global_effects(train, test) == pytest.approx(wanted, abs=1e-12)
    other = by_hand(train, test, item_reg, user_reg + 1)
    assert np.abs(found - other).max() > 1e-4  # the check is sharp


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "table", "margins"),
    [
        ("ml-100k.parquet", (1.1256, 1.0278, 0.9571), (5e-4, 4e-3, 6e-4)),
        ("ml-1m.parquet", (1.1171, 0.9795, 0.9161), (1e-4, 2e-4, 2e-4)),
    ],
)
def test_the_baselines_of_friedman_et_al(real, name, table, margins):
    """Their Table 3, ten-fold cross-validation; a seed moves the mean of the folds by 3e-4 at most."""
    ids = pl.read_parquet(real(name))["item"].unique().sort()
    ratings = load(real(name), Domain(ids, scale=(1, 5, 1), max_users=10_000))
    errors = [
        [rmse(test.numbers(), guess(train, test)) for guess in (global_average, item_average, global_effects)]
        for train, test in kfold(ratings, 10, seed=0)
    ]
    assert (np.abs(np.mean(errors, axis=0) - table) < margins).all()
