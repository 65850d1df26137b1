"""Numbers of ratings that are log-normal, and their mean from what a weighted count says."""

import numpy as np
import pytest

from hushrec.estimation.activity import mean_count, numbers
from hushrec.models.liu_wang_smola.estimate import item_scales, reach


@pytest.mark.parametrize("each", [0.5, 3.0, 40.0, 2_000.0])
def test_they_lie_within_their_bounds_and_have_the_mean(each):
    given = numbers(each, 1_000.0)
    assert len(given) == 40
    assert 1 <= given.min() <= given.max() <= 1_000
    if each == 40.0:
        assert given.mean() == pytest.approx(each, rel=0.02)
        assert np.log(given).std() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("each", [3.0, 40.0, 150.0])
def test_roots_are_undone(each):
    """Two fifths too little, where all users were taken for equal: c = (mean √c)²."""
    given = numbers(each, 1_000.0)
    assert mean_count(float(np.sqrt(given).mean()), 1_000.0) == pytest.approx(given.mean(), rel=1e-6)


def test_noise_that_leaves_nothing_or_too_much_is_no_trouble():
    assert mean_count(-3.0, 100.0) == 1.0
    assert mean_count(1e9, 100.0) == pytest.approx(100.0)


# -- what clipping and noise are expected to leave of gradients, against gradients of people made ---------


CROWD = 10_000.0, 1_000_000.0


def reached(crowd=CROWD, *, items=2000, clip_norm=2.5, mu=0.84):
    return reach(*crowd, items, 5, 0.02, clip_norm, mu)


def test_a_clip_that_nobody_reaches_leaves_all_and_a_small_one_in_proportion():
    assert reached(clip_norm=1e6).kept == pytest.approx(1)
    assert reached(clip_norm=0.01).kept == pytest.approx(reached(clip_norm=0.02).kept / 2)


def test_the_lengths_of_gradients_are_about_those_of_people_made_up():
    """For everybody with 100 ratings, their gradients by the class's formula have the expected lengths."""
    rng, ratio, lengths = np.random.default_rng(1), 0.02, []
    for _ in range(300):
        q = np.sqrt(ratio) * rng.standard_normal((100, 5))
        x = q @ rng.standard_normal(5) + rng.standard_normal(100)
        spread = np.linalg.inv(q.T @ q + np.eye(5))
        mean = spread @ (q.T @ x)
        lengths.append(np.linalg.norm((x - q @ mean)[:, None] * mean - q @ spread))
    b = 100 * ratio
    assert np.mean(lengths) == pytest.approx(np.sqrt(100 * 5 * b / (1 + b)), rel=0.2)


def test_rare_items_weigh_more_and_a_persons_gradient_is_as_long_on_average():
    counts = np.array([1.0, 16.0, 10_000.0])
    scales = item_scales(counts)
    assert scales[0] / scales[1] == pytest.approx(2)
    assert counts @ scales**2 == pytest.approx(counts.sum())
