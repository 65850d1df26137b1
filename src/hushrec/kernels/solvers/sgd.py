"""Stochastic gradient descent for matrix factorisation: one pass over the ratings.

How a pass works. A user's ratings are processed one after the other, so that their factors stay in the
first-level cache. At small ranks, where a rating is a chain of dependent operations, a few users take turns,
one rating each, so that the work of one fills the waits of another. Each row of items' factors starts at a
cache line and is padded with coordinates that are and stay 0; other arrays are copied into this layout and
back. The row width is a compile-time constant of the loop. Data that will be needed soon are prefetched.

Several threads share the items' factors and effects without locks (Hogwild, Recht et al. 2011): now and then
an update is lost, and runs differ. With one thread, results are reproducible bit for bit. The cost grows as
ratings × rank.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numpy.lib.stride_tricks import as_strided

from hushrec.arrays import Floats32, Ints, Ints32
from hushrec.kernels.csr import check_rows, frozen
from hushrec.kernels.simd import TILE, aligned, cgutils, data_of, load, plus, prefetch, spread, store

LARGEST_RANK = 2048
_GROUP = 4  # vectors that are processed side by side
_SOON = 4  # ratings between prefetching an item's factors and using them, over all users in turn
_TASKS = 16  # per thread; the last to finish determines the time
_intrinsic: Any = extending.intrinsic  # its stub counts the typing context among the arguments

__all__ = [
    "LARGEST_RANK",
    "descend",
    "dot",
    "in_turn",
    "lies_padded",
    "padded",
    "padded_width",
    "reference_descend",
    "step",
    "users_at_once",
]


def padded(n_items: int, rank: int) -> Floats32:
    """Zeros of shape (n_items, rank) that ``descend`` modifies in place, without a copy."""
    width = padded_width(rank)
    # Run as Python: NumPy asks the system for large pages, numba does not.
    return aligned.py_func(n_items * width).reshape(n_items, width)[:, :rank]


def padded_width(rank: int) -> int:
    """Offset from one row of ``padded`` to the next: 16, 32 or a multiple of 64 numbers."""
    group = _group(rank)
    return -(-rank // (group * TILE)) * group * TILE


def _group(rank: int) -> int:
    return min(_GROUP, 1 << (-(-rank // TILE) - 1).bit_length())


def users_at_once(rank: int) -> int:
    """Number of users that take turns: at large ranks one rating is enough work."""
    return 4 if rank <= TILE else 2 if rank <= _GROUP * TILE else 1


def in_turn(indptr: Ints, order: Ints32, rank: int) -> Iterator[tuple[int, int]]:
    """User and position of each rating, in the order of one thread at this rank. Privacy: private."""
    users = iter([u for u in order if indptr[u] < indptr[u + 1]])
    present: list[list[tuple[int, int]]] = []
    while True:
        joining = islice(users, users_at_once(rank) - len(present))
        present += [[(u, at) for at in range(indptr[u], indptr[u + 1])] for u in joining]
        if not present:
            return
        run = min(map(len, present))
        yield from (ratings[turn] for turn in range(run) for ratings in present)
        present = [ratings[run:] for ratings in present if len(ratings) > run]


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
    """The same as ``descend`` with one thread, in a few lines of NumPy."""
    for u, at in in_turn(indptr, order, user_factors.shape[1]):
        i, p, q = items[at], user_factors[u].copy(), item_factors[items[at]].copy()
        error = values[at] - p @ q
        if user_effects is not None and item_effects is not None:
            error -= user_effects[u] + item_effects[i]
        error = np.clip(error, -limit, limit)
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
    """One pass of stochastic gradient descent over the ratings of the users in ``order``.

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
    check_rows(indptr, items, n_items)
    if indptr.shape != (n_users + 1,) or values.shape != items.shape:
        raise ValueError("there must be a row for each user, and a value for each rating")
    if not _distinct(order, n_users):
        raise ValueError("order must hold users, each at most once")
    if (user_effects is None) != (item_effects is None):
        raise ValueError("give effects of both users and items, or of neither")
    b_u = np.empty(0, np.float32) if user_effects is None else user_effects
    b_i = np.empty(0, np.float32) if item_effects is None else item_effects
    fits = item_factors.shape == (n_items, rank) and user_reg.shape == (n_users,)
    fits = fits and item_reg.shape == (n_items,)
    fits = fits and (user_effects is None or (b_u.shape == (n_users,) and b_i.shape == (n_items,)))
    in_place = fits and lies_padded(item_factors)
    changed = (user_factors, b_u, b_i) if in_place else (user_factors, item_factors, b_u, b_i)
    if not fits or any(a.dtype != np.float32 or not a.flags.c_contiguous for a in changed):
        raise ValueError("factors and effects must be contiguous float32 arrays, a row for each user or item")

    group, width = _group(rank), padded_width(rank)
    rows = item_factors if in_place else padded(n_items, rank)
    if not in_place:
        rows[:] = item_factors
    known = frozen(indptr, np.int64), frozen(items, np.int32), frozen(values, np.float32)
    regs = frozen(user_reg, np.float32), frozen(item_reg, np.float32)
    flat = as_strided(rows, (n_items * width,), rows.strides[1:])
    shared = user_factors, flat, b_u, b_i, *regs, np.float32(rate), np.float32(limit)
    order = frozen(order, np.int32)
    # The types of these tell the compiler the number of vectors.
    lanes, repeats = (0,) * group, (0,) * (width // (group * TILE))

    def visit(share: tuple[int, int]) -> None:
        _visit(*share, lanes, repeats, users_at_once(rank), *known, order, *shared)  # type: ignore[arg-type]

    if threads == 1:
        visit((0, len(order)))
    else:
        work = np.concatenate([[0], np.cumsum(indptr[order + 1] - indptr[order])])
        cuts = np.searchsorted(work, np.linspace(0, work[-1], _TASKS * threads + 1)[1:-1])
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(visit, pairwise([0, *cuts.tolist(), len(order)])))
    if not in_place:
        item_factors[:] = rows


def lies_padded(factors: Floats32) -> bool:
    """Whether ``padded`` created the array, recognised by the shape of its base array."""
    owner, width = factors.base, padded_width(factors.shape[1])
    return (
        isinstance(owner, np.ndarray)
        and owner.shape == (len(factors) * width + TILE,)
        and owner.dtype == factors.dtype == np.float32
        and factors.strides == (4 * width, 4)
        and factors.ctypes.data % 64 == 0
    )


def _distinct(order: Ints32, n_users: int) -> bool:
    inside = len(order) == 0 or bool(order.min() >= 0 and order.max() < n_users)
    return inside and int(np.bincount(order, minlength=1).max()) <= 1


@_intrinsic  # type: ignore[untyped-decorator]
def dot(_: Any, p: Any, q: Any, at: Any, width: Any, lanes: Any) -> Any:
    """``p[:width] @ q[at : at + width]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = (data_of(context, builder, signature.args[a], arguments[a]) for a in (0, 1))
        at, width = arguments[2:4]
        n = len(signature.args[4])
        sums = [cgutils.alloca_once_value(builder, spread(builder, ir.FloatType()(0.0))) for _ in range(n)]
        with cgutils.for_range_slice(builder, width.type(0), width, width.type(n * TILE)) as (start, _):
            for v, cell in enumerate(sums):
                here = builder.add(start, width.type(v * TILE))
                x, y = load(builder, left, here), load(builder, right, builder.add(at, here))
                builder.store(plus(builder, builder.load(cell), x, y), cell)
        totals = [builder.load(cell) for cell in sums]
        while len(totals) > 1:
            totals = [builder.fadd(a, b) for a, b in zip(totals[::2], totals[1::2], strict=True)]
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), totals[0].type])
        add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{TILE}f32")
        return builder.call(add, [ir.FloatType()(-0.0), totals[0]], fastmath=("reassoc",))

    i64 = numba.types.int64
    return numba.types.float32(p, q, i64, i64, lanes), generate


@_intrinsic  # type: ignore[untyped-decorator]
def step(_: Any, p: Any, q: Any, at: Any, width: Any, lanes: Any, keep_p: Any, keep_q: Any, step: Any) -> Any:
    """``p, q = keep_p · p + step · q, keep_q · q + step · p``, where q is ``q[at : at + width]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = (data_of(context, builder, signature.args[a], arguments[a]) for a in (0, 1))
        at, width = arguments[2:4]
        keep_p, keep_q, step = (spread(builder, number) for number in arguments[5:8])
        n = len(signature.args[4])
        with cgutils.for_range_slice(builder, width.type(0), width, width.type(n * TILE)) as (start, _):
            for v in range(n):
                here = builder.add(start, width.type(v * TILE))
                there = builder.add(at, here)
                x, y = load(builder, left, here), load(builder, right, there)
                store(builder, plus(builder, builder.fmul(keep_p, x), step, y), left, here)
                store(builder, plus(builder, builder.fmul(keep_q, y), step, x), right, there)
        return context.get_dummy_value()

    i64, f32 = numba.types.int64, numba.types.float32
    return numba.types.void(p, q, i64, i64, lanes, f32, f32, f32), generate


@numba.njit(cache=True, nogil=True)
def _visit(
    begin: int,
    end: int,
    lanes: tuple[int, ...],
    repeats: tuple[int, ...],
    at_once: int,
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    order: Ints32,
    user_factors: Floats32,
    item_factors: Floats32,
    user_effects: Floats32,
    item_effects: Floats32,
    user_reg: Floats32,
    item_reg: Floats32,
    rate: float,
    limit: float,
) -> None:
    """Visit the users ``order[begin:end]``, ``at_once`` of them in turn."""
    width = len(repeats) * len(lanes) * TILE
    rank = user_factors.shape[1]
    biased = len(user_effects) > 0
    one = np.float32(1)
    users, at, stop = np.empty(at_once, np.uint64), np.empty(at_once, np.uint64), np.empty(at_once, np.uint64)
    p = aligned(at_once * width).reshape((at_once, width))
    b_u, keep_p = np.zeros(at_once, np.float32), np.empty(at_once, np.float32)
    present, soon = 0, np.uint64(_SOON // at_once)
    while begin < end or present > 0:
        while begin < end and present < at_once:
            user = np.uint64(order[begin])
            begin += 1
            if indptr[user] < indptr[user + np.uint64(1)]:
                users[present], at[present], stop[present] = user, indptr[user], indptr[user + np.uint64(1)]
                p[present, :rank] = user_factors[user]
                keep_p[present] = one - rate * user_reg[user]
                if biased:
                    b_u[present] = user_effects[user]
                present += 1
        if present == 0:
            break
        run = (stop[:present] - at[:present]).min()
        for turn in range(run):
            for u in range(np.uint64(present)):
                here = at[u] + turn
                later = np.int64(items[min(here + soon, stop[u] - np.uint64(1))]) * width
                for line in range(0, width, TILE):
                    prefetch(item_factors, later + line)
                item = np.uint64(items[here])
                row = np.int64(item) * width
                error = values[here] - dot(p[u], item_factors, row, width, lanes)
                if biased:
                    error -= b_u[u] + item_effects[item]
                move = rate * min(max(error, -limit), limit)
                keep_q = one - rate * item_reg[item]
                step(p[u], item_factors, row, width, lanes, keep_p[u], keep_q, move)
                if biased:
                    b_u[u] = keep_p[u] * b_u[u] + move
                    item_effects[item] = keep_q * item_effects[item] + move
        stay = 0
        for u in range(present):
            if at[u] + run == stop[u]:
                user_factors[users[u]] = p[u, :rank]
                if biased:
                    user_effects[users[u]] = b_u[u]
            else:
                users[stay], at[stay], stop[stay] = users[u], at[u] + run, stop[u]
                p[stay], keep_p[stay], b_u[stay] = p[u], keep_p[u], b_u[u]
                stay += 1
        present = stay
