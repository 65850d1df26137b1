"""Best items for many users at once, from a release and what each user gave.

Privacy: post-processing of a release and the users' own rows, which stay where they are.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Bools, Floats, Ints, Ints32
from hushrec.release.artefact import Release
from hushrec.release.fold_in import predictor


class Rows(NamedTuple):
    """What each user gave, user by user.

    Attributes:
        indptr: where each user's items start, then where the last ones end, shape (n_users + 1,).
        items: positions in the release's catalogue, distinct within a user, shape (n_rows,).
        values: ratings, or how often each was given (1 without counts), shape (n_rows,).

    Privacy: private.
    """

    indptr: Ints
    items: Ints32
    values: Floats


class Ranked(NamedTuple):
    """The best items of a block of users.

    Attributes:
        items: positions in the catalogue, best first, shape (n_users, n); −1 where nothing is left to rank.
        scores: scores of these items, as ``Recommendation.score``, shape (n_users, n); −∞ beside −1.

    Privacy: private, as the rows.
    """

    items: Ints
    scores: Floats


def top_n(release: Release, rows: Rows, n: int, *, allowed: Bools | None = None) -> Iterator[Ranked]:
    """Rank the whole catalogue for every user, without the items of their own rows.

    Ties are in the catalogue's order.

    Args:
        release: any release.
        rows: what each user gave.
        n: length of each list.
        allowed: which items may be listed, shape (n_items,); all by default.

    Yields:
        blocks of users, in the order of the rows.

    Privacy: private, as the rows.
    """
    rank = predictor(release).rank
    every = np.arange(len(release.items))
    for user in range(len(rows.indptr) - 1):
        own = slice(rows.indptr[user], rows.indptr[user + 1])
        scores = rank(rows.items[own].astype(np.int64), rows.values[own], every)
        scores[rows.items[own]] = -np.inf
        if allowed is not None:
            scores[~allowed] = -np.inf
        best = np.argsort(-scores, kind="stable")[:n]
        listed = np.where(np.isfinite(scores[best]), best, -1)
        padding = n - len(best)
        yield Ranked(
            np.pad(listed, (0, padding), constant_values=-1)[None],
            np.pad(scores[best], (0, padding), constant_values=-np.inf)[None],
        )
