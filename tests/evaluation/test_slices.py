import numpy as np
import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.evaluation.metrics import rmse
from hushrec.evaluation.slices import by_popularity, popularity_fifths


def test_fifths_are_of_items_by_training_ratings():
    train, _ = holdout(hr.synthetic.netflix_like(100, 50, 1500, seed=1), 0.1, seed=0)
    fifths, counts = popularity_fifths(train), np.bincount(train.items, minlength=50)
    assert np.bincount(fifths).tolist() == [10] * 5
    assert all(counts[fifths == part].max() <= counts[fifths == part + 1].min() for part in range(4))


def test_errors_of_each_fifth():
    domain = hr.Domain(range(5), scale=(1, 5, 1), max_users=10)
    rows = [(f"u{u}", str(i), 3) for i in range(5) for u in range(i + 1)]  # item i has i + 1 ratings
    import polars as pl

    def table(rows):
        return pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")

    train = hr.load(table(rows), domain)
    test = hr.load(table([("x", "0", 1), ("x", "2", 5), ("y", "2", 3), ("y", "4", 2)]), domain)
    errors = by_popularity(rmse, train, test, np.array([2.0, 3.0, 3.0, 2.0]))
    assert errors == pytest.approx([1, np.nan, np.sqrt(2), np.nan, 0], nan_ok=True)
