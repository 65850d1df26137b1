"""Best items for many users at once, from a release and what each user gave.

Privacy: post-processing of a release and the users' own rows, which stay where they are.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Bools, Floats, Floats32, Ints
from hushrec.errors import ConfigError, ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.fold_in import Predictor, predictor
from hushrec.release.predictors.scores import BlockPredictor, BlockScores, Rows
from hushrec.text import whole

__all__ = ["Ranked", "Ranking", "Rows", "top_n"]

_SCORES = 1 << 21  # scores of a block: at most 16 MB, in double precision
_SLOW = 1 << 17  # of a predictor of one user at a time, so that a block is done in a second
_FIRST = 64  # items that are scored before a bound is compared; half as many more each time after
_PARTS = 8  # parts of the catalogue whose largest scores stand for all


class Ranked(NamedTuple):
    """The best items of a block of users.

    Attributes:
        items: positions in the catalogue, best first, shape (n_users, n); −1 where nothing is left to rank.
        scores: scores of these items, on the predictor's own scale, shape (n_users, n); −∞ where an item is
            −1.

    Privacy: private, as the rows.
    """

    items: Ints
    scores: Floats


class Ranking:
    """Ranks the whole catalogue for many users; several threads may use it at once.

    Args:
        n: length of each list, 1 or more.
        allowed: which items may be listed, shape (n_items,); all by default.

    Attributes:
        n_users: for how many users at most to ask at once.

    Privacy: post-processing of a release.
    """

    def __init__(self, release: Release, n: int, *, allowed: Bools | None = None) -> None:
        n = whole(n, "n", 1, ConfigError)
        self._predictor, self._n_items, self._n = predictor(release), len(release.items), n
        self._barred = None if allowed is None else ~allowed
        at_once = _SCORES if isinstance(self._predictor, BlockPredictor) else _SLOW
        self.n_users = max(at_once // max(self._n_items, 1), 1)

    def of(self, rows: Rows, seen: Rows | None = None) -> Ranked:
        """The lists of a block of users; arguments and errors as in ``top_n``. Privacy: private."""
        try:
            if isinstance(self._predictor, BlockPredictor):
                block = self._predictor.scores(rows)
                self._bar(block.rough, -np.inf, rows, seen)
            else:
                left = np.ones((rows.n_users, self._n_items), dtype=np.bool_)
                self._bar(left, False, rows, seen)
                block = _one_by_one(self._predictor, rows, left, self._n)
            return _best(block, self._n)
        except np.linalg.LinAlgError:
            pass
        raise ReleaseError("nothing can be predicted from this release's numbers; fetch it again")

    def _bar(self, table: NDArray[Any], value: float, rows: Rows, seen: Rows | None) -> None:
        """Set the cells of what may not be listed."""
        for excluded in (rows, seen):
            if excluded is not None:
                users = np.repeat(np.arange(excluded.n_users), np.diff(excluded.indptr))
                table[users, excluded.items] = value
        if self._barred is not None:
            table[:, self._barred] = value


def top_n(
    release: Release, rows: Rows, n: int, *, allowed: Bools | None = None, seen: Rows | None = None
) -> Iterator[Ranked]:
    """Rank the whole catalogue for every user, without the items of their own rows.

    Every list is exactly that of ``Client.recommend`` for the same user: items with equal scores are in the
    catalogue's order, and neither the other users nor the blocks change a bit. With another number of BLAS
    threads, a user's vector, and so a score, may differ in the last bits.

    Args:
        rows: what each user gave.
        n: length of each list, 1 or more.
        allowed: which items may be listed, shape (n_items,); all by default.
        seen: further items of the same users that are not listed either; values do not matter.

    Yields:
        blocks of users, in the order of the rows.

    Privacy: private, as the rows.
    """
    ranking = Ranking(release, n, allowed=allowed)
    for start in range(0, rows.n_users, ranking.n_users):
        stop = min(start + ranking.n_users, rows.n_users)
        yield ranking.of(rows.part(start, stop), None if seen is None else seen.part(start, stop))


@runtime_checkable
class _Bounded(Predictor, Protocol):
    """A predictor of one user at a time that bounds what its ``rank`` gives."""

    def at_most(self, rated: Ints, ratings: Floats) -> Floats:
        """Numbers that no score of the user exceeds, of every item, shape (n_items,)."""
        ...


def _one_by_one(scorer: Predictor, rows: Rows, left: Bools, n: int) -> BlockScores:
    """Scores of a block from a predictor of one user at a time; −∞ of what the user's n best are not among.

    Args:
        left: which items may be listed, shape (n_users, n_items).
    """
    scores = np.full(left.shape, -np.inf)
    for user in range(rows.n_users):
        span = slice(rows.indptr[user], rows.indptr[user + 1])
        rated, values, targets = (
            rows.items[span].astype(np.int64),
            rows.values[span],
            np.flatnonzero(left[user]),
        )
        if isinstance(scorer, _Bounded):
            for some, reached in _score_bounded(scorer, rated, values, targets, n):
                scores[user, some] = reached
        else:
            scores[user, targets] = scorer.rank(rated, values, targets)
    return BlockScores(scores, np.zeros(rows.n_users), lambda users, items: scores[users, items])


def _score_bounded(
    scorer: _Bounded, rated: Ints, values: Floats, targets: Ints, n: int
) -> Iterator[tuple[Ints, Floats]]:
    """Those of a user's items that can be among the n best with their scores, largest bounds first."""
    most = scorer.at_most(rated, values)[targets]
    best, size = np.full(n, -np.inf), max(n, _FIRST)
    while len(targets):
        # The largest bounds first, so that the n-th best is high early, and most others need no score.
        order = np.argpartition(-most, min(size, len(targets) - 1))
        now, later = order[:size], order[size:]
        scores = scorer.rank(rated, values, targets[now])
        yield targets[now], scores
        # What cannot reach the n-th best so far is never scored.
        best = np.sort(np.concatenate([best, scores]))[-n:]
        later = later[most[later] >= best[0]]
        targets, most, size = targets[later], most[later], size + size // 2


def _best(scores: BlockScores, n: int) -> Ranked:
    """The n best of each user by their exact scores; an item whose rough score is −∞ is not listed.

    Let n rough scores of a user reach t, and let e be the user's error. Then n exact scores reach t − e. So
    do those of the n best, whose rough scores therefore reach t − 2e. All items that do are scored exactly.
    """
    n_users, n_items = scores.rough.shape
    reached = _floor(scores.rough, n, scores.error)
    users, items = np.divmod(np.flatnonzero(scores.rough >= reached[:, None]), max(n_items, 1))
    exact = scores.exact(users, items)
    counts = np.bincount(users, minlength=n_users)
    places = np.arange(len(users)) - np.repeat(np.cumsum(counts) - counts, counts)
    # A row for each user, sorted stably, so that ties stay in the catalogue's order.
    width = max(int(counts.max(initial=0)), n)
    listed = Ranked(np.full((n_users, width), -1), np.full((n_users, width), -np.inf))
    listed.items[users, places], listed.scores[users, places] = items, exact
    order = np.argsort(-listed.scores, axis=1, kind="stable")[:, :n]
    chosen = np.take_along_axis(listed.items, order, axis=1)
    return Ranked(chosen, np.take_along_axis(listed.scores, order, axis=1))


def _floor(rough: Floats32 | Floats, n: int, error: Floats) -> NDArray[Any]:
    """A finite score for each user that the rough scores of the n best reach, shape (n_users,)."""
    n_users, n_items = rough.shape
    lowest = np.finfo(rough.dtype).min
    if n >= n_items:
        return np.full(n_users, lowest, dtype=rough.dtype)
    # Of parts of equal width, the largest scores at each place: the n largest of them are n different scores.
    width = n_items // max(min(n_items // (8 * n), _PARTS), 1)
    largest = rough[:, : n_items // width * width].reshape(n_users, -1, width).max(axis=1)
    reached = np.partition(largest, width - n, axis=1)[:, width - n]
    floor = np.maximum(reached - 2 * error, lowest).astype(rough.dtype)
    # One number down: rounding to single precision must not raise the floor.
    return np.asarray(np.maximum(np.nextafter(floor, lowest), lowest))
