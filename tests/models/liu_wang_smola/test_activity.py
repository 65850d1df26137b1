"""Numbers of ratings that are log-normal, and their mean from what a weighted count says."""

import numpy as np
import pytest

from hushrec.models.liu_wang_smola.estimate import mean_count, numbers


@pytest.mark.parametrize("each", [0.5, 3.0, 40.0, 2_000.0])
def test_they_lie_within_their_bounds_and_have_the_mean(each):
    given = numbers(each, 1_000.0)
    assert len(given) == 40
    assert 1 <= given.min() <= given.max() <= 1_000
    if each == 40.0:
        assert given.mean() == pytest.approx(each, rel=0.02)
        assert np.log(given).std() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("each", [3.0, 40.0, 150.0])
@pytest.mark.parametrize("cap", [1.0, 7.0, 50.0, 900.0])
def test_weights_are_undone(each, cap):
    """Two fifths too little, where all users were taken for equal: c = (mean)²/K."""
    given = numbers(each, 1_000.0)
    counted = float(np.minimum(given, np.sqrt(given * cap)).mean())
    assert mean_count(counted, cap, 1_000.0) == pytest.approx(given.mean(), rel=1e-6)


def test_noise_that_leaves_nothing_or_too_much_is_no_trouble():
    assert mean_count(-3.0, 5.0, 100.0) == 1.0
    assert mean_count(1e9, 5.0, 100.0) == pytest.approx(100.0)
