"""Compiled loops: clipped gradients, the loss of a posterior, and half a sweep of its Gibbs sampler.

``marginal_gradients`` has users' vectors integrated out, and clips each user's as a whole. ``losses`` are
weighted squared errors with clamped predictions.

``draw`` draws one side's factors and effects given the other side's. The density is ∝ exp(−E / T) with

    E = Σ_u c_u Σ_i (r_ui − r̂_ui)² + ½ Σ_u p_uᵀ Λ_U p_u + ½ Σ_i q_iᵀ Λ_V q_i + ½ λ_U Σ b_u² + ½ λ_V Σ b_i²

and r̂_ui = clamp(b_u + b_i + ⟨p_u, q_i⟩). Given the other side, the vectors v = (b, factors) of one side are
independent of each other. Without the clamp each is normal,

    v ~ N(A⁻¹ a, T A⁻¹),   A = Λ + 2 Σ c x xᵀ,   a = 2 Σ c (r − b′) x,   x = (1, factors of the other side),

with b′ the other side's effect. With it, that normal is a proposal v′ (Hastings 1970), accepted with
probability min(1, exp((g(v′) − g(v))/T)), where g = Σ c ((r − r̂)² − (r − clamp(r̂))²) is what the clamp
takes off the loss. Its tails are lighter than the density's, so a second proposal moves what lies far out:
√(1 − τ²) v + τ ξ with ξ ~ N(0, T Λ⁻¹) keeps the prior for every τ (Neal 1999), and is accepted by the clamped
loss alone. Both keep the density exactly, in any order of people and however many ratings an item has; there
is no step size.

Sums are taken in double precision in the order of the ratings: parts and threads do not change a bit.

Privacy: private, as the arrays that are given.
"""

from typing import Any, NamedTuple

import numpy as np

from hushrec.arrays import Bools, Floats, Floats32, Ints, Ints32
from hushrec.kernels.compiled import compiled, in_threads, spans
from hushrec.kernels.csr import check_rows, frozen
from hushrec.sums.kernels.gradients import fit_user, gather, user_errors

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
        # Given Q, p is N(p̄, noise · A⁻¹): ``mean`` is p̄, and ``spread`` A⁻¹.
        if not fit_user(rows, values[start:stop], noise, normal, spread, mean):
            continue
        user_errors(rows, values[start:stop], mean, bound, errors)
        squares[:count] = 0.0
        for f in range(rank):
            for place in range(count):
                # clamp(x − p̄·q) p̄ − S q, with S = noise · A⁻¹; then the item's scale.
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
        # To norm C at most, and into grid steps; int64() below truncates toward zero, so no norm grows.
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


def losses(
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    user_factors: Floats32,
    item_factors: Floats32,
    user_effects: Floats32,
    item_effects: Floats32,
    user_scales: Floats32,
    low: float,
    high: float,
    total: float = 0.0,
) -> float:
    """Return ``total`` + Σ_u c_u Σ_i (r_ui − clamp(b_u + b_i + ⟨p_u, q_i⟩, low, high))², in one order.

    Args:
        indptr: where each user's ratings start, then where the last ones end, shape (n_users + 1,).
        items: item of each rating, shape (n_ratings,).
        values: r of each rating, shape of ``items``.
        user_factors: p, shape (n_users, rank).
        item_factors: q, shape (n_items, rank).
        user_effects: b_u, shape (n_users,).
        item_effects: b_i, shape (n_items,).
        user_scales: c_u, shape (n_users,).
        low: smallest prediction.
        high: largest prediction.
        total: of the users before; so a sum over parts of them has the bits of one call.

    Privacy: private.
    """
    n_users, n_items = len(user_effects), len(item_effects)
    check_rows(indptr, items, n_items)
    fits = len(indptr) == n_users + 1 == len(user_scales) + 1 == len(user_factors) + 1
    if not fits or len(item_factors) != n_items or values.shape != items.shape:
        raise ValueError(
            "there must be a row for each user, a value for each rating, factors for all effects"
        )
    singles = values, user_factors, item_factors, user_effects, item_effects, user_scales
    arrays: list[Any] = [frozen(indptr, np.int64), frozen(items, np.int32)]
    arrays += [*(frozen(array, np.float32) for array in singles), np.float32(low), np.float32(high), total]
    return float(_losses(*arrays))


@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _losses(
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    user_factors: Floats32,
    item_factors: Floats32,
    user_effects: Floats32,
    item_effects: Floats32,
    user_scales: Floats32,
    low: float,
    high: float,
    total: float,
) -> float:
    for u in range(len(user_effects)):
        user_loss = 0.0
        for at in range(indptr[u], indptr[u + 1]):
            i = items[at]
            predicted = user_effects[u] + item_effects[i]
            for f in range(user_factors.shape[1]):
                predicted += user_factors[u, f] * item_factors[i, f]
            error = np.float64(values[at] - min(max(predicted, low), high))
            user_loss += error * error
        total += user_scales[u] * user_loss
    return total


class Sides(NamedTuple):
    """Factors and effects of the people of a part, and of all items. Privacy: private."""

    user_factors: Floats32
    user_effects: Floats32
    item_factors: Floats32
    item_effects: Floats32


def reference_normal(
    weights: Floats, values: Floats, others: Floats, precision: Floats
) -> tuple[Floats, Floats]:
    """Return A and a of every row, from dense arrays: weights c and values r − b′ of shape (rows, columns).

    Args:
        others: x of every column, shape (columns, 1 + rank).
        precision: diagonal of Λ, shape (1 + rank,).
    """
    curvature = 2 * np.einsum("uc,ca,cb->uab", weights, others, others) + np.diag(precision)
    return curvature, 2 * np.einsum("uc,uc,ca->ua", weights, values, others)


def triangle_size(rank: int) -> int:
    """Return the number of cells of the lower triangle of A."""
    return (rank + 1) * (rank + 2) // 2


@compiled(nogil=True)
def add(
    of_users: bool,
    first: int,
    indptr: Ints,
    columns: Ints32,
    values: Floats32,
    scales: Floats32,
    sides: Sides,
    triangle: Floats,
    pull: Floats,
) -> None:
    """Add 2 Σ c x xᵀ (its lower triangle, row by row) and 2 Σ c (r − b′) x of a part's ratings.

    Args:
        of_users: whether rows of people are summed, and else rows of items.
        first: the person (of this part) or item whose sums are row 0; ratings of rows elsewhere are skipped.
        indptr: where each person's ratings start, and the last one's end.
        values: r, minus what is not fitted here.
        scales: c of each person.
        triangle: modified, shape (rows, ``triangle_size``).
        pull: modified, shape (rows, 1 + rank).

    Privacy: private.
    """
    rank, rows = sides.user_factors.shape[1], len(pull)
    x = np.ones(rank + 1)
    for user in range(max(first, 0), min(first + rows, len(scales))) if of_users else range(len(scales)):
        c = 2.0 * scales[user]
        for at in range(indptr[user], indptr[user + 1]):
            item = columns[at]
            if of_users:
                row, left = user - first, np.float64(values[at]) - sides.item_effects[item]
                for f in range(rank):
                    x[f + 1] = sides.item_factors[item, f]
            else:
                row, left = item - first, np.float64(values[at]) - sides.user_effects[user]
                if row < 0 or row >= rows:
                    continue
                for f in range(rank):
                    x[f + 1] = sides.user_factors[user, f]
            start = 0
            for a in range(rank + 1):
                scaled = c * x[a]
                pull[row, a] += scaled * left
                for b in range(a + 1):
                    triangle[row, start + b] += scaled * x[b]
                start += a + 1


@compiled(nogil=True)
def draw(
    triangle: Floats, pull: Floats, precision: Floats, temperature: float, normals: Floats, out: Floats32
) -> None:
    """Draw v ~ N(A⁻¹ a, T A⁻¹) of every row, by the Cholesky factor of A.

    Args:
        triangle: sums of ``add``; used up.
        pull: likewise.
        precision: diagonal of Λ, positive, shape (1 + rank,).
        normals: standard normal numbers, shape of ``pull``.
        out: receives the draws, shape of ``pull``.

    Privacy: private.
    """
    n, root = pull.shape[1], np.sqrt(temperature)
    for row in range(len(pull)):
        lower, y = triangle[row], pull[row]
        start = 0
        for a in range(n):
            # A + Λ = L Lᵀ in place, row by row of the packed triangle, and y = L⁻¹ a along with it.
            lower[start + a] += precision[a]
            above = 0
            for b in range(a + 1):
                total = lower[start + b]
                for k in range(b):
                    total -= lower[start + k] * lower[above + k]
                lower[start + b] = total / lower[above + b] if b < a else np.sqrt(total)
                above += b + 1
            total = y[a]
            for k in range(a):
                total -= lower[start + k] * y[k]
            y[a] = total / lower[start + a]
            start += a + 1
        for a in range(n):
            y[a] += root * normals[row, a]
        # Lᵀ v = y + √T ξ: v has the mean A⁻¹ a and the covariance T A⁻¹.
        for back in range(n):
            a = n - 1 - back
            start -= a + 1
            y[a] /= lower[start + a]
            for k in range(a):
                y[k] -= lower[start + k] * y[a]
        out[row] = y


@compiled(nogil=True)
def weigh(
    of_users: bool,
    first: int,
    indptr: Ints,
    columns: Ints32,
    values: Floats32,
    scales: Floats32,
    sides: Sides,
    proposals: Floats32,
    whole: bool,
    low: float,
    high: float,
    gains: Floats,
) -> None:
    """Add to each row what v′ gains over v in a part's ratings.

    Args:
        whole: whether the gain is that of the clamped loss, and else that of g.
        of_users, first, indptr, columns, values, scales: as for ``add``.
        proposals: v′, shape (rows, 1 + rank).
        low: smallest prediction, minus what was subtracted from ``values``.
        high: largest prediction, likewise.
        gains: modified, shape (rows,).

    Privacy: private.
    """
    rank, rows = sides.user_factors.shape[1], len(proposals)
    for user in range(max(first, 0), min(first + rows, len(scales))) if of_users else range(len(scales)):
        for at in range(indptr[user], indptr[user + 1]):
            item = columns[at]
            row = (user if of_users else item) - first
            if row < 0 or row >= rows:
                continue
            # r̂ at v, and at the proposal v′.
            here = np.float64(sides.user_effects[user]) + sides.item_effects[item]
            there = proposals[row, 0] + np.float64(
                sides.item_effects[item] if of_users else sides.user_effects[user]
            )
            for f in range(rank):
                p, q = sides.user_factors[user, f], sides.item_factors[item, f]
                here += np.float64(p) * q
                there += np.float64(proposals[row, f + 1]) * (q if of_users else p)
            gains[row] += scales[user] * (
                _gain(values[at], there, low, high, whole) - _gain(values[at], here, low, high, whole)
            )


@compiled(nogil=True, inline="always")
def _gain(value: float, predicted: float, low: float, high: float, whole: bool) -> float:
    clamped = min(max(predicted, low), high)
    if whole:
        return -((value - clamped) ** 2)
    # (r − r̂)² − (r − clamp(r̂))² as a product, which is exactly 0 where nothing is clamped.
    return (clamped - predicted) * (2 * value - predicted - clamped)


def accept_proposals(gains: Floats, temperature: float, chances: Floats) -> Bools:
    """Return which proposals are accepted.

    Args:
        gains: of ``weigh``, shape (rows,).
        chances: uniform in [0, 1), shape (rows,).

    Privacy: private.
    """
    # min(1, exp(gain/T)); a gain that is not a number refuses.
    return np.asarray(chances < np.exp(np.minimum(gains / temperature, 0)))
