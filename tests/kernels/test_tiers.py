"""Items in the order of their popularity."""

import numpy as np
from numpy.random import default_rng

from hushrec.kernels.solvers.sgd import descend
from hushrec.kernels.tiers import by_popularity


def test_most_rated_first():
    items = np.repeat(np.array([3, 0, 1, 4], np.int32), [5, 2, 2, 7])
    assert by_popularity(items, 6).tolist() == [2, 3, 4, 1, 0, 5]
    assert by_popularity(items[:0], 3).tolist() == [0, 1, 2]


def test_places_change_no_bit_of_what_descent_computes():
    rng = default_rng(0)
    indptr, values = np.arange(0, 301, 10), rng.standard_normal(300, np.float32)
    items = np.concatenate([np.sort(rng.choice(25, 10, replace=False)) for _ in range(30)]).astype(np.int32)
    order, regs = np.arange(30, dtype=np.int32), np.full(30, 0.1, np.float32)
    p, q = rng.standard_normal((30, 20), np.float32), rng.standard_normal((25, 20), np.float32)
    places = by_popularity(items, 25)
    elsewhere_p, elsewhere_q = p.copy(), np.empty_like(q)
    elsewhere_q[places] = q
    assert not np.array_equal(elsewhere_q, q)
    descend(indptr, items, values, order, p, q, None, None, regs, regs[:25], 0.02)
    rows = indptr, places[items], values, order
    descend(*rows, elsewhere_p, elsewhere_q, None, None, regs, regs[:25], 0.02)
    assert np.array_equal(elsewhere_p, p)
    assert np.array_equal(elsewhere_q[places], q)
