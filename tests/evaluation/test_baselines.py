import pytest

from hushrec.evaluation.baselines import global_average, item_average


def test_global_average(ratings):
    train, test = ratings({"u": {"a": 1, "b": 2}, "v": {"a": 5}}), ratings({"w": {"a": 1, "d": 1}})
    assert global_average(train, test) == pytest.approx([8 / 3, 8 / 3])
    assert global_average(ratings({}), test) == pytest.approx([3, 3])


def test_item_average_leans_on_the_global_one(ratings):
    train, test = ratings({"u": {"a": 1, "b": 2}, "v": {"a": 5}}), ratings({"w": {"a": 1, "b": 1, "d": 1}})
    overall = 8 / 3
    assert item_average(train, test) == pytest.approx([(6 + 5 * overall) / 7, (2 + 5 * overall) / 6, overall])
