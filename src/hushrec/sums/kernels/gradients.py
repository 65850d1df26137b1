"""Sums of errors times factors, row by row, in integers: the same bits in any order.

Each user's factors may come from their own ridge regression, which never raises: an error would reveal data.
Errors and factors are both counted in grid steps. A factor of one is ``2^bits`` steps, so the product of two
factors is shifted right by ``bits`` before it is subtracted from a rating.

Privacy: private, as the arrays that are given.
"""

import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.kernels.compiled import compiled, in_threads, spans


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
            # L_fg = (A_fg − Σ_{h<g} L_fh L_gh)/L_gg, written over A.
            remainder = matrix[f, g]
            for h in range(g):
                remainder -= matrix[f, h] * matrix[g, h]
            if f > g:
                matrix[f, g] = remainder / matrix[g, g]
            # A pivot of a positive definite matrix is positive. Zero, negative and NaN end here, silently.
            elif remainder > 0 and np.isfinite(remainder):
                matrix[f, f] = np.sqrt(remainder)
            else:
                return False
    for column in range(rank):
        # One column of A⁻¹ = L⁻ᵀ L⁻¹ at a time.
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
        # The lower triangle of Σ q qᵀ: ``invert`` reads no more.
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
        # b_u with some fictitious residuals of 0, from this user's ratings alone: it costs nothing.
        bias = total / (stop - start + prior_count)
        for place in range(start, stop):
            residuals[place] -= bias


@compiled()
def residuals(
    indptr: Ints,
    items: Ints32,
    steps: Bytes,
    grid_values: Ints,
    item_offsets: Ints,
    user_offsets: Ints,
    bound: int,
) -> Ints32:
    """Return clamp(r − offset_i − offset_u, ±bound) of every rating.

    Args:
        indptr: where each user's ratings start, shape (n_users + 1,).
        items: item of each rating, shape (n_ratings,).
        steps: each rating, in steps above the bottom of the scale.
        grid_values: rating of each step, in grid steps, shape (n_values,).
        item_offsets: shape (n_items,).
        user_offsets: shape (n_users,).
        bound: bound on the absolute residual.

    Returns:
        Shape (n_ratings,).
    """
    entries = np.empty(len(items), dtype=np.int32)
    for user in range(len(indptr) - 1):
        for place in range(indptr[user], indptr[user + 1]):
            # Friedman, Berkovsky & Kaafar 2016, eq. 7, of the rating minus both averages.
            entry = grid_values[steps[place]] - item_offsets[items[place]] - user_offsets[user]
            entries[place] = min(max(entry, -bound), bound)
    return entries


@compiled()
def errors(
    indptr: Ints,
    items: Ints32,
    entries: Ints32,
    user_factors: Ints32,
    item_factors: Ints32,
    shift: int,
    bound: int,
) -> Ints32:
    """Return clamp(x − ⌊p·q⌋, ±bound) of every rating's residual x.

    Args:
        indptr, items: compressed rows, as in ``residuals``.
        entries: x, in grid steps, shape (n_ratings,).
        user_factors, item_factors: in grid steps, shapes (n_users, rank) and (n_items, rank).
        shift: the number of bits by which a product of two factors exceeds a residual.
        bound: bound on an absolute error.

    Returns:
        Shape (n_ratings,).
    """
    clipped = np.empty(len(items), dtype=np.int32)
    rank = item_factors.shape[1]
    for user in range(len(indptr) - 1):
        for place in range(indptr[user], indptr[user + 1]):
            item = items[place]
            # e_ui = r_ui − p_u·q_i of their Algorithm 4, line 4; noise comes later, once, on the sums.
            product = np.int64(0)
            for f in range(rank):
                product += np.int64(user_factors[user, f]) * item_factors[item, f]
            clipped[place] = min(max(entries[place] - (product >> shift), -bound), bound)
    return clipped


@compiled()
def user_sums(indptr: Ints, items: Ints32, entries: Ints32, item_factors: Ints32) -> Ints:
    """Sum entry × item factors over each user's ratings, shape (n_users, rank)."""
    rank = item_factors.shape[1]
    sums = np.zeros((len(indptr) - 1, rank), dtype=np.int64)
    for user in range(len(indptr) - 1):
        for place in range(indptr[user], indptr[user + 1]):
            item, entry = items[place], np.int64(entries[place])
            for f in range(rank):
                sums[user, f] += entry * item_factors[item, f]
    return sums


@compiled()
def item_sums(indptr: Ints, items: Ints32, entries: Ints32, user_factors: Ints32, n_items: int) -> Ints:
    """Sum entry × user factors over each item's ratings, shape (n_items, rank)."""
    rank = user_factors.shape[1]
    sums = np.zeros((n_items, rank), dtype=np.int64)
    for user in range(len(indptr) - 1):
        for place in range(indptr[user], indptr[user + 1]):
            item, entry = items[place], np.int64(entries[place])
            for f in range(rank):
                sums[item, f] += entry * user_factors[user, f]
    return sums


def reference_residuals(
    indptr: Ints,
    items: Ints32,
    steps: Bytes,
    grid_values: Ints,
    item_offsets: Ints,
    user_offsets: Ints,
    bound: int,
) -> Ints32:
    """Do as ``residuals``, in plain NumPy."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    entries = grid_values[steps] - item_offsets[items] - user_offsets[users]
    return np.asarray(np.clip(entries, -bound, bound), dtype=np.int32)


def reference_errors(
    indptr: Ints,
    items: Ints32,
    entries: Ints32,
    user_factors: Ints32,
    item_factors: Ints32,
    shift: int,
    bound: int,
) -> Ints32:
    """Do as ``errors``, in plain NumPy."""
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    products = (user_factors[users].astype(np.int64) * item_factors[items]).sum(axis=1)
    return np.asarray(np.clip(entries - (products >> shift), -bound, bound), dtype=np.int32)


def reference_sums(places: Ints32, entries: Ints32, factors: Ints32, n_rows: int) -> Ints:
    """Do as ``user_sums`` and ``item_sums``: sum entry × factors over the ratings of each row.

    Args:
        places: row of each rating.
        entries: shape (n_ratings,).
        factors: factors of the other side, one row per rating, shape (n_ratings, rank).
        n_rows: number of rows.
    """
    sums = np.zeros((n_rows, factors.shape[1]), dtype=np.int64)
    np.add.at(sums, places, entries[:, None].astype(np.int64) * factors)
    return sums


def ridge_gradients(
    indptr: Ints,
    items: Ints32,
    values: Floats,
    item_factors: Floats,
    ridge: float,
    bound: float,
    clip: float,
    step: float,
    *,
    threads: int = 1,
) -> Ints:
    """Sum users' gradients of the item factors, at vectors fitted user by user, each user's clipped.

    p = (Σ q qᵀ + ridge · I)⁻¹ Σ x q;  e = clamp(x − p·q, ±bound);  a user contributes e_i p to each item i
    they rated, scaled down as a whole to L2 norm ``clip`` and truncated to the grid, toward zero. The number
    of threads does not change a bit.

    Args:
        indptr, items: compressed rows.
        values: x, the residual of each rating, shape (n_ratings,).
        item_factors: shape (n_items, rank).
        ridge: weight of the prior of p.
        bound: bound on an error.
        clip: bound on the L2 norm of a user's whole contribution.
        step: width of a grid step.

    Returns:
        Σ over users, in grid steps, shape (n_items, rank).
    """
    shared = indptr, items, values, item_factors, ridge, bound, clip, step
    # More spans than threads: the cost of a user is not exactly proportional to their ratings.
    parts = in_threads(_add_users, spans(indptr, 4 * threads), *shared, threads=threads)
    sums: Ints = np.sum(parts, axis=0, dtype=np.int64)
    return sums


@compiled(nogil=True)
def _add_users(
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    values: Floats,
    item_factors: Floats,
    ridge: float,
    bound: float,
    clip: float,
    step: float,
) -> Ints:
    rank, most = item_factors.shape[1], np.int64(0)
    for user in range(begin, end):
        # Room for the longest row of the span, which all of its users share.
        most = max(most, indptr[user + 1] - indptr[user])
    sums = np.zeros(item_factors.shape, dtype=np.int64)
    rows, errors = np.empty((rank, most)), np.empty(most)
    normal, inverse, user_vector = np.empty((rank, rank)), np.empty((rank, rank)), np.empty(rank)
    for user in range(begin, end):
        start, stop = indptr[user], indptr[user + 1]
        if start == stop:
            continue
        gather(start, stop, items, item_factors, rows)
        if not fit_user(rows, values[start:stop], ridge, normal, inverse, user_vector):
            continue  # outside floating-point range: this user contributes nothing
        user_errors(rows, values[start:stop], user_vector, bound, errors)
        # ‖e pᵀ‖ = ‖e‖ ‖p‖: the contribution has one row e_i p for each item.
        norm = np.sqrt((errors[: stop - start] ** 2).sum() * (user_vector**2).sum())
        if not np.isfinite(norm):
            continue
        # Scale slightly below the bound, so that floating-point rounding cannot exceed it; then toward zero.
        scale = min(1.0, clip / max(norm, 1e-300)) * (1 - 1e-9) / step
        for place in range(start, stop):
            for f in range(rank):
                # The cast truncates toward zero, so no entry, and hence no norm, grows by it.
                sums[items[place], f] += np.int64(errors[place - start] * user_vector[f] * scale)
    return sums
