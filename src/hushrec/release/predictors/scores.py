"""Scores by which releases of ratings rank: a model of choice, users' slopes, many users at once.

Ratings are missing not at random: users choose what they expect to like, and most choose what is popular
(Marlin & Zemel 2009; Steck 2010). A list that is ordered by predicted ratings alone consists of items that
hardly anybody chooses. So items are ranked by a log-linear model of choice,

    log P(u chooses and likes i) = log n_i + 2 (b_i + z_ui)/span + constant,

with n_i the number of ratings of the item, b_i its effect and z_ui what the user's taste adds to their
rating. The release holds n_i exp(2 b_i/span), to first order n_i (1 + 2 b_i/span), as the popularity of the
item. The user's taste is estimated from which items they rated as well as from how: an item that they did
not choose counts as one that they would rate half the scale's width below its mean.

Users differ not only in their level. For some of them the item effects count double, for others hardly at
all, and some like what is popular more than others do. Bell & Koren 2007 (§4, "user × movie average" and
"user × movie support") estimate such slopes one after the other; here they are two more coefficients of the
same regression,

    r_i = μ_i + b + s₁ (μ_i − μ̄) + s₂ (log(1 + n_i) − ℓ̄) + z_i + noise,

s₁ ~ N(0, v₁), s₂ ~ N(0, v₂), with means weighted by the popularities n_i. Few ratings do not tell whether a
user has slopes at all, so the prior is a spike and a slab (Mitchell & Beauchamp 1988): slopes with odds o,
none otherwise. The posterior mean is that of the regression with slopes, but with these multiplied by their
posterior probability.

Scores of the whole catalogue for a block of users are fast, with a bound on their error, or exact. A score is
exact if it has the same bits for a pair of user and item whatever else is computed with it. A product of
matrices does not promise that, so it only finds the items that can be among the best.

Privacy: post-processing of a release and the users' own rows, which stay where they are.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.release.artefact import Release

LIKING = 2.0
"""Logarithm of how much likelier a choice is if the rating is higher by the scale's width."""
ABSENCE = 0.5
"""How much lower a user would rate an item that they did not choose, in widths of the scale."""
LEAST_POPULARITY = 1e-3
"""Popularity of an item that no one chose or liked."""


def choice(popularity: Floats, taste: Floats, span: float) -> Floats:
    """Logarithm of how likely a user chooses and likes each item, up to a constant: log n_i + 2 z_i/span.

    Args:
        popularity: of each item, positive, shape (n_items,).
        taste: z_i, what the user's taste adds to their rating of each, in rating units, shape (n_items,).
        span: width of the scale.
    """
    return np.asarray(np.log(popularity) + LIKING / span * taste, dtype=np.float64)


def popularity_and_span(release: Release) -> tuple[Floats, float]:
    """Popularity of every item, shape (n_items,), and the width of the scale."""
    lo, hi, _ = release.require_scale()
    return release.tensors["item_popularity"].astype(np.float64), hi - lo


_LARGEST_SLOPE = 700.0  # logarithm of the largest odds


def slope_columns(release: Release) -> Floats:
    """√v₁ (μ_i − μ̄) and √v₂ (log(1 + n_i) − ℓ̄) of each item, so that the coefficients have unit variance.

    Returns:
        Shape (n_items, 2), or (n_items, 0) if the release has no such constants.
    """
    constants, n = release.constants, len(release.items)
    if "slope_odds" not in constants or not n:
        return np.zeros((n, 0))
    popularity = release.tensors["item_popularity"].astype(np.float64)
    columns = np.column_stack([release.tensors["item_effects"].astype(np.float64), np.log1p(popularity)])
    columns -= popularity @ columns / popularity.sum()
    return columns * np.sqrt([constants["effect_slope"], constants["popularity_slope"]])


def solved_with_slopes(normal: Floats, right: Floats, n_slopes: int, odds: float) -> Floats:
    """Return the posterior mean of coefficients of unit variance; a user may lack the last, the slopes.

    With the normal equations in blocks [[A, B], [Bᵀ, C]], right-hand sides (a, c), S = C − Bᵀ A⁻¹ B and t = c
    − Bᵀ A⁻¹ a, the slopes are s = w S⁻¹ t, where log w/(1 − w) = log o + ½ tᵀ S⁻¹ t − ½ log det S. The others
    solve A p = a − B s.

    Args:
        normal: I + Σ x xᵀ/τ_i², shape (width, width).
        right: Σ x r_i/τ_i², shape (width,).
        n_slopes: how many of the coefficients are slopes, 0 or more.
        odds: o, prior odds that a user has slopes.

    Returns:
        Shape (width,).
    """
    if not n_slopes:
        return np.asarray(np.linalg.solve(normal, right[:, None])[:, 0], dtype=np.float64)
    others, slopes = slice(None, -n_slopes), slice(-n_slopes, None)
    both = np.column_stack([right[others], normal[others, slopes]])
    solved = np.linalg.solve(normal[others, others], both)
    schur = normal[slopes, slopes] - normal[slopes, others] @ solved[:, 1:]
    left = right[slopes] - normal[slopes, others] @ solved[:, 0]
    coefficients = np.linalg.solve(schur, left)
    # ½ tᵀ S⁻¹ t − ½ log det S. The matrix is I plus a positive one, so det S is 1 or more, but for rounding.
    evidence = float(left @ coefficients - np.log(max(np.linalg.det(schur), 1.0))) / 2
    coefficients /= 1 + math.exp(-min(max(evidence + math.log(odds), -_LARGEST_SLOPE), _LARGEST_SLOPE))
    return np.concatenate([solved[:, 0] - solved[:, 1:] @ coefficients, coefficients])


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
    off by at most (2k + 3) ε ‖x_i‖ ‖p_u‖ in any order of summation, the rounding of x and p included (Higham
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
        # The second term is for products that underflow, which the relative bound does not cover.
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
