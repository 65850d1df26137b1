"""The interval is compared with a paired bootstrap over people, which it approximates."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.evaluation.compare import rmse_difference
from hushrec.evaluation.metrics import rmse


@pytest.fixture(scope="module")
def world():
    """Errors of which a part belongs to the person, so that his ratings are not independent."""
    test = hr.synthetic.netflix_like(400, 50, 4000, seed=2)
    rng = np.random.default_rng(0)
    person = rng.normal(0, 0.8, test.n_users)[test.user_index()]
    first = test.values() + person + rng.normal(0, 0.8, test.n_ratings)
    second = test.values() + 0.2 * person + rng.normal(0, 0.9, test.n_ratings)
    return test, first, second


def bootstrap(test, first, second):
    rng = np.random.default_rng(1)
    parts = [np.add.reduceat((test.values() - guess) ** 2, test.indptr[:-1]) for guess in (first, second)]
    drawn = rng.integers(0, test.n_users, (4000, test.n_users))
    counts = test.counts[drawn].sum(axis=1)
    a, b = (np.sqrt(squares[drawn].sum(axis=1) / counts) for squares in parts)
    return np.quantile(a - b, [0.025, 0.975])


def test_interval_is_the_bootstraps(world):
    found = rmse_difference(*world)
    low, high = bootstrap(*world)
    width = high - low
    assert found.low == pytest.approx(low, abs=0.1 * width)
    assert found.high == pytest.approx(high, abs=0.1 * width)


def test_the_difference_is_that_of_the_metrics(world):
    test, first, second = world
    found = rmse_difference(test, first, second)
    assert found.difference == pytest.approx(rmse(test.values(), first) - rmse(test.values(), second))
    assert rmse_difference(test, second, first).difference == pytest.approx(-found.difference)


def test_ratings_taken_as_independent_would_give_an_interval_too_narrow(world):
    """The planted fault: every rating a person of its own."""
    test, first, second = world
    squares = [(test.values() - guess) ** 2 for guess in (first, second)]
    moves = [(s - s.mean()) / (2 * len(s) * np.sqrt(s.mean())) for s in squares]
    naive = 2 * 1.96 * np.sqrt(((moves[0] - moves[1]) ** 2).sum())
    low, high = bootstrap(*world)
    assert naive < 0.85 * (high - low)


def test_equal_and_perfect_predictions(world):
    test, first, _ = world
    same = rmse_difference(test, first, first)
    assert (same.difference, same.low, same.high) == (0, 0, 0)
    assert rmse_difference(test, test.values(), test.values()).difference == 0
    assert "95 %" in str(same)
