"""Draws of people's items."""

import numpy as np
import pytest

from hushrec.release.synthesis.moments import Choices


def test_items_are_distinct_and_ascend():
    choices = Choices(np.linspace(-3, 3, 40), np.random.default_rng(0).normal(size=(40, 2)))
    lengths = np.random.default_rng(1).integers(1, 21, 500)
    rows, people = choices.draw(lengths, np.random.default_rng(2))
    assert np.diff(rows.indptr).tolist() == lengths.tolist()
    assert people.shape == (500, 2)
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        assert (np.diff(rows.items[start:end]) > 0).all()


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.full
def test_one_item_is_drawn_by_its_weight(replaced):
    """False alarm 1e-6: five standard deviations of each count. A fault: weights that are not exp(β)."""
    levels = np.log([1.0, 2.0, 3.0, 4.0])
    choices = Choices(levels / 2 if replaced else levels, np.zeros((4, 0)))
    n = 200_000
    rows, _ = choices.draw(np.ones(n, dtype=np.int64), np.random.default_rng(3))
    chances = np.array([0.1, 0.2, 0.3, 0.4])
    apart = (np.bincount(rows.items, minlength=4) - n * chances) / np.sqrt(n * chances * (1 - chances))
    assert (abs(apart).max() < 5.2) is not replaced


def test_two_items_are_drawn_without_replacement():
    """False alarm below 1e-6: P(i, j) = p_i p_j/(1 − p_i) + p_j p_i/(1 − p_j), each within 5.2 deviations."""
    chances, n = np.array([0.5, 0.3, 0.2]), 100_000
    rows, _ = Choices(np.log(chances), np.zeros((3, 0))).draw(
        np.full(n, 2, dtype=np.int64), np.random.default_rng(4)
    )
    first, second = rows.items.reshape(n, 2).T
    for i, j in ((0, 1), (0, 2), (1, 2)):
        p, q = chances[i], chances[j]
        expected = p * q / (1 - p) + p * q / (1 - q)
        counted = ((first == i) & (second == j)).sum()
        assert abs(counted - n * expected) < 5.2 * np.sqrt(n * expected * (1 - expected))


def test_tastes_make_people_differ():
    tastes = np.array([[3.0], [3.0], [-3.0], [-3.0]])
    rows, _ = Choices(np.zeros(4), tastes).draw(np.full(4000, 2, dtype=np.int64), np.random.default_rng(5))
    pairs = rows.items.reshape(-1, 2)
    alike = ((pairs == [0, 1]).all(axis=1) | (pairs == [2, 3]).all(axis=1)).mean()
    assert alike > 0.7  # 1/3 without tastes


def test_extreme_utilities_are_finite():
    choices = Choices(np.array([1e30, -1e30, 0.0]), np.zeros((3, 0)))
    rows, _ = choices.draw(np.ones(50, dtype=np.int64), np.random.default_rng(6))
    assert set(rows.items.tolist()) == {0}
