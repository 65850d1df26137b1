"""Ranked lists of items for the users of a test part, and the listed items that are hits.

The whole catalogue is ranked, without the items that a user folds in. Ranking only a sample of items in
addition to those to be found would give other values, and another order of models (Krichene & Rendle 2020).

A metric has a value for every user with items to be found. User u has h_u items to be found; y_r = 1 if the
item at rank r of their list is one of them, otherwise 0. In each metric except precision and novelty, an
ideal list of k items has value 1.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hushrec.arrays import Bools, Floats, Ints, Ints32
from hushrec.data.people import People
from hushrec.errors import ConfigError, DataError
from hushrec.evaluation.compare import METRICS, Score, mean_score
from hushrec.evaluation.parts import require_apart, rows_of
from hushrec.release.artefact import Release
from hushrec.release.own_items import like_weights, weigh
from hushrec.release.predictors.factor_predictor import ListedPeople
from hushrec.release.top_n import Rows, top_n


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Lists:
    """A release's lists for every user with items to be found who folds in something, or is listed.

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
        n_new: number of those who have, and fold in nothing: they have no list of their own.

    Privacy: private.
    """

    users: pa.LargeStringArray
    items: Ints32
    hits: Bools
    indptr: Ints
    held_out: Ints32
    popularity: Ints
    n_fitted: int
    n_left_out: int
    n_new: int = 0

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
    train: People,
    test: People,
    n: int,
    likes: float | None = None,
    fold_in: bool = False,
    fitted: People | None = None,
    rated: People | None = None,
) -> Lists:
    """Rank items for all users who have items to be found in the test part, and fold in something.

    Users whom the release lists are ranked by their vectors, and need to fold in nothing.

    Args:
        release: any release of the same catalogue.
        train: the data that each user folds in, which their list leaves out.
        test: the items to be found. No pair of user and item may be in both parts.
        n: length of the lists.
        likes: of ratings: the lowest rating that makes an item one to be found. Listed items with a lower
            rating are not hits.
        fold_in: listed users fold in their own ratings too.
        fitted: the data that the release was fitted to, for the items' popularity; ``train`` by default.
        rated: of a release of likes, the ratings of which ``train`` has the likes: all leave the lists, and
            stars of the middle count half, as on the users' devices.

    Privacy: private.
    """
    fitted = train if fitted is None else fitted
    if release.items != test.domain.items or fitted.domain.items != test.domain.items:
        raise DataError(
            "the release and the parts have different catalogues; load all with the release's domain"
        )
    require_apart(train, test)
    sought = _select_likes(test, likes)
    n_sought, own = sought.n_users, train if rated is None else rated
    listed = np.full(n_sought, -1, dtype=np.int64)
    if release.users and not fold_in:
        listed = ListedPeople(release).find(sought.users.to_pylist())
    ranked = (rows_of(own, sought) >= 0) | (listed >= 0)
    if not ranked.any():
        raise DataError(
            "nobody who has something to be found folds in anything, so there are no lists; give what they "
            "did before as train"
        )
    sought, listed = sought.select(ranked[sought.user_index()]), listed[ranked]
    known, times = _own_rows(own, sought)
    own_rows = known
    if train.domain.feedback == "interactions":
        own_rows = weigh(known, _weights(known, train, rated), times)
    items = np.empty((sought.n_users, n), dtype=np.int32)
    _put(
        items,
        listed >= 0,
        _rank_listed(release, listed[listed >= 0], _select_users(own_rows, listed >= 0), n),
    )
    at_home, seen = (_select_users(of, listed < 0) for of in (own_rows, known))
    lists = (block.items for block in top_n(release, at_home, n, seen=seen))
    _put(items, listed < 0, lists)
    # Users of either part, each once.
    everybody = train.n_users + test.n_users - int((rows_of(train, test) >= 0).sum())
    return Lists(
        users=sought.users,
        items=items,
        hits=_hits(items, sought),
        indptr=sought.indptr,
        held_out=sought.items,
        popularity=np.bincount(fitted.items, minlength=fitted.domain.n_items),
        n_fitted=fitted.n_users,
        n_left_out=everybody - n_sought,
        n_new=n_sought - sought.n_users,
    )


def _select_likes(test: People, likes: float | None) -> People:
    """Select the part of the test part that is to be found."""
    if test.domain.feedback == "interactions":
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
    liked = test.select(test.numbers() > likes - scale.step / 2)
    if not liked.n_users:
        raise DataError("no test rating is a like, so there is nothing to be found; lower likes")
    return liked


def _own_rows(train: People, sought: People) -> tuple[Rows, Ints | None]:
    """The items of these users with their numbers, and their times if there are any; none of absent users."""
    rows = rows_of(train, sought)
    starts = train.indptr[rows]
    counts = np.where(rows >= 0, train.indptr[rows + 1] - starts, 0)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    # Entry p of user u, from indptr[u] on, is entry starts[u] + p − indptr[u] of the training part.
    at = np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])
    times = None if train.timestamps is None else train.timestamps[at]
    return Rows(indptr, train.items[at], train.numbers()[at]), times


def _weights(rows: Rows, train: People, rated: People | None) -> Floats:
    """Weights of own interactions: 1, or those of ratings of which the training part has the likes."""
    if rated is None:
        return np.ones(len(rows.items))
    scale, domain = rated.domain.scale, train.domain
    if domain.likes is None or (rated.domain.items, scale) != (domain.items, domain.rating_scale):
        raise DataError(
            "rated goes with likes: load it with the domain of the likes, without the likes of the domain"
        )
    return like_weights(rows.values, (scale.lo, scale.hi, scale.step), domain.likes)


def _select_users(rows: Rows, users: Bools) -> Rows:
    counts = np.diff(rows.indptr)
    entries = np.repeat(users, counts)
    indptr = np.concatenate([[0], np.cumsum(counts[users])])
    return Rows(indptr, rows.items[entries], rows.values[entries])


def _rank_listed(release: Release, people: Ints, own_rows: Rows, n: int) -> Iterator[Ints]:
    """Rank items for people whom the release lists, by the vectors that it holds."""
    if not len(people):
        return
    vectors, every = ListedPeople(release), np.arange(len(release.items))
    for person, start, stop in zip(people, own_rows.indptr[:-1], own_rows.indptr[1:], strict=True):
        scores = vectors.rank(np.full(len(every), person), every)
        scores[own_rows.items[start:stop]] = -np.inf
        best = np.argsort(-scores, kind="stable")[:n]
        # A user who has folded in nearly everything has fewer than n items left.
        best = np.where(np.isfinite(scores[best]), best, -1)
        yield np.pad(best, (0, n - len(best)), constant_values=-1)[None]


def _put(items: Ints32, users: Bools, blocks: Iterator[Ints]) -> None:
    """Write blocks of lists into the rows of some users."""
    places, start = np.flatnonzero(users), 0
    for block in blocks:
        items[places[start : start + len(block)]] = block
        start += len(block)


def _hits(items: Ints32, sought: People) -> Bools:
    """Mark the listed items that are to be found by their user, shape of ``items``."""
    n_items = sought.domain.n_items
    codes = sought.user_index().astype(np.int64) * n_items + sought.items  # ascending
    hits = np.empty(items.shape, dtype=np.bool_)
    for start in range(0, len(items), _BLOCK):
        block = items[start : start + _BLOCK]
        looked_up = np.arange(start, start + len(block))[:, None] * n_items + block
        # User and item in one number, ascending: a binary search tells whether a pair is to be found.
        places = np.minimum(np.searchsorted(codes, looked_up), len(codes) - 1)
        hits[start : start + _BLOCK] = (codes[places] == looked_up) & (block >= 0)
    return hits


_BLOCK = 4096  # users looked up at once, chosen by hand: bounds the memory, does not change the result


def recall(lists: Lists, k: int) -> Floats:
    """Compute the found fraction of the items that k places can hold, Σ_{r≤k} y_r / min(k, h_u).

    Liang et al. 2018, §4.2.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    return np.asarray(lists.first(k)[1].sum(axis=1) / np.minimum(k, lists.n_held_out))


def precision(lists: Lists, k: int) -> Floats:
    """Compute the fraction of the k places that are hits, Σ_{r≤k} y_r / k, even if fewer than k are filled.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    return np.asarray(lists.first(k)[1].sum(axis=1) / k)


def ndcg(lists: Lists, k: int) -> Floats:
    """Compute Σ_{r≤k} y_r / log₂(r + 1), divided by its largest value, Σ_{r≤min(k, h_u)} 1 / log₂(r + 1).

    Järvelin & Kekäläinen 2002, §3.2, with binary relevance.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    discounts = 1 / np.log2(np.arange(2, k + 2))
    # The ideal list has all that is to be found, or k of it, at its top.
    largest = np.cumsum(discounts)[np.minimum(k, lists.n_held_out) - 1]
    return np.asarray(lists.first(k)[1] @ discounts / largest)


def reciprocal_rank(lists: Lists, k: int) -> Floats:
    """Compute 1 / r of the first hit, or 0 without a hit in k places; the mean is the MRR.

    Voorhees 1999, §3.1.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    hits = lists.first(k)[1]
    return np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0.0)


def mean_average_precision(lists: Lists, k: int) -> Floats:
    """Compute the average precision, Σ_{r≤k} y_r · precision@r / min(k, h_u); the mean is the MAP.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    hits = lists.first(k)[1]
    precisions = np.cumsum(hits, axis=1) / np.arange(1, k + 1)
    return np.asarray((precisions * hits).sum(axis=1) / np.minimum(k, lists.n_held_out))


def novelty(lists: Lists, k: int) -> Floats:
    """Average −log₂ p_i over the listed items, with the fraction p_i of users who gave item i, in bits.

    Zhou et al. 2010, *surprisal*. The users are those whom the release was fitted to. An item that none of
    them gave counts as given by one.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    items = lists.first(k)[0]
    fractions = np.maximum(lists.popularity, 1) / max(lists.n_fitted, 1)
    listed = items >= 0
    bits = np.where(listed, -np.log2(fractions)[items], 0.0)
    return np.asarray(bits.sum(axis=1) / np.maximum(listed.sum(axis=1), 1))


def coverage(lists: Lists, k: int) -> float:
    """Compute the fraction of the catalogue in at least one list of k items; more lists make it larger.

    Privacy: private.
    """
    items = lists.first(k)[0]
    return len(np.unique(items[items >= 0])) / len(lists.popularity)


PER_USER: Mapping[str, Callable[[Lists, int], Floats]] = {
    "recall": recall,
    "precision": precision,
    "ndcg": ndcg,
    "mrr": reciprocal_rank,
    "map": mean_average_precision,
    "novelty": novelty,
}
"""Name of a metric → its values per user, which are averaged."""
COVERAGE = "coverage"
"""The metric of all lists together, which has no value per user."""
_NAME = re.compile(rf"({'|'.join([*PER_USER, COVERAGE])})@([1-9]\d{{0,5}})", re.ASCII)


class AtK(NamedTuple):
    """A metric of the first k places, such as recall@20. Privacy: public."""

    name: str
    k: int

    def score(self, lists: Lists) -> Score:
        """Compute the metric over all lists; coverage has no standard error. Privacy: private."""
        if self.name == COVERAGE:
            return Score(coverage(lists, self.k), lists.users, None)
        return mean_score(lists.users, PER_USER[self.name](lists, self.k))


def named(names: Iterable[str]) -> dict[str, AtK | None]:
    """Parse names of metrics, in their order; None for those of ``hushrec.evaluation.compare``.

    Args:
        names: such as ``rmse`` or ``recall@20``.

    Privacy: public.
    """
    metrics: dict[str, AtK | None] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if not match and name not in METRICS:
            valid = ", ".join([*METRICS, *(f"{ranked}@K" for ranked in (*PER_USER, COVERAGE))])
            raise ConfigError(f"unknown metric {name!r}; choose from {valid}, with a number for K: recall@20")
        metrics[name] = AtK(match[1], int(match[2])) if match else None
    return metrics
