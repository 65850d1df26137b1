"""Split ratings into a training part and a test part.

Every split returns pairs ``(train, test)``. It is the same for the same ratings and seed, whatever the order
of the rows in their file. A user without ratings in a part is left out of that part.

Privacy: a split does not spend any budget, but no guarantee covers an error measured on a test part: it is a
function of the test users' ratings.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.random import default_rng  # noqa: TID251  (which ratings are held out, no release noise)

from hushrec.arrays import Bools, Ints
from hushrec.data.ratings import Ratings
from hushrec.errors import DataError

__all__ = ["given", "holdout", "kfold", "latest", "listed", "netflix_probe"]


def holdout(ratings: Ratings, fraction: float, seed: int) -> tuple[Ratings, Ratings]:
    """Hold out a random fraction of all ratings as the test part.

    Args:
        ratings: the ratings to split.
        fraction: size of the test part, between 0 and 1, rounded to a whole number of ratings.
        seed: seed of the choice.

    Returns:
        ``(train, test)``.

    Raises:
        DataError: the fraction is not between 0 and 1.

    Privacy: private.
    """
    if not 0 <= fraction <= 1:
        raise DataError(f"fraction must be between 0 and 1, not {fraction}")
    mask = np.arange(ratings.n_ratings) < round(fraction * ratings.n_ratings)
    default_rng(seed).shuffle(mask)
    return _parted(ratings, mask)


def kfold(ratings: Ratings, k: int, seed: int) -> Iterator[tuple[Ratings, Ratings]]:
    """k pairs whose test parts are disjoint, differ in size by at most one, and together hold all ratings.

    Args:
        ratings: the ratings to split.
        k: number of folds, 2 to 255.
        seed: seed of the choice.

    Yields:
        ``(train, test)``.

    Raises:
        DataError: k is out of range.

    Privacy: private.
    """
    if not 2 <= k <= 255:
        raise DataError(f"k = {k} is out of range; give 2 to 255 folds")
    folds = (np.arange(ratings.n_ratings) % k).astype(np.uint8)
    default_rng(seed).shuffle(folds)
    return (_parted(ratings, folds == fold) for fold in range(k))


def given(train: Ratings, test: Ratings) -> tuple[Ratings, Ratings]:
    """Parts that were published as a split, like MovieLens' ``u1.base`` and ``u1.test``.

    Raises:
        DataError: the two were loaded with different domains.

    Privacy: private.
    """
    if train.domain != test.domain:
        raise DataError("train and test must be loaded with the same domain")
    return train, test


def listed(ratings: Ratings, pairs: pl.DataFrame) -> tuple[Ratings, Ratings]:
    """The listed ratings are the test part, as with the Netflix Prize's ``probe.txt``.

    Args:
        ratings: the ratings to split.
        pairs: a table ``user_id, item_id`` of text, as ``hushrec.data.load.load_pairs`` reads it. Pairs
            without a rating are skipped.

    Returns:
        ``(train, test)``.

    Raises:
        DataError: the table has other columns.

    Privacy: private.
    """
    if not {"user_id", "item_id"} <= set(pairs.columns):
        raise DataError("pairs must be a table with the columns user_id and item_id")
    catalogue = pl.Series("item_id", ratings.domain.items, dtype=pl.String)
    found = pairs.join(_positions(ratings.users, "user_id"), on="user_id").join(
        _positions(catalogue, "item_id"), on="item_id", suffix="_item"
    )
    n_items = ratings.domain.n_items
    wanted = found["at"].to_numpy() * n_items + found["at_item"].to_numpy()
    codes = ratings.user_index().astype(np.int64) * n_items + ratings.items
    return _parted(ratings, np.isin(codes, wanted))


def latest(ratings: Ratings, n: int) -> tuple[Ratings, Ratings]:
    """Each user's n latest ratings are the test part; of equal timestamps, the later item in the catalogue.

    Raises:
        DataError: the ratings have no timestamps.

    Privacy: private.
    """
    return _parted(ratings, _latest(ratings, n))


def netflix_probe(ratings: Ratings, seed: int) -> tuple[Ratings, Ratings]:
    """McSherry & Mironov 2009, §5: each user's 9 latest ratings, each in the test part with probability 1/3.

    Args:
        ratings: the ratings to split, with timestamps.
        seed: seed of the choice.

    Returns:
        ``(train, test)``.

    Raises:
        DataError: the ratings have no timestamps.

    Privacy: private.
    """
    return _parted(ratings, _latest(ratings, 9) & (default_rng(seed).random(ratings.n_ratings) < 1 / 3))


def _parted(ratings: Ratings, test: Bools) -> tuple[Ratings, Ratings]:
    return ratings.select(~test), ratings.select(test)


def _positions(ids: pl.Series, name: str) -> pl.DataFrame:
    return pl.DataFrame({name: ids, "at": np.arange(len(ids), dtype=np.int64)})


def _latest(ratings: Ratings, n: int) -> Bools:
    if ratings.timestamps is None:
        raise DataError(
            "splitting by time needs timestamps, and these ratings have none; load a timestamp column"
        )
    order = np.lexsort((ratings.items, ratings.timestamps, ratings.user_index()))
    from_end: Ints = np.repeat(ratings.indptr[1:], ratings.counts) - np.arange(ratings.n_ratings)
    mask = np.zeros(ratings.n_ratings, dtype=np.bool_)
    mask[order[from_end <= n]] = True
    return mask
