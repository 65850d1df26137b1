"""Ranked lists of items for the users of a test part, and the listed items that are hits.

The whole catalogue is ranked, without the items that a user folds in. Ranking only a sample of items in
addition to those to be found would give other values, and another order of models (Krichene & Rendle 2020).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Ints, Ints32
from hushrec.data.feedback import Feedback
from hushrec.errors import ConfigError, DataError
from hushrec.evaluation.parts import require_apart, rows_of
from hushrec.release.artefact import Release
from hushrec.release.predictors.listed_people import ListedPeople
from hushrec.release.top_n import Rows, top_n

__all__ = ["Lists", "rank"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lists:
    """A release's lists for every user with items to be found.

    Attributes:
        users: their ids, shape (n_users,).
        items: positions in the catalogue, best first, shape (n_users, n); −1 where nothing is left to rank.
        hits: which of these are to be found, shape (n_users, n).
        indptr: user u is to find ``held_out[indptr[u]:indptr[u + 1]]``, shape (n_users + 1,).
        held_out: positions of the items to be found, ascending inside a user, at least one for each.
        popularity: number of users who gave each item, of those whom the release was fitted to, shape
            (n_items,).
        n_fitted: number of these users.
        n_left_out: number of other users of either part, who have nothing to be found.

    Privacy: private.
    """

    users: pl.Series
    items: Ints32
    hits: Bools
    indptr: Ints
    held_out: Ints32
    popularity: Ints
    n_fitted: int
    n_left_out: int

    @property
    def n_held_out(self) -> Ints:
        """Number of items that each user is to find, at least 1, shape (n_users,)."""
        return np.diff(self.indptr)

    def first(self, k: int) -> tuple[Ints32, Bools]:
        """Return the first k places of every list: items and hits, shape (n_users, k)."""
        if k > self.items.shape[1]:
            raise ConfigError(f"these lists have {self.items.shape[1]} places, not {k}; rank with n={k}")
        return self.items[:, :k], self.hits[:, :k]


def rank(
    release: Release,
    *,
    train: Feedback,
    test: Feedback,
    n: int,
    likes: float | None = None,
    fold_in: bool = False,
    fitted: Feedback | None = None,
) -> Lists:
    """Rank items for all users who have items to be found in the test part.

    Args:
        release: any release of the same catalogue.
        train: the data that each user folds in, which their list leaves out.
        test: the items to be found. No pair of user and item may be in both parts.
        n: length of the lists.
        likes: of ratings: the lowest rating that makes an item one to be found. Listed items with a lower
            rating are not hits.
        fold_in: listed users fold in their own ratings too.
        fitted: the data that the release was fitted to, for the items' popularity; ``train`` by default.

    Privacy: private.
    """
    fitted = train if fitted is None else fitted
    if release.items != test.domain.items or fitted.domain.items != test.domain.items:
        raise DataError(
            "the release and the parts have different catalogues; load all with the release's domain"
        )
    require_apart(train, test)
    sought = _liked(test, likes)
    rows = rows_of(train, sought)
    own_rows = _own(train, rows)
    listed = np.full(sought.n_users, -1, dtype=np.int64)
    if release.users and not fold_in:
        listed = ListedPeople(release).find(sought.users.to_list())
    items = np.empty((sought.n_users, n), dtype=np.int32)
    _put(items, listed >= 0, _of_listed(release, listed[listed >= 0], _some(own_rows, listed >= 0), n))
    at_home = (block.items for block in top_n(release, _some(own_rows, listed < 0), n))
    _put(items, listed < 0, at_home)
    everybody = train.n_users + test.n_users - int((rows_of(train, test) >= 0).sum())
    return Lists(
        users=sought.users,
        items=items,
        hits=_hits(items, sought),
        indptr=sought.indptr,
        held_out=sought.items,
        popularity=np.bincount(fitted.items, minlength=fitted.domain.n_items),
        n_fitted=fitted.n_users,
        n_left_out=everybody - sought.n_users,
    )


def _liked(test: Feedback, likes: float | None) -> Feedback:
    """Select the part of the test part that is to be found."""
    if test.KIND == "interactions":
        if likes is not None:
            raise ConfigError("all interactions of the test part are to be found; leave out likes")
        return test
    scale = test.domain.scale
    if likes is None:
        raise ConfigError("rankings need to know which ratings are relevant; give likes, the lowest of them")
    if not scale.holds(likes):
        raise ConfigError(
            f"likes = {likes:g} is not on the scale {scale}; give the lowest rating that is a like"
        )
    liked = test.select(test.values() > likes - scale.step / 2)
    if not liked.n_users:
        raise DataError("no test rating is a like, so there is nothing to be found; lower likes")
    return liked


def _own(train: Feedback, rows: Ints) -> Rows:
    """Select the items of the users in these rows; none where the row is −1."""
    starts = train.indptr[rows]
    counts = np.where(rows >= 0, train.indptr[rows + 1] - starts, 0)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    at = np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])
    return Rows(indptr, train.items[at], train.values()[at])


def _some(rows: Rows, users: Bools) -> Rows:
    counts = np.diff(rows.indptr)
    entries = np.repeat(users, counts)
    indptr = np.concatenate([[0], np.cumsum(counts[users])])
    return Rows(indptr, rows.items[entries], rows.values[entries])


def _of_listed(release: Release, people: Ints, own_rows: Rows, n: int) -> Iterator[Ints]:
    """Rank items for people whom the release lists, by the vectors that it holds."""
    if not len(people):
        return
    vectors, every = ListedPeople(release), np.arange(len(release.items))
    for person, start, stop in zip(people, own_rows.indptr[:-1], own_rows.indptr[1:], strict=True):
        scores = vectors.rank(np.full(len(every), person), every)
        scores[own_rows.items[start:stop]] = -np.inf
        best = np.argsort(-scores, kind="stable")[:n]
        best = np.where(np.isfinite(scores[best]), best, -1)
        yield np.pad(best, (0, n - len(best)), constant_values=-1)[None]


def _put(items: Ints32, users: Bools, blocks: Iterator[Ints]) -> None:
    """Write blocks of lists into the rows of some users."""
    places, start = np.flatnonzero(users), 0
    for block in blocks:
        items[places[start : start + len(block)]] = block
        start += len(block)


def _hits(items: Ints32, sought: Feedback) -> Bools:
    """Mark the listed items that are to be found by their user, shape of ``items``."""
    n_items = sought.domain.n_items
    codes = sought.user_index().astype(np.int64) * n_items + sought.items  # ascending
    hits = np.empty(items.shape, dtype=np.bool_)
    for start in range(0, len(items), _BLOCK):
        block = items[start : start + _BLOCK]
        looked_up = np.arange(start, start + len(block))[:, None] * n_items + block
        places = np.minimum(np.searchsorted(codes, looked_up), len(codes) - 1)
        hits[start : start + _BLOCK] = (codes[places] == looked_up) & (block >= 0)
    return hits


_BLOCK = 4096  # users looked up at once, chosen by hand: bounds the memory, does not change the result
