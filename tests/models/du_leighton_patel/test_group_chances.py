"""Chances to land near an item, against the whole matrix."""

import numpy as np
import pytest

from hushrec.models.du_leighton_patel import kernels

KEEP, GROUP = 0.4, 0.7


def compressed(relation):
    return np.concatenate([[0], np.cumsum(relation.sum(axis=1))]), np.nonzero(relation)[1].astype(np.int32)


def landings(near, parts):
    n = len(near)
    most, least = np.full(n, -1.0), np.full(n, -1.0)
    for part in parts:
        kernels.landing(*part, *compressed(near), *compressed(near.T), KEEP, GROUP, most, least)
    return most, least


def dense(near):
    n = len(near)
    sizes = near.sum(axis=1, keepdims=True)
    chosen = np.where(sizes > 0, GROUP * near / np.maximum(sizes, 1) + (1 - GROUP) / n, 1 / n)
    chances = (KEEP * np.eye(n) + (1 - KEEP) * chosen) @ (near.T + np.eye(n))
    return chances.max(axis=0), chances.min(axis=0)


@pytest.mark.parametrize("filled", [0.0, 0.2, 0.6, 1.0])
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_chances_are_those_of_the_whole_matrix(n, filled):
    near = (np.random.default_rng(n).random((n, n)) < filled) & ~np.eye(n, dtype=bool)
    found = landings(near, [(0, n)])
    np.testing.assert_allclose(found, dense(near), rtol=1e-12)
    cut = n // 3
    np.testing.assert_array_equal(landings(near, [(cut, n), (0, cut)]), found)


def test_groups_that_hold_an_item_are_not_its_own_group():
    near = np.zeros((4, 4), bool)
    near[0, 1] = near[2, 1] = near[1, 3] = True
    turned = np.array(landings(near.T.copy(), [(0, 4)]))
    assert not np.allclose(turned, dense(near))
