"""Two coordinates for every item."""

import numpy as np

from hushrec.pages.item_table import item_map


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
