"""Metrics by popularity of items and by activity of users: an overall average hides badly served groups."""

import numpy as np

from hushrec.arrays import Bools, Floats, Ints
from hushrec.data.ratings import Ratings
from hushrec.evaluation.metrics import Metric
from hushrec.evaluation.ranking_metrics import PER_USER, AtK
from hushrec.evaluation.rankings import Lists

N_PARTS = 5  # fifths, a convention of this module


def fifths(counts: Ints) -> Ints:
    """Split items, or users, into five parts of equal size, by their counts.

    Args:
        counts: shape (n,).

    Returns:
        Part of each, shape (n,): 0 for the smallest counts, 4 for the largest; ties keep their order.

    Privacy: private.
    """
    parts = np.empty(len(counts), dtype=np.int64)
    parts[np.argsort(counts, kind="stable")] = np.arange(len(counts)) * N_PARTS // max(len(counts), 1)
    return parts


def popularity_fifths(train: Ratings) -> Ints:
    """Split the catalogue into five parts of equal size, by number of *training* ratings.

    Returns:
        Part of every item, shape (n_items,): 0 for the least rated fifth, 4 for the most rated; ties keep the
        catalogue's order.

    Privacy: private.
    """
    return fifths(np.bincount(train.items, minlength=train.domain.n_items))


def by_popularity(metric: Metric, train: Ratings, test: Ratings, predicted: Floats) -> Floats:
    """Compute a metric on the test ratings of each fifth of the catalogue.

    Args:
        metric: one of ``hushrec.evaluation.metrics``.
        train: gives the items' popularity.
        test: the true ratings.
        predicted: in the order of ``test``.

    Returns:
        Shape (5,), least rated first; NaN for a fifth without a test rating.

    Privacy: private.
    """
    parts, ratings = popularity_fifths(train)[test.items], test.values()
    sides = ((ratings[parts == part], predicted[parts == part]) for part in range(N_PARTS))
    return np.array([metric(truth, guess) if len(truth) else np.nan for truth, guess in sides])


def ranked_by_popularity(metric: AtK, lists: Lists) -> Floats:
    """Compute a metric of rankings where only the items of one fifth of the catalogue are to be found.

    The lists do not change; recall and nDCG then say how well they find items of that fifth.

    Args:
        metric: such as recall@20.
        lists: with the items' popularity.

    Returns:
        Shape (5,), the least popular items first; NaN for a fifth without items to be found.

    Privacy: private.
    """
    parts = fifths(lists.popularity)
    return np.array([_mean(metric, lists.finding(parts == part)) for part in range(N_PARTS)])


def ranked_by_activity(metric: AtK, lists: Lists) -> Floats:
    """Average a metric of rankings over each fifth of the users, by the number of items they fold in.

    Args:
        metric: such as recall@20.
        lists: of all users.

    Returns:
        Shape (5,), the least active users first; NaN for a fifth without users.

    Privacy: private.
    """
    parts = fifths(lists.n_own)
    return np.array([_mean(metric, lists, parts == part) for part in range(N_PARTS)])


def _mean(metric: AtK, lists: Lists, users: Bools | None = None) -> float:
    values = PER_USER[metric.name](lists, metric.k)
    values = values if users is None else values[users]
    return float(values.mean()) if len(values) else np.nan
