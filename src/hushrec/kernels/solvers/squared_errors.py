"""Weighted squared errors of a factorisation with clamped predictions."""

from typing import Any

import numpy as np

from hushrec.arrays import Floats32, Ints, Ints32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.csr import check_rows, frozen

__all__ = ["losses"]


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
