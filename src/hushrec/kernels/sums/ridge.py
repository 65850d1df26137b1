"""One user's local ridge regression. It never raises, since an error would reveal data."""

import numba
import numpy as np

from hushrec.arrays import Floats, Ints32

__all__ = ["fit_user", "invert"]


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def fit_user(
    start: int,
    stop: int,
    items: Ints32,
    values: Floats,
    item_factors: Floats,
    ridge: float,
    normal: Floats,
    inverse: Floats,
    vector: Floats,
) -> bool:
    """Fit p = (Σ q qᵀ + ridge · I)⁻¹ Σ x q to the ratings from ``start`` up to but excluding ``stop``.

    Args:
        start, stop: the user's ratings.
        items: item of each rating.
        values: x of each rating.
        item_factors: q, shape (n_items, rank).
        ridge: weight of the prior of p.
        normal: overwritten, shape (rank, rank).
        inverse: receives the inverse of the normal matrix, shape (rank, rank).
        vector: receives p, shape (rank,).

    Returns:
        Whether a solution exists in floating point.
    """
    rank = len(vector)
    right = np.zeros(rank)
    normal[:] = 0.0
    for place in range(start, stop):
        row = item_factors[items[place]]
        for f in range(rank):
            right[f] += values[place] * row[f]
            for g in range(f + 1):
                normal[f, g] += row[f] * row[g]
    for f in range(rank):
        normal[f, f] += ridge
    if not invert(normal, inverse):
        return False
    np.dot(inverse, right, vector)
    return True
