"""Each user's local ridge regression. It never raises, since an error would reveal data."""

import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.kernels.compiled import compiled

__all__ = ["fit_user", "gather", "invert", "user_errors", "user_residuals"]


@compiled(nogil=True)
def invert(matrix: Floats, inverse: Floats) -> bool:
    """Invert a positive definite matrix; only its lower triangle is read, and it is overwritten.

    By Cholesky factorisation: LAPACK would raise if a matrix is singular, and an error would reveal data.

    Returns:
        Whether an inverse exists in floating point.
    """
    rank = len(matrix)
    for f in range(rank):
        for g in range(f + 1):
            remainder = matrix[f, g]
            for h in range(g):
                remainder -= matrix[f, h] * matrix[g, h]
            if f > g:
                matrix[f, g] = remainder / matrix[g, g]
            elif remainder > 0 and np.isfinite(remainder):
                matrix[f, f] = np.sqrt(remainder)
            else:
                return False
    for column in range(rank):
        for f in range(rank):  # L y = e
            remainder = 1.0 if f == column else 0.0
            for h in range(f):
                remainder -= matrix[f, h] * inverse[h, column]
            inverse[f, column] = remainder / matrix[f, f]
        for f in range(rank - 1, -1, -1):  # Lᵀ x = y
            remainder = inverse[f, column]
            for h in range(f + 1, rank):
                remainder -= matrix[h, f] * inverse[h, column]
            inverse[f, column] = remainder / matrix[f, f]
    return True


@compiled(nogil=True)
def gather(begin: int, end: int, items: Ints32, item_factors: Floats, rows: Floats) -> None:
    """Copy the factors of the items at ``begin`` to ``end`` to the first columns of ``rows``.

    A factor's values lie together, so that loops over a user's ratings are vector operations, each of which
    rounds as a single one does.

    Args:
        items: item of each rating.
        item_factors: q, shape (n_items, rank).
        rows: receives qᵀ, shape (rank, end − begin or more).
    """
    for place in range(begin, end):
        item = items[place]
        for f in range(len(rows)):
            rows[f, place - begin] = item_factors[item, f]


@compiled(nogil=True)
def fit_user(
    rows: Floats, values: Floats, ridge: float, normal: Floats, inverse: Floats, vector: Floats
) -> bool:
    """Fit p = (Σ q qᵀ + ridge · I)⁻¹ Σ x q to one user's ratings.

    Args:
        rows: qᵀ of each rated item, shape (rank, n_ratings or more).
        values: x of each rating, shape (n_ratings,).
        ridge: weight of the prior of p.
        normal: overwritten, shape (rank, rank).
        inverse: receives the inverse of the normal matrix, shape (rank, rank).
        vector: receives p, shape (rank,).

    Returns:
        Whether a solution exists in floating point.
    """
    rank = len(vector)
    right = np.empty(rank)
    for f in range(rank):
        total = 0.0
        for place in range(len(values)):
            total += rows[f, place] * values[place]
        right[f] = total
        for g in range(f + 1):
            total = 0.0
            for place in range(len(values)):
                total += rows[f, place] * rows[g, place]
            normal[f, g] = total
        normal[f, f] += ridge
    if not invert(normal, inverse):
        return False
    for f in range(rank):
        vector[f] = 0.0
        for g in range(rank):
            vector[f] += inverse[f, g] * right[g]
    return True


@compiled(nogil=True)
def user_errors(rows: Floats, values: Floats, vector: Floats, bound: float, errors: Floats) -> None:
    """Write clamp(x − p·q, ±bound) of one user's ratings to the first ``errors``.

    Args:
        rows, values: as for ``fit_user``.
        vector: p, shape (rank,).
        bound: bound on an error.
        errors: shape (n_ratings or more,).
    """
    for place in range(len(values)):
        errors[place] = values[place]
    for f in range(len(vector)):
        for place in range(len(values)):
            errors[place] -= vector[f] * rows[f, place]
    for place in range(len(values)):
        errors[place] = min(max(errors[place], -bound), bound)


@compiled(nogil=True)
def user_residuals(
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    steps: Bytes,
    levels: Floats,
    item_effects: Floats,
    prior_count: float,
    residuals: Floats,
) -> None:
    """Write each rating minus its item's effect and its user's bias, for the users ``begin`` to ``end``.

    Args:
        indptr, items: compressed rows, shapes (n_users + 1,) and (n_ratings,).
        steps: each rating, in steps above the bottom of the scale.
        levels: the rating of each step.
        item_effects: shape (n_items,).
        prior_count: fictitious ratings at the items' effects in a user's bias.
        residuals: receives them, shape (n_ratings,).
    """
    for user in range(begin, end):
        start, stop = indptr[user], indptr[user + 1]
        total = 0.0
        for place in range(start, stop):
            residuals[place] = levels[steps[place]] - item_effects[items[place]]
            total += residuals[place]
        bias = total / (stop - start + prior_count)
        for place in range(start, stop):
            residuals[place] -= bias
