import numpy as np
import pytest

from hushrec.evaluation.compare import mae, rmse


def test_they_are_what_numpy_says():
    rng = np.random.default_rng(0)
    ratings, predicted = rng.uniform(1, 5, 1000), rng.uniform(1, 5, 1000)
    assert rmse(ratings, predicted) == pytest.approx(np.linalg.norm(ratings - predicted) / np.sqrt(1000))
    assert mae(ratings, predicted) == pytest.approx(np.linalg.norm(ratings - predicted, 1) / 1000)


def test_hand_computed():
    ratings, predicted = np.array([1.0, 5.0]), np.array([4.0, 1.0])
    assert rmse(ratings, predicted) == pytest.approx(12.5**0.5)
    assert mae(ratings, predicted) == 3.5
    assert isinstance(rmse(ratings, predicted), float)
    assert isinstance(mae(ratings, predicted), float)
