"""Intervals are compared with a paired bootstrap over people, which they approximate."""

import math

import numpy as np
import pyarrow as pa
import pytest

import hushrec as hr
from hushrec.evaluation.compare import (
    difference,
    mae_score,
    mean_score,
    rmse_score,
)


@pytest.fixture(scope="module")
def world():
    """Errors of which a part belongs to the person, so that his ratings are not independent."""
    test = hr.synthetic.netflix_like(400, 50, 4000, seed=2)
    rng = np.random.default_rng(0)
    person = rng.normal(0, 0.8, test.n_users)[test.user_index()]
    first = test.numbers() + person + rng.normal(0, 0.8, test.n_entries)
    second = test.numbers() + 0.2 * person + rng.normal(0, 0.9, test.n_entries)
    return test, first, second


def apart(test, first, second, score=rmse_score):
    return difference(score(test, first), score(test, second))


def bootstrap(test, first, second, power=2):
    rng = np.random.default_rng(1)
    parts = [
        np.add.reduceat(np.abs(test.numbers() - guess) ** power, test.indptr[:-1])
        for guess in (first, second)
    ]
    drawn = rng.integers(0, test.n_users, (4000, test.n_users))
    counts = test.counts[drawn].sum(axis=1)
    a, b = ((sums[drawn].sum(axis=1) / counts) ** (1 / power) for sums in parts)
    return np.quantile(a - b, [0.025, 0.975])


@pytest.mark.parametrize(("score", "power"), [(rmse_score, 2), (mae_score, 1)])
def test_interval_is_the_bootstraps(world, score, power):
    found = apart(*world, score)
    low, high = bootstrap(*world, power)
    width = high - low
    assert found.low == pytest.approx(low, abs=0.1 * width)
    assert found.high == pytest.approx(high, abs=0.1 * width)


def test_the_standard_error_of_a_mean_is_the_textbooks():
    values, users = np.random.default_rng(0).random(50), pa.array(map(str, range(50)))
    found = mean_score(users, values)
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(50))
    assert str(found) == f"{found.value:.4f} ± {found.error:.4f}"
    assert repr(found) == f"Score(value={found.value!r})"  # and nobody's id
    other = np.random.default_rng(1).random(50)
    paired = difference(found, mean_score(users, other))
    half = 1.959964 * (values - other).std(ddof=1) / math.sqrt(50)
    assert (paired.low, paired.high) == pytest.approx((paired.difference - half, paired.difference + half))
