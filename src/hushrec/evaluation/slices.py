"""Errors by popularity: noise hurts rare items most, and an average over all ratings hides that."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.ratings import Ratings
from hushrec.evaluation.metrics import Metric


def popularity_fifths(train: Ratings) -> Ints:
    """Split the catalogue into five parts of equal size, by number of *training* ratings.

    Returns:
        Part of every item, shape (n_items,): 0 for the least rated fifth, 4 for the most rated; ties keep the
        catalogue's order.

    Privacy: private.
    """
    n_items = train.domain.n_items
    rising = np.argsort(np.bincount(train.items, minlength=n_items), kind="stable")
    fifths = np.empty(n_items, dtype=np.int64)
    fifths[rising] = np.arange(n_items) * 5 // n_items
    return fifths


def by_popularity(metric: Metric, train: Ratings, test: Ratings, predicted: Floats) -> Floats:
    """A metric on the test ratings of each fifth of the catalogue.

    Args:
        metric: one of ``hushrec.evaluation.metrics``.
        train: gives the items' popularity.
        test: the true ratings.
        predicted: in the order of ``test``.

    Returns:
        Shape (5,), least rated first; NaN for a fifth without a test rating.

    Privacy: private.
    """
    fifths, ratings = popularity_fifths(train)[test.items], test.values()
    parts = ((ratings[fifths == part], predicted[fifths == part]) for part in range(5))
    return np.array([metric(truth, guess) if len(truth) else np.nan for truth, guess in parts])
