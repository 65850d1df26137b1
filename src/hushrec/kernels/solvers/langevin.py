"""Stochastic gradient Langevin dynamics for matrix factorisation: one pass over the ratings.

How a pass works. Ratings are processed one by one, as in ``visits``. Priors and noise
together form an Ornstein–Uhlenbeck process, whose transition over any time is known and drawn exactly.
Transitions compose, so one transition of a vector covers all the time since its last one (lazy noise).
The pass takes time 1 and is cut into intervals; what an interval adds is placed at its midpoint. An item's
transition up to that point is applied when the first user of the interval who rated it is visited; the last
call applies the rest of the pass. A user's transition is applied half before and half after their ratings,
and every other pass reads the ratings from last to first: both splittings are symmetric, so that only the
ratings' own steps have an error of O(h).

The pass, the time, and the user or item determine the noise of a transition, so threads do not change it.
Several threads share the items without locks, as in stochastic gradient descent, and one of them claims each
transition. With one thread, results are reproducible bit for bit.
"""

from typing import Any

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.kernels.csr import frozen
from hushrec.kernels.noise.gaussian import reference_draw
from hushrec.kernels.solvers.langevin_pass import LangevinPass
from hushrec.kernels.solvers.prior_transition import settle, table, transition
from hushrec.kernels.solvers.visits import BATCH, LARGEST_RANK, Sides, in_turn, padded_width, visit_all
from hushrec.kernels.tasks import TASKS, in_threads, spans

_VISIT = 10  # a guess: a user's two transitions take as long as this many ratings; only balances threads

__all__ = ["langevin", "reference_langevin"]


def reference_langevin(
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    order: Ints32,
    user_factors: Floats32,
    item_factors: Floats32,
    user_effects: Floats32 | None,
    item_effects: Floats32 | None,
    user_scales: Floats32,
    user_precision: Floats32,
    item_precision: Floats32,
    effect_precision: tuple[float, float],
    rate: float,
    temperature: float,
    low: float,
    high: float,
    epoch: LangevinPass,
    *,
    first_user: int = 0,
    eager: bool = False,
) -> None:
    """Do as ``langevin`` with one thread, in NumPy; ``eager`` updates all items in every interval."""
    size, n_users = user_factors.shape[1] + 1, len(user_factors)
    users = user_factors, user_effects, np.append(user_precision, effect_precision[0])
    catalogue = item_factors, item_effects, np.append(item_precision, effect_precision[1])

    def pay(side: Any, row: int, elapsed: float, z: Floats) -> None:
        factors, effects, precision = side
        decay, spread = transition(precision, rate, temperature, elapsed)
        factors[row] = decay[:-1] * factors[row] + spread[:-1] * z[:-1]
        if effects is not None:
            effects[row] = decay[-1] * effects[row] + spread[-1] * z[-1]

    def pay_item(i: int, time: int) -> None:
        if epoch.paid[i] < time:
            z = reference_draw(size, epoch.words, (i, time, epoch.number))
            pay(catalogue, i, (time - epoch.paid[i]) / epoch.end, z)
            epoch.paid[i] = time

    draws = [reference_draw(2 * size, epoch.words, (first_user + u, 0, epoch.number)) for u in range(n_users)]
    for u, z in enumerate(draws):
        pay(users, u, 0.5, z[:size])
    times, places = epoch.times(order), np.arange(len(order))
    apart = np.flatnonzero(((epoch.visited + places) % BATCH == 0) | (times != np.roll(times, 1)))
    for visits in np.split(places, apart):
        rating = order[visits][user_scales[order[visits]] > 0]
        for i in range(epoch.n_items) if eager and len(visits) else ():
            pay_item(i, times[visits[0]])
        for u, place in in_turn(indptr, rating, size - 1):
            at = indptr[u] + indptr[u + 1] - 1 - place if epoch.number % 2 else place
            i = items[at]
            pay_item(i, times[visits[0]])
            p, q = user_factors[u].copy(), item_factors[i].copy()
            predicted = p @ q
            if user_effects is not None and item_effects is not None:
                predicted += user_effects[u] + item_effects[i]
            if low <= predicted <= high:
                move = rate * 2 * user_scales[u] * (values[at] - predicted)
                user_factors[u] += move * q
                item_factors[i] += move * p
                if user_effects is not None and item_effects is not None:
                    user_effects[u] += move
                    item_effects[i] += move
    for u, z in enumerate(draws):
        pay(users, u, 0.5, z[size:])
    epoch.visited += len(order)
    for i in range(epoch.n_items) if epoch.visited == epoch.visits else ():
        pay_item(i, epoch.end)


def langevin(
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    order: Ints32,
    user_factors: Floats32,
    item_factors: Floats32,
    user_effects: Floats32 | None,
    item_effects: Floats32 | None,
    user_scales: Floats32,
    user_precision: Floats32,
    item_precision: Floats32,
    effect_precision: tuple[float, float],
    rate: float,
    temperature: float,
    low: float,
    high: float,
    epoch: LangevinPass,
    *,
    first_user: int = 0,
    threads: int = 1,
) -> None:
    """Make one pass, or visit one block of users of it, of stochastic gradient Langevin dynamics.

    Liu, Wang & Smola 2015, §5.4, with the prior and the noise in one exact transition. As h goes to 0, the
    passes sample the density ∝ exp(−E / T) with

        E = Σ_u c_u Σ_i (r_ui − r̂_ui)² + ½ Σ_u p_uᵀ Λ_U p_u + ½ Σ_i q_iᵀ Λ_V q_i + ½ λ_U Σ b_u² + ½ λ_V Σ b_i²

    and r̂_ui = clamp(b_u + b_i + ⟨p_u, q_i⟩, low, high). A rating whose prediction lies in [low, high]
    applies, with e = r_ui − r̂_ui and both sides evaluated before it,

        p_u, q_i, b_u, b_i ← p_u + 2 h c_u e q_i, q_i + 2 h c_u e p_u, b_u + 2 h c_u e, b_i + 2 h c_u e,

    and a transition over the time t (a pass takes 1) does v ← e^(−hΛt) v + √(T (1 − e^(−2hΛt)) / Λ) ξ. Users
    and items without data follow the prior exactly.

    Each user of the call gets transitions for the whole pass, visited or not, so a user belongs to one call
    of a pass. The call that brings ``epoch.visited`` to ``epoch.visits`` completes the items; before it,
    their factors belong to different times. All calls of a pass need the same rate, temperature and
    precisions. With one thread, calls of whole batches of ``BATCH`` visits give the bits of a single call.

    Args:
        indptr: where each user's ratings start, then where the last ones end, shape (n_users + 1,).
        items: item of each rating, shape (n_ratings,).
        values: r of each rating, minus what is not fitted here, such as a mean; shape of ``items``.
        order: users to visit, in that order, each at most once.
        user_factors: p, modified, shape (n_users, rank), rank from 1 to 2048.
        item_factors: q, modified, shape (n_items, rank); copied at each call unless ``padded``.
        user_effects: b_u, modified, shape (n_users,); None, as ``item_effects``, for none.
        item_effects: b_i, modified, shape (n_items,).
        user_scales: c_u, shape (n_users,); 0 leaves a user's ratings out entirely.
        user_precision: diagonal of Λ_U, positive, shape (rank,).
        item_precision: diagonal of Λ_V, positive, shape (rank,).
        effect_precision: λ_U and λ_V, positive.
        rate: h.
        temperature: T.
        low: smallest prediction, minus what was subtracted from ``values``.
        high: largest prediction, likewise.
        epoch: the pass; advanced.
        first_user: index of the call's first user among all users of the pass; determines the noise.
        threads: number of threads; with more than one, results vary from run to run.

    Privacy: private.
    """
    (n_users, rank), n_items = user_factors.shape, len(item_factors)
    if threads < 1 or not 1 <= rank <= LARGEST_RANK or not low <= high:
        raise ValueError(f"use 1 thread or more, a rank of 1 to {LARGEST_RANK} and low <= high")
    precisions = *user_precision.tolist(), *item_precision.tolist(), *effect_precision
    if not (rate >= 0 and temperature >= 0 and min(precisions) > 0 and (user_scales >= 0).all()):
        raise ValueError("rate, temperature and scales must not be negative, and precisions must be positive")
    if user_scales.shape != (n_users,) or {user_precision.shape, item_precision.shape} != {(rank,)}:
        raise ValueError("there must be a scale for each user, and a precision for each factor of both sides")
    sides = Sides.of(indptr, items, values, user_factors, item_factors, user_effects, item_effects)
    visited = sides.visited(order)
    if epoch.n_items != n_items or epoch.visited + len(order) > epoch.visits:
        raise ValueError("the epoch must state the number of items, and of users to visit in all its calls")

    law, end = (rate, temperature), epoch.end
    user_table = table(np.append(user_precision, effect_precision[0]), *law, parts=2)
    item_table = table(np.append(item_precision, effect_precision[1]), *law, parts=end)
    item_noise = item_table, epoch.words, np.uint32(epoch.number)
    # Users who are not visited get the same transitions, without ratings.
    gains = np.where(visited, 2 * rate * user_scales, 0).astype(np.float32)
    all_users = np.concatenate([order, np.flatnonzero(~visited)]).astype(np.int32)
    times = np.ones(n_users, np.int32)
    times[: len(order)] = epoch.times(order)
    when = frozen(times, np.int32), epoch.visited
    noise = first_user, user_table, epoch.paid, *item_noise
    diffusion = np.float32(low), np.float32(high), when, noise
    work = np.where(gains > 0, np.diff(indptr), 0)[all_users] + _VISIT
    visit_all(sides, all_users, work, frozen(gains, np.float32), (None, diffusion), threads)
    epoch.visited += len(order)
    if epoch.visited == epoch.visits:
        flat, effects = sides.items
        arguments = end, flat, padded_width(rank), effects, epoch.paid, *item_noise
        in_threads(settle, spans(np.arange(n_items + 1), TASKS * threads), *arguments, threads=threads)
    sides.finish()
