"""Arguments of a pass over ratings: padded rows, and which arrays may lie in them."""

import numpy as np
import pytest

from hushrec.models.factorization.kernels.visits import Sides, in_turn, padded, padded_width, users_at_once


def sides(items, *, effects=(None, None)):
    """One user who rated the first of some items."""
    ratings = np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.float32)
    return Sides.of(*ratings, np.zeros((1, items.shape[1]), np.float32), items, *effects)


@pytest.mark.parametrize("rank", [1, 16, 17, 32, 40, 65])
def test_rows_start_at_a_cache_line(rank):
    rows = padded(7, rank)
    assert rows.shape == (7, rank)
    assert rows.strides == (4 * padded_width(rank), 4)
    assert rows.ctypes.data % 64 == 0
    assert padded_width(rank) >= rank


@pytest.mark.parametrize("rank", [3, 40])
def test_other_arrays_are_copied_and_copied_back(rank):
    given, laid = np.ones((5, rank), np.float32), padded(5, rank)
    for items, copied in ((given, True), (laid, False)):
        made = sides(items)
        assert (made.copied is None) != copied
        made.items[0][:rank] = 3
        assert (items[0] == 3).all() != copied
        made.finish()
        assert (items[0] == 3).all()
        assert not (items[1:] == 3).any()


@pytest.mark.parametrize("order", [[0, 0], [1], [-1]])
def test_an_order_names_every_user_at_most_once(order):
    with pytest.raises(ValueError, match="each at most once"):
        sides(padded(5, 3)).check(np.array(order, np.int32))
    sides(padded(5, 3)).check(np.array([0], np.int32))


def test_effects_are_of_both_sides():
    with pytest.raises(ValueError, match="of both users and items, or of neither"):
        sides(padded(5, 3), effects=(np.zeros(1, np.float32), None))
    with pytest.raises(ValueError, match="a row for each user or item"):
        sides(padded(5, 3), effects=(np.zeros(1, np.float32), np.zeros(4, np.float32)))


def test_users_without_ratings_take_no_turn():
    indptr, order = np.array([0, 2, 2, 3]), np.arange(3, dtype=np.int32)
    assert users_at_once(8) > 1 == users_at_once(100)
    assert list(in_turn(indptr, order, 8)) == [(0, 0), (2, 2), (0, 1)]
    assert list(in_turn(indptr, order, 100)) == [(0, 0), (0, 1), (2, 2)]
