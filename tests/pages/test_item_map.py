"""Two coordinates for every item."""

import numpy as np

from hushrec.pages.item_map import SIDE, item_map


def planted(release, popularity=None, **changes):
    """Two kinds of items, which differ in one direction of the factors, and in others by chance."""
    made = release(n=60, rank=4)
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(60, 4)) * [0.1, 0.3, 0.05, 0.05]
    factors[30:, 0] += 2
    made.tensors["item_factors"][:] = factors
    if popularity is not None:
        made.tensors["item_popularity"][:] = popularity
    return made


def test_items_of_a_kind_lie_together(release):
    places = item_map(planted(release))
    assert places.shape == (60, 2)
    assert places.min(axis=0).tolist() == [0, 0]
    assert places.max(axis=0).tolist() == [SIDE, SIDE]
    one, other = places[:30, 0], places[30:, 0]
    assert one.max() < other.min() or other.max() < one.min()


def test_the_map_shows_what_tells_popular_items_apart(release):
    """Where all popular items are of one kind, the second direction is the first of the map."""
    popular = np.where(np.arange(60) < 30, 1e6, 1e-6)
    made = planted(release, popular)
    places = item_map(made)
    order = np.argsort(made.tensors["item_factors"][:30, 1])
    along = places[:30, 0][order]
    assert abs(np.corrcoef(along, np.arange(30))[0, 1]) > 0.9
    assert abs(np.corrcoef(item_map(planted(release))[:30, 0][order], np.arange(30))[0, 1]) < 0.9


def test_it_is_the_same_each_time(release):
    assert np.array_equal(item_map(planted(release)), item_map(planted(release)))


def test_there_is_none_without_two_directions(release, ranker):
    assert item_map(ranker()) is None
    assert item_map(release("dense neighbours")) is None
    assert item_map(release(rank=1)) is None
    flat = release(n=5, rank=3)
    flat.tensors["item_factors"][:, 1:] = 0
    assert item_map(flat) is None
    flat.tensors["item_factors"][:] = 0
    assert item_map(flat) is None
