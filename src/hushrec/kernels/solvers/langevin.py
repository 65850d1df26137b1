"""Stochastic gradient Langevin dynamics for matrix factorisation: one pass over the ratings.

How a pass works. Ratings are processed one by one, as in ``hushrec.kernels.solvers.sgd``. Priors and noise
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

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.lib.stride_tricks import as_strided

from hushrec.arrays import Floats, Floats32, Ints, Ints32, Words32
from hushrec.kernels.csr import check_rows, frozen
from hushrec.kernels.noise.gaussian import draw, reference_draw, room
from hushrec.kernels.simd import TILE, aligned, prefetch
from hushrec.kernels.solvers.langevin_pass import LangevinPass
from hushrec.kernels.solvers.prior_transition import pay, pay_item, settle, table, transition
from hushrec.kernels.solvers.sgd import (
    LARGEST_RANK,
    dot,
    in_turn,
    lies_padded,
    padded,
    padded_width,
    step,
    users_at_once,
)

_SOON = 4  # ratings between prefetching an item's factors and using them, over all users in turn
_TASKS = 16  # per thread; the last to finish determines the time
_VISIT = 10  # a user's two transitions take as long as this many ratings

BATCH = 64
"""Visits per batch: users take turns only with others of their batch."""

__all__ = ["BATCH", "langevin", "reference_langevin"]


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
    """What ``langevin`` computes with one thread, in NumPy; ``eager`` updates all items in every interval."""
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
    """One pass, or one block of users of it, of stochastic gradient Langevin dynamics.

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
    check_rows(indptr, items, n_items)
    if indptr.shape != (n_users + 1,) or values.shape != items.shape:
        raise ValueError("there must be a row for each user, and a value for each rating")
    inside = len(order) == 0 or bool(order.min() >= 0 and order.max() < n_users)
    visited = np.bincount(order, minlength=n_users) if inside else np.full(n_users, 2)
    if visited.max(initial=0) > 1:
        raise ValueError("order must hold users, each at most once")
    if epoch.n_items != n_items or epoch.visited + len(order) > epoch.visits:
        raise ValueError("the epoch must state the number of items, and of users to visit in all its calls")
    if (user_effects is None) != (item_effects is None):
        raise ValueError("give effects of both users and items, or of neither")
    b_u = np.zeros(0, np.float32) if user_effects is None else user_effects
    b_i = np.zeros(0, np.float32) if item_effects is None else item_effects
    fits = item_factors.shape == (n_items, rank) and user_scales.shape == (n_users,)
    fits = fits and user_precision.shape == (rank,) and item_precision.shape == (rank,)
    fits = fits and (user_effects is None or (b_u.shape == (n_users,) and b_i.shape == (n_items,)))
    in_place = fits and lies_padded(item_factors)
    changed = (user_factors, b_u, b_i) if in_place else (user_factors, item_factors, b_u, b_i)
    if not fits or any(a.dtype != np.float32 or not a.flags.c_contiguous for a in changed):
        raise ValueError("factors and effects must be contiguous float32 arrays, a row for each user or item")

    width = padded_width(rank)
    rows = item_factors if in_place else padded(n_items, rank)
    if not in_place:
        rows[:] = item_factors
    flat = as_strided(rows, (n_items * width,), rows.strides[1:])
    law, shared = (rate, temperature), (b_i, epoch.paid)
    user_table = table(np.append(user_precision, effect_precision[0]), *law, parts=2)
    item_table = table(np.append(item_precision, effect_precision[1]), *law, parts=epoch.end)
    noise = user_table, item_table, epoch.words, np.uint32(epoch.number)
    # The types of these tell the compiler the number of vectors, and how many to process at once.
    lanes = (0,) * min(4, width // TILE)
    repeats = (0,) * (width // (len(lanes) * TILE))
    known = frozen(indptr, np.int64), frozen(items, np.int32), frozen(values, np.float32)
    # Users who are not visited get the same transitions, without ratings.
    gains = np.where(visited > 0, 2 * rate * user_scales, 0).astype(np.float32)
    everybody = np.concatenate([order, np.flatnonzero(visited == 0)]).astype(np.int32)
    times = np.ones(n_users, np.int32)
    times[: len(order)] = epoch.times(order)
    work = np.where(gains > 0, np.diff(indptr), 0)[everybody] + _VISIT
    tasks = 1 if threads == 1 else _TASKS * threads

    with ThreadPoolExecutor(threads) as pool:

        def share(loop: Callable[..., None], work: Ints, *common: Any) -> None:
            done = np.concatenate([[0], np.cumsum(work)])
            cuts = np.searchsorted(done, np.linspace(0, done[-1], tasks + 1)[1:-1])
            list(pool.map(lambda cut: loop(*cut, *common), pairwise([0, *cuts.tolist(), len(work)])))

        people = frozen(everybody, np.int32), frozen(times, np.int32), frozen(gains, np.float32)
        bounds = np.float32(low), np.float32(high), first_user
        turns = lanes, repeats, users_at_once(rank), epoch.visited
        share(_visit, work, *turns, *known, *people, user_factors, b_u, *bounds, flat, *shared, *noise)
        epoch.visited += len(order)
        if epoch.visited == epoch.visits:
            share(settle, np.ones(n_items, np.int64), epoch.end, flat, width, *shared, *noise[1:])
    if not in_place:
        item_factors[:] = rows


@numba.njit(cache=True, nogil=True)
def _visit(
    begin: int,
    end: int,
    lanes: tuple[int, ...],
    repeats: tuple[int, ...],
    at_once: int,
    earlier: int,
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    order: Ints32,
    times: Ints32,
    gains: Floats32,
    user_factors: Floats32,
    user_effects: Floats32,
    low: float,
    high: float,
    first_user: int,
    item_factors: Floats32,
    item_effects: Floats32,
    paid: Ints32,
    user_table: Floats32,
    item_table: Floats32,
    key: Words32,
    number: int,
) -> None:
    """Visit the users ``order[begin:end]``, ``at_once`` of them in turn."""
    width = len(repeats) * len(lanes) * TILE
    rank = user_factors.shape[1]
    biased = len(user_effects) > 0
    one, way = np.float32(1), -1 if number % np.uint32(2) else 1
    z, of_items = np.empty((at_once, room(2 * rank + 2)), np.float32), aligned(room(rank + 1))
    p, b_u = aligned(at_once * width).reshape((at_once, width)), np.zeros(at_once, np.float32)
    users, at, left = np.empty(at_once, np.uint64), np.empty(at_once, np.int64), np.empty(at_once, np.int64)
    gain = np.empty(at_once, np.float32)
    noise = of_items, item_factors, width, item_effects, paid, item_table, key, number
    present = stay = 0
    while begin < end or present > 0:
        while begin < end and present < at_once:
            # Users take turns only within their batch and interval.
            if present > 0 and ((earlier + begin) % BATCH == 0 or times[begin] != times[begin - 1]):
                break
            s, user = present, np.uint64(order[begin])
            users[s], gain[s] = user, gains[user]
            p[s, :rank] = user_factors[user]
            if biased:
                b_u[s] = user_effects[user]
            draw(z[s], 2 * rank + 2, key, (first_user + np.int64(user), 0, number))
            b_u[s] = pay(p[s], 0, b_u[s], user_table, 1, z[s], 0)
            left[s] = indptr[user + np.uint64(1)] - indptr[user] if gain[s] > 0 else 0
            at[s] = indptr[user] if way == 1 else indptr[user] + left[s] - 1
            # Not in the loop below: rarely executed calls would make that loop slow.
            for place in range(indptr[user], indptr[user] + left[s]):
                item = np.uint64(items[np.uint64(place)])
                if paid[item] < times[begin]:
                    pay_item(np.int64(item), times[begin], *noise)
            present += 1
            begin += 1
        run = left[:present].min()
        for turn in range(run):
            for s in range(np.uint64(present)):
                soon = at[s] + way * min(turn + _SOON // at_once, left[s] - 1)
                later = np.int64(items[np.uint64(soon)]) * width
                for line in range(0, width, TILE):
                    prefetch(item_factors, later + line)
                here = np.uint64(at[s] + way * turn)
                item = np.uint64(items[here])
                row = np.int64(item) * width
                predicted = dot(p[s], item_factors, row, width, lanes)
                if biased:
                    predicted += b_u[s] + item_effects[item]
                # No branch here: it would be unpredictable for the processor.
                inside = np.float32(min(max(predicted, low), high) == predicted)
                move = gain[s] * inside * (values[here] - predicted)
                step(p[s], item_factors, row, width, lanes, one, one, move)
                if biased:
                    b_u[s] += move
                    item_effects[item] += move
        stay = 0
        for s in range(present):
            if left[s] == run:
                b_u[s] = pay(p[s], 0, b_u[s], user_table, 1, z[s], rank + 1)
                user_factors[users[s]] = p[s, :rank]
                if biased:
                    user_effects[users[s]] = b_u[s]
            else:
                users[stay], at[stay], left[stay] = users[s], at[s] + way * run, left[s] - run
                gain[stay], b_u[stay] = gain[s], b_u[s]
                p[stay], z[stay] = p[s], z[s]
                stay += 1
        present = stay
