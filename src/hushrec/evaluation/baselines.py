"""Predictions that know nothing of a person: reference rows beside a model, exact and not private."""

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.ratings import Ratings

STRENGTH = 5.0
"""Fictitious ratings at the global average in each item's average."""


def global_average(train: Ratings, test: Ratings) -> Floats:
    """The mean of all training ratings, for every test rating; the middle of the scale if there are none.

    Returns:
        Shape (test.n_ratings,).

    Privacy: private.
    """
    average = float(train.values().mean()) if train.n_ratings else train.domain.scale.mid
    return np.full(test.n_ratings, average)


def item_average(train: Ratings, test: Ratings) -> Floats:
    """The item's mean training rating, (Σ_u r_ui + β G)/(c_i + β), with the global average G and β = 5.

    Without β an item with one training rating would be predicted by that rating.

    Returns:
        Shape (test.n_ratings,).

    Privacy: private.
    """
    n_items = train.domain.n_items
    overall = global_average(train, test)
    sums = np.bincount(train.items, train.values(), minlength=n_items)
    counts = np.bincount(train.items, minlength=n_items)
    return np.asarray(
        (sums[test.items] + STRENGTH * overall) / (counts[test.items] + STRENGTH), dtype=np.float64
    )
