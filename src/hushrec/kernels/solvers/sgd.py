"""Stochastic gradient descent for matrix factorisation: one pass over the ratings, as ``visits`` explains."""

import numpy as np

from hushrec.arrays import Floats32, Ints, Ints32
from hushrec.kernels.csr import frozen
from hushrec.kernels.solvers.visits import LARGEST_RANK, Sides, in_turn, visit_all

__all__ = ["descend", "reference_descend"]


def reference_descend(
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    order: Ints32,
    user_factors: Floats32,
    item_factors: Floats32,
    user_effects: Floats32 | None,
    item_effects: Floats32 | None,
    user_reg: Floats32,
    item_reg: Floats32,
    rate: float,
    limit: float,
) -> None:
    """Descend as ``descend`` does with one thread, in a few lines of NumPy."""
    for u, at in in_turn(indptr, order, user_factors.shape[1]):
        i, p, q = items[at], user_factors[u].copy(), item_factors[items[at]].copy()
        error = values[at] - p @ q
        if user_effects is not None and item_effects is not None:
            error -= user_effects[u] + item_effects[i]
        error = np.clip(error, -limit, limit)  # Friedman, Berkovsky & Kaafar 2016, Algorithm 4, line 5
        # Their eq. 2.
        user_factors[u] += rate * (error * q - user_reg[u] * p)
        item_factors[i] += rate * (error * p - item_reg[i] * q)
        if user_effects is not None and item_effects is not None:
            user_effects[u] += rate * (error - user_reg[u] * user_effects[u])
            item_effects[i] += rate * (error - item_reg[i] * item_effects[i])


def descend(
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    order: Ints32,
    user_factors: Floats32,
    item_factors: Floats32,
    user_effects: Floats32 | None,
    item_effects: Floats32 | None,
    user_reg: Floats32,
    item_reg: Floats32,
    rate: float,
    limit: float = np.inf,
    *,
    threads: int = 1,
) -> None:
    """Make one pass of stochastic gradient descent over the ratings of the users in ``order``.

    Friedman, Berkovsky & Kaafar 2016, eq. (2), with the error clamped as in their Algorithm 4, line 5:

        e = clamp(r_ui − b_u − b_i − ⟨p_u, q_i⟩, ±limit)
        p_u, q_i ← p_u + γ (e q_i − λ_u p_u), q_i + γ (e p_u − λ_i q_i)
        b_u, b_i ← b_u + γ (e − λ_u b_u),     b_i + γ (e − λ_i b_i).

    The right-hand sides use the values from before the step, as in eq. (2): line 7 of Algorithm 4, as
    printed, uses the q_i just changed by line 6, which differs by at most γ² e² p_u.

    Args:
        indptr: where each user's ratings start, then where the last ones end, shape (n_users + 1,).
        items: item of each rating, shape (n_ratings,).
        values: r of each rating, minus what is not fitted here, such as a mean; shape of ``items``.
        order: users to visit, in that order, each at most once.
        user_factors: p, modified, shape (n_users, rank), rank from 1 to 2048.
        item_factors: q, modified, shape (n_items, rank); copied at each call unless ``padded``.
        user_effects: b_u, modified, shape (n_users,); None, as ``item_effects``, for none.
        item_effects: b_i, modified, shape (n_items,).
        user_reg: λ_u, shape (n_users,).
        item_reg: λ_i, shape (n_items,).
        rate: γ.
        limit: largest absolute error.
        threads: number of threads; with more than one, results vary from run to run.

    Privacy: private.
    """
    (n_users, rank), n_items = user_factors.shape, len(item_factors)
    if threads < 1 or not 1 <= rank <= LARGEST_RANK or not limit >= 0:
        raise ValueError(f"use 1 thread or more, a rank of 1 to {LARGEST_RANK} and a limit of at least 0")
    if user_reg.shape != (n_users,) or item_reg.shape != (n_items,):
        raise ValueError("there must be a reg for each user and each item")
    sides = Sides.of(indptr, items, values, user_factors, item_factors, user_effects, item_effects)
    sides.check(order)
    keep_users, keep_items = (frozen(1 - np.float32(rate) * reg, np.float32) for reg in (user_reg, item_reg))
    visit_all(sides, order, keep_users, keep_items, rate, limit, threads)
    sides.finish()
