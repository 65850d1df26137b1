"""Gradients of item factors with users' vectors integrated out, each user's clipped as a whole."""

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.sums.ridge import fit_user, gather, user_errors
from hushrec.kernels.tasks import in_threads, spans

__all__ = ["marginal_gradients", "reference_marginal_gradients"]

_ROUNDING = 1 - 1e-9  # slightly below the clip, so that floating-point rounding cannot exceed it


def marginal_gradients(
    indptr: Ints,
    items: Ints32,
    values: Floats,
    item_factors: Floats,
    noise: float,
    bound: float,
    clips: Floats,
    scales: Floats,
    step: float,
    *,
    threads: int = 1,
) -> Ints:
    """Sum users' gradients of ``noise`` · ln p(x | Q) by the item factors, each user's clipped.

    With x_i = p·q_i + N(0, noise) and p ~ N(0, I), a user's vector given their ratings has the covariance
    S = noise · A⁻¹ with A = Σ q qᵀ + noise · I, and the mean p̄ = A⁻¹ Σ x q. By Fisher's identity a user
    contributes

        clamp(x_i − p̄·q_i, ±bound) p̄ − S q_i

    to each item i they rated, times the item's scale; all of it is scaled down to L2 norm ``clips`` and
    truncated to the grid, toward zero. The number of threads does not change a bit. Time grows as
    ratings × rank² + users × rank³.

    Args:
        indptr, items: compressed rows, shapes (n_people + 1,) and (n_ratings,).
        values: x, shape (n_ratings,).
        item_factors: q, shape (n_items, rank).
        noise: variance of a value around p·q.
        bound: bound on an error.
        clips: bound on the L2 norm of each user's whole contribution, shape (n_people,); 0 leaves them out.
        scales: factor of each item's part, shape (n_items,).
        step: width of a grid step.

    Returns:
        Shape (n_items, rank), in grid steps.

    Privacy: bounded (L2 norm ≤ ``clips`` for each person).
    """
    shared = indptr, items, values, item_factors, noise, bound, clips, scales, step
    parts = in_threads(_visit, spans(indptr, 4 * threads), *shared, threads=threads)
    sums: Ints = np.sum(parts, axis=0, dtype=np.int64)
    return sums


@compiled(nogil=True)
def _visit(
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    values: Floats,
    item_factors: Floats,
    noise: float,
    bound: float,
    clips: Floats,
    scales: Floats,
    step: float,
) -> Ints:
    rank, most = item_factors.shape[1], np.int64(0)
    for person in range(begin, end):
        most = max(most, indptr[person + 1] - indptr[person])
    sums = np.zeros(item_factors.shape, dtype=np.int64)
    rows, parts, errors, squares = (
        np.empty((rank, most)),
        np.empty((rank, most)),
        np.empty(most),
        np.empty(most),
    )
    normal, spread, mean = np.empty((rank, rank)), np.empty((rank, rank)), np.empty(rank)
    for person in range(begin, end):
        start, stop = indptr[person], indptr[person + 1]
        count = stop - start
        if count == 0 or clips[person] <= 0:
            continue
        gather(start, stop, items, item_factors, rows)
        if not fit_user(rows, values[start:stop], noise, normal, spread, mean):
            continue
        user_errors(rows, values[start:stop], mean, bound, errors)
        squares[:count] = 0.0
        for f in range(rank):
            for place in range(count):
                parts[f, place] = errors[place] * mean[f]
            for g in range(rank):
                covariance = noise * spread[f, g]
                for place in range(count):
                    parts[f, place] -= covariance * rows[g, place]
            for place in range(count):
                parts[f, place] *= scales[items[start + place]]
                squares[place] += parts[f, place] * parts[f, place]
        norm = np.sqrt(squares[:count].sum())
        if not np.isfinite(norm):
            continue
        shrink = min(1.0, clips[person] / max(norm, 1e-300)) * _ROUNDING / step
        for place in range(count):
            for f in range(rank):
                sums[items[start + place], f] += np.int64(parts[f, place] * shrink)
    return sums


def reference_marginal_gradients(
    indptr: Ints,
    items: Ints32,
    values: Floats,
    item_factors: Floats,
    noise: float,
    bound: float,
    clips: Floats,
    scales: Floats,
    step: float,
) -> Ints:
    """Do as ``marginal_gradients``, in NumPy; a user's entry may differ by a grid step."""
    sums = np.zeros(item_factors.shape, dtype=np.int64)
    for person, clip in enumerate(clips):
        entries = slice(indptr[person], indptr[person + 1])
        rows = item_factors[items[entries]]
        if not len(rows) or clip <= 0:
            continue
        inverse = np.linalg.inv(rows.T @ rows + noise * np.eye(rows.shape[1]))
        mean = inverse @ (rows.T @ values[entries])
        errors = np.clip(values[entries] - rows @ mean, -bound, bound)
        contribution = scales[items[entries], None] * (errors[:, None] * mean - rows @ (noise * inverse))
        contribution *= min(1.0, clip / max(float(np.sqrt((contribution**2).sum())), 1e-300)) * _ROUNDING
        np.add.at(sums, items[entries], np.trunc(contribution / step).astype(np.int64))
    return sums
