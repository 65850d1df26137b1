"""Stochastic gradient descent for matrix factorisation: one pass over the ratings, user by user.

A user's ratings are processed one after the other, so that their factors stay in the first-level cache. At
small ranks, where a rating is a chain of dependent operations, a few users take turns, one rating each, so
that the work of one fills the waits of another. Each row of items' factors starts at a cache line and is
padded with coordinates that are and stay 0; other arrays are copied into this layout and back. The row width
is a compile-time constant of the loop. Data that will be needed soon are prefetched.

``dot`` and ``step`` are vector instructions by hand. As plain loops of numba, which LLVM makes into vectors
half as wide, a pass has 0.7 of this speed at rank 8, 0.75 at 16, 1.05 at 32, 0.9 to 1 at 64, 0.73 at 128 and
0.55 at 256 (one core of a Xeon with AVX-512).

Several threads share the items' factors and effects without locks (Hogwild, Recht et al. 2011): now and then
an update is lost, and runs differ. With one thread, results are reproducible bit for bit. The cost grows as
ratings × rank.

Privacy: private, as the arrays that are given.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numpy.lib.stride_tricks import as_strided

from hushrec.arrays import Floats32, Ints, Ints32
from hushrec.kernels.compiled import TASKS, compiled, in_threads, spans
from hushrec.kernels.csr import check_rows, frozen
from hushrec.models.factorization.kernels.simd import (
    TILE,
    aligned,
    cgutils,
    data_of,
    load,
    plus,
    prefetch,
    spread,
    store,
)

LARGEST_RANK = 2048
"""The largest that Liu, Wang & Smola 2015 train."""
_GROUP = 4  # vectors that are processed in parallel; chosen by hand
_SOON = 4  # ratings between prefetching an item's factors and using them, over users in turn; by hand
_intrinsic: Any = extending.intrinsic  # its stub counts the typing context among the arguments


class Sides(NamedTuple):
    """Checked arguments of a pass, in the layout of the loop.

    Attributes:
        ratings: ``indptr``, items and values.
        users: their factors and effects.
        items: their factors, row after row of ``padded_width``, and effects.
        copied: what receives the items' factors at the end, unless they lie ``padded`` where they are.
    """

    ratings: tuple[Ints, Ints32, Floats32]
    users: tuple[Floats32, Floats32]
    items: tuple[Floats32, Floats32]
    copied: Floats32 | None

    @classmethod
    def of(
        cls,
        indptr: Ints,
        items: Ints32,
        values: Floats32,
        user_factors: Floats32,
        item_factors: Floats32,
        user_effects: Floats32 | None,
        item_effects: Floats32 | None,
    ) -> "Sides":
        """Check the ratings, the factors and the effects."""
        (n_users, rank), n_items = user_factors.shape, len(item_factors)
        check_rows(indptr, items, n_items)
        if indptr.shape != (n_users + 1,) or values.shape != items.shape:
            raise ValueError("there must be a row for each user, and a value for each rating")
        if (user_effects is None) != (item_effects is None):
            raise ValueError("give effects of both users and items, or of neither")
        b_u = np.empty(0, np.float32) if user_effects is None else user_effects
        b_i = np.empty(0, np.float32) if item_effects is None else item_effects
        sizes = (0, 0) if user_effects is None else (n_users, n_items)
        fits = item_factors.shape == (n_items, rank) and (b_u.shape, b_i.shape) == ((sizes[0],), (sizes[1],))
        in_place = fits and _lies_padded(item_factors)
        changed = (user_factors, b_u, b_i) if in_place else (user_factors, item_factors, b_u, b_i)
        if not fits or any(a.dtype != np.float32 or not a.flags.c_contiguous for a in changed):
            raise ValueError(
                "factors and effects must be contiguous float32 arrays, a row for each user or item"
            )
        rows = item_factors if in_place else padded(n_items, rank)
        if not in_place:
            rows[:] = item_factors
        flat = as_strided(rows, (n_items * padded_width(rank),), rows.strides[1:])
        ratings = frozen(indptr, np.int64), frozen(items, np.int32), frozen(values, np.float32)
        return cls(ratings, (user_factors, b_u), (flat, b_i), None if in_place else item_factors)

    def check(self, order: Ints32) -> None:
        """Refuse an ``order`` that does not hold users, each at most once."""
        n_users = len(self.users[0])
        inside = len(order) == 0 or bool(order.min() >= 0 and order.max() < n_users)
        visits = np.bincount(order, minlength=n_users) if inside else np.full(n_users, 2)
        if visits.max(initial=0) > 1:
            raise ValueError("order must hold users, each at most once")

    def finish(self) -> None:
        """Copy the items' factors back."""
        if self.copied is not None:
            self.copied[:] = self.items[0].reshape(len(self.copied), -1)[:, : self.copied.shape[1]]


def visit_all(
    sides: Sides,
    order: Ints32,
    keep_users: Floats32,
    keep_items: Floats32,
    rate: float,
    limit: float,
    threads: int,
) -> None:
    """Visit the users in ``order`` by the steps of ``descend``, as ``_visit`` documents its arguments."""
    rank = sides.users[0].shape[1]
    width = padded_width(rank)
    # The types of these tell the compiler the number of vectors, and how many to process at once.
    lanes = (0,) * _group(rank)
    repeats = (0,) * (width // (len(lanes) * TILE))
    common = lanes, repeats, users_at_once(rank), *sides.ratings, frozen(order, np.int32)
    # One thread takes all users in one span: cut elsewhere, other users would take turns, with other bits.
    work = np.cumsum(np.diff(sides.ratings[0])[order])
    tasks = spans(np.concatenate([[0], work]), 1 if threads == 1 else TASKS * threads)
    law = keep_users, keep_items, np.float32(rate), np.float32(limit)
    in_threads(_visit, tasks, *common, *sides.users, *sides.items, *law, threads=threads)


def padded(n_items: int, rank: int) -> Floats32:
    """Return zeros of shape (n_items, rank) that a pass modifies in place, without a copy."""
    width = padded_width(rank)
    # Run as Python: NumPy asks the system for large pages, numba does not.
    rows: Floats32 = aligned.py_func(n_items * width).reshape(n_items, width)
    return rows[:, :rank]


def padded_width(rank: int) -> int:
    """Return the offset from one row of ``padded`` to the next: 16, 32 or a multiple of 64."""
    group = _group(rank)
    return -(-rank // (group * TILE)) * group * TILE


def _group(rank: int) -> int:
    return min(_GROUP, 1 << (-(-rank // TILE) - 1).bit_length())


def _lies_padded(factors: Floats32) -> bool:
    """Return whether ``padded`` created the array, recognised by the shape of its base array."""
    owner, width = factors.base, padded_width(factors.shape[1])
    return (
        isinstance(owner, np.ndarray)
        and owner.shape == (len(factors) * width + TILE,)
        and owner.dtype == factors.dtype == np.float32
        and factors.strides == (4 * width, 4)
        and factors.ctypes.data % 64 == 0
    )


def users_at_once(rank: int) -> int:
    """Return the number of users that take turns: at large ranks one rating is enough work."""
    return 4 if rank <= TILE else 2 if rank <= _GROUP * TILE else 1


def in_turn(indptr: Ints, order: Ints32, rank: int) -> Iterator[tuple[int, int]]:
    """Yield user and position of each rating, in one thread's order at this rank. Privacy: private."""
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


@_intrinsic  # type: ignore[untyped-decorator]
def dot(_: Any, p: Any, q: Any, at: Any, width: Any, lanes: Any) -> Any:
    """Return ``p[:width] @ q[at : at + width]``."""

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
        # Partial sums are added pairwise: a fixed order, so the result has the same bits every time.
        while len(totals) > 1:
            totals = [builder.fadd(a, b) for a, b in zip(totals[::2], totals[1::2], strict=True)]
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), totals[0].type])
        add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{TILE}f32")
        return builder.call(add, [ir.FloatType()(-0.0), totals[0]], fastmath=("reassoc",))

    i64 = numba.types.int64
    return numba.types.float32(p, q, i64, i64, lanes), generate


@_intrinsic  # type: ignore[untyped-decorator]
def step(_: Any, p: Any, q: Any, at: Any, width: Any, lanes: Any, keep_p: Any, keep_q: Any, step: Any) -> Any:
    """Do ``p, q = keep_p · p + step · q, keep_q · q + step · p``, where q is ``q[at : at + width]``."""

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


@compiled(nogil=True)
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
    user_effects: Floats32,
    item_factors: Floats32,
    item_effects: Floats32,
    keep_users: Floats32,
    keep_items: Floats32,
    rate: np.float32,
    limit: np.float32,
) -> None:
    """Visit the users ``order[begin:end]``, ``at_once`` of them in turn, by the steps of ``descend``.

    Args:
        keep_users: the part of each user that a step keeps, 1 - γ λ_u.
        keep_items: the part of each item, 1 - γ λ_i.
        rate: γ.
        limit: largest absolute error.
    """
    width = len(repeats) * len(lanes) * TILE
    rank = user_factors.shape[1]
    biased = len(user_effects) > 0
    users, at, remaining = (
        np.empty(at_once, np.uint64),
        np.empty(at_once, np.int64),
        np.empty(at_once, np.int64),
    )
    p, b_u = aligned(at_once * width).reshape((at_once, width)), np.zeros(at_once, np.float32)
    keep = np.empty(at_once, np.float32)
    present = 0
    while begin < end or present > 0:
        # Users take the free seats; their factors stay in p, in cache, until all their ratings are done.
        while begin < end and present < at_once:
            s, user = present, np.uint64(order[begin])
            users[s], at[s], remaining[s] = user, indptr[user], indptr[user + np.uint64(1)] - indptr[user]
            p[s, :rank] = user_factors[user]
            if biased:
                b_u[s] = user_effects[user]
            keep[s] = keep_users[user]
            present += 1
            begin += 1
        # As many turns as everyone present has ratings left: no test inside the loop.
        run = remaining[:present].min()
        for turn in range(run):
            for s in range(np.uint64(present)):
                # The item that this user needs a few ratings later is fetched while the others compute.
                soon = at[s] + min(turn + _SOON // at_once, remaining[s] - 1)
                later = np.int64(items[np.uint64(soon)]) * width
                for line in range(0, width, TILE):
                    prefetch(item_factors, later + line)
                here = np.uint64(at[s] + turn)
                item = np.uint64(items[here])
                row = np.int64(item) * width
                # e = clamp(r_ui − b_u − b_i − ⟨p_u, q_i⟩, ±limit), eq. (2) with the clamp of Algorithm 4.
                error = values[here] - dot(p[s], item_factors, row, width, lanes)
                error = error - (b_u[s] + item_effects[item]) if biased else error
                move, keep_p, keep_q = rate * min(max(error, -limit), limit), keep[s], keep_items[item]
                # p_u, q_i ← (1 − γ λ_u) p_u + γ e q_i, (1 − γ λ_i) q_i + γ e p_u, by the values before.
                step(p[s], item_factors, row, width, lanes, keep_p, keep_q, move)
                if biased:
                    b_u[s] = keep_p * b_u[s] + move
                    item_effects[item] = keep_q * item_effects[item] + move
        # Whoever has ratings left moves to the front seats; the others' factors are written back.
        stay = 0
        for s in range(present):
            if remaining[s] > run:
                users[stay], at[stay], remaining[stay] = users[s], at[s] + run, remaining[s] - run
                p[stay], b_u[stay], keep[stay] = p[s], b_u[s], keep[s]
                stay += 1
                continue
            user_factors[users[s]] = p[s, :rank]
            if biased:
                user_effects[users[s]] = b_u[s]
        present = stay


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
