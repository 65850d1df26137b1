"""Scores of the whole catalogue for a block of users: fast ones with a bound on their error, and exact ones.

A score is exact if it has the same bits for a pair of user and item whatever else is computed with it. A
product of matrices does not promise that, so it only finds the items that can be among the best.

Privacy: post-processing of a release and the users' own rows, which stay where they are.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32

__all__ = ["MULTIPLIED", "BlockPredictor", "BlockScores", "InnerProducts", "Rows"]

MULTIPLIED = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread for a product; several wait for one another."""

_PAIRS = 1 << 11  # pairs at once, such that they fit in a cache; does not change the result
_LARGEST = 1e18  # norm of a vector up to which products fit in single precision
_USERS = 16  # users of such a product


class Rows(NamedTuple):
    """The records of each user, user by user.

    Attributes:
        indptr: where each user's items start, then where the last ones end, shape (n_users + 1,).
        items: positions in the release's catalogue, ascending within a user, shape (n_rows,).
        values: ratings, or how often each was given (1 without counts), shape (n_rows,).

    Privacy: private.
    """

    indptr: Ints
    items: Ints32
    values: Floats

    @property
    def n_users(self) -> int:
        """Number of users, those without items included. Privacy: private."""
        return len(self.indptr) - 1

    def part(self, start: int, stop: int) -> "Rows":
        """The rows of the users from ``start`` up to but excluding ``stop``. Privacy: private."""
        first, last = self.indptr[start], self.indptr[stop]
        return Rows(self.indptr[start : stop + 1] - first, self.items[first:last], self.values[first:last])


class BlockScores(NamedTuple):
    """Scores of every item for a block of users.

    Attributes:
        rough: scores that may be off a little, shape (n_users, n_items); the receiver may overwrite them.
        error: the most that a rough score of each user is off, shape (n_users,).
        exact: the exact scores of pairs, from positions in the block and in the catalogue, shape (n_pairs,).

    Privacy: private, as the users' rows.
    """

    rough: Floats32 | Floats
    error: Floats
    exact: Callable[[Ints, Ints], Floats]


@runtime_checkable
class BlockPredictor(Protocol):
    """A predictor that scores the whole catalogue for many users at once, with the bits of its ``rank``.

    Privacy: post-processing of a release and the users' own rows.
    """

    def scores(self, rows: Rows) -> BlockScores:
        """Scores by which the lists of a block of users are ordered."""
        ...


class InnerProducts:
    """Scores s_ui = ⟨x_i, p_u⟩ of a row x_i for each item and a vector p_u for each user.

    The rough scores are a product of matrices in single precision. With width k and unit roundoff ε, they are
    off by at most (2k + 3) ε |x_i| |p_u| in any order of summation, the rounding of x and p included (Higham
    2002, §3.1), and by a little more where numbers underflow.

    Args:
        rows: shape (n_items, width).

    Privacy: post-processing of a release and the users' own rows.
    """

    def __init__(self, rows: Floats) -> None:
        self.rows = rows
        self._norm = float(np.sqrt((rows**2).sum(axis=1).max(initial=0.0)))
        fits = self._norm < _LARGEST
        self._columns = np.ascontiguousarray(rows.T, dtype=np.float32) if fits else None

    def of(self, vector: Floats, items: Ints) -> Floats:
        """Exact scores of one user.

        Args:
            vector: shape (width,).
            items: positions in the catalogue, shape (n,).

        Returns:
            Shape (n,).
        """
        chosen = self.rows[items]
        return _dots(chosen, np.broadcast_to(vector, chosen.shape))

    def pairs(self, vectors: Floats, users: Ints, items: Ints) -> Floats:
        """Exact scores of pairs of a user and an item.

        Args:
            vectors: shape (n_users, width).
            users: positions among the vectors, shape (n_pairs,).
            items: positions in the catalogue, shape (n_pairs,).

        Returns:
            Shape (n_pairs,).
        """
        scores = np.empty(len(users))
        for first in range(0, len(users), _PAIRS):
            part = slice(first, first + _PAIRS)
            scores[part] = _dots(self.rows[items[part]], vectors[users[part]])
        return scores

    def scores(self, vectors: Floats) -> BlockScores:
        """Scores of a block of users.

        Args:
            vectors: shape (n_users, width).
        """
        norms, width = np.sqrt((vectors**2).sum(axis=1)), vectors.shape[1]
        rough: Floats32 | Floats
        if self._columns is not None and norms.max(initial=0.0) < _LARGEST:
            rough = _product(vectors.astype(np.float32), self._columns)
        else:
            rough = vectors @ self.rows.T
        limits = np.finfo(rough.dtype)
        lost = float(limits.epsneg) * self._norm * norms + float(limits.tiny) * (1 + self._norm + norms)
        return BlockScores(rough, (2 * width + 3) * lost, partial(self.pairs, vectors))


def _product(left: Floats32, right: Floats32) -> Floats32:
    """``left @ right``, in pieces that are small enough for one BLAS thread."""
    product = np.empty((left.shape[0], right.shape[1]), dtype=np.float32)
    step = max(MULTIPLIED // (_USERS * max(left.shape[1], 1)), 1)
    for user in range(0, product.shape[0], _USERS):
        for item in range(0, product.shape[1], step):
            piece = slice(user, user + _USERS), slice(item, item + step)
            np.matmul(left[piece[0]], right[:, piece[1]], out=product[piece])
    return product


def _dots(left: Floats, right: Floats) -> Floats:
    """⟨left_n, right_n⟩ of every n, each added up in the same order, unlike in a product of matrices."""
    return np.asarray(np.einsum("nk,nk->n", left, right), dtype=np.float64)
