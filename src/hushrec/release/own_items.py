"""How much each of a user's own items counts in a list: stars of the middle half, older items less.

What a user chooses next resembles their last items most, and what they gave middling stars they chose too.
Both are weights of own items on the user's own device. They change no release, so they cost no ε.

Privacy: post-processing of a release and the users' own rows, which stay where they are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints
from hushrec.release.predictors.scores import Rows

MIDDLE = 0.5
"""Weight of an item with stars of the middle, where a like has 1. Chosen by hand; docs/recommend.md."""


def like_weights(ratings: Floats, scale: tuple[float, float, float], likes: float) -> Floats:
    """1 for ratings from ``likes`` on, ``MIDDLE`` for others from the middle of the scale on, or else 0.

    Args:
        ratings: shape (n,).
        scale: lowest rating, highest rating, step.
        likes: the lowest rating that is a like.
    """
    lo, hi, step = scale
    liked = ratings >= likes - step / 2  # loading rounds to the nearest rating as well
    return np.where(liked, 1.0, np.where(ratings >= (lo + hi) / 2, MIDDLE, 0.0))


def recency_weights(indptr: Ints, times: NDArray[Any]) -> Floats:
    """1/√(1 + rank) of each item, its rank the number of the same user's items that are later.

    Args:
        indptr: where each user's items start, then where the last ones end, shape (n_users + 1,).
        times: of each item, larger is later, shape (n,).
    """
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((times, owner))
    owner, times = owner[order], times[order]
    # Items of one user and one time have the rank of the last of them.
    last = np.append((owner[1:] != owner[:-1]) | (times[1:] != times[:-1]), True)[: len(order)]
    ends = np.flatnonzero(last)
    rank = indptr[owner + 1] - 1 - ends[np.cumsum(last) - last]
    weights = np.empty(len(order))
    weights[order] = 1 / np.sqrt(1 + rank)
    return weights


def weigh(rows: Rows, weights: Floats, times: NDArray[Any] | None) -> Rows:
    """The rows of interactions that a predictor uses: items of positive weight, those of later times more.

    Args:
        rows: of which the items count.
        weights: of each item, shape (n_rows,).
        times: of each item, as in ``recency_weights``; None where the order is not known.
    """
    used = weights > 0
    indptr = np.concatenate([[0], np.cumsum(used)])[rows.indptr]
    values = weights[used]
    if times is not None:
        values = values * recency_weights(indptr, times[used])
    return Rows(indptr, rows.items[used], values)
