"""Many ridge regressions at once: the half-step of alternating least squares.

How a row is solved. The factors of its ratings are gathered, one block at a time, and the upper triangle
of their Gram matrix is summed tile by tile in registers: memory is updated once per block, which also keeps
single precision accurate over hundreds of thousands of ratings. The same tiles then serve the Cholesky
factorisation A = Uᵀ U. Ranks are padded to a multiple of 16 with coordinates that are 0.

Each row is processed by one thread in a fixed order, so threads and tasks do not change a bit. The cost grows
as ratings × rank² + rows × rank³.

Plain loops of numba reach 0.12 to 0.16 of the speed of these tiles, and products and solutions by BLAS and
LAPACK 0.3 to 0.4 of it, at ranks of 16 to 128 and 200 ratings a row.

Privacy: private, as the arrays that are given.
"""

from itertools import pairwise

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.kernels.compiled import compiled, in_threads, spans
from hushrec.kernels.csr import check_rows, frozen
from hushrec.models.factorization.kernels.simd import (
    TILE,
    aligned,
    copy_scaled,
    factorise,
    multiply,
    multiply_diagonal,
    substitute,
)

LARGEST_RANK = 128  # factors
_BLOCK = 128  # factors that are gathered at once; chosen by hand, as is the rank
_TASKS = 32  # per thread, chosen by hand; the last to finish determines the time
# Single precision rounds at 2^-24; chosen by hand so that what rounding leaves of a singular matrix is below.
_RIDGE = 2.0**-17  # smallest ridge, relative to the mean eigenvalue
_PIVOT = 2.0**-20  # smallest pivot, relative to its diagonal cell


def reference_solve_rows(
    indptr: Ints,
    columns: Ints32,
    values: Floats32,
    factors: Floats32,
    reg: Floats | Floats32,
    weights: Floats32 | None = None,
) -> Floats:
    """Solve as ``solve_rows`` does, in a few lines of NumPy and double precision."""
    rank = factors.shape[1]
    w = np.ones(len(values)) if weights is None else weights.astype(np.float64)
    out = np.zeros((len(reg), rank))
    for row, (start, stop) in enumerate(pairwise(indptr)):
        x = factors[columns[start:stop]].astype(np.float64)
        wx = w[start:stop, None] * x
        gram = x.T @ wx
        ridge = max(float(reg[row]), _RIDGE * np.trace(gram) / rank)
        if ridge > 0:
            out[row] = np.linalg.solve(gram + ridge * np.eye(rank), wx.T @ values[start:stop])
    return out


def solve_rows(
    indptr: Ints,
    columns: Ints32,
    values: Floats32,
    factors: Floats32,
    reg: Floats | Floats32,
    out: Floats32,
    *,
    weights: Floats32 | None = None,
    threads: int = 2,
) -> None:
    """Solve each row's ridge regression of its ratings on the factors of its columns.

    Koren, Bell & Volinsky 2009, "Learning algorithms"; Zhou et al. 2008, §3.1, with λ_r = λ n_r:

        out_r = (Σ_j w_rj x_j x_jᵀ + λ_r I)⁻¹ Σ_j w_rj v_rj x_j.

    A row without ratings gets zeros. A λ_r below 2^-17 of the mean eigenvalue of the first sum is raised to
    it: single precision cannot distinguish such a system from a singular one. Memory in addition to the
    arguments: under 1 MB per thread, and a copy of the factors if the rank is not a multiple of 16.

    Args:
        indptr: where each row's ratings start, then where the last ones end, shape (n_rows + 1,).
        columns: row of ``factors`` for each rating, shape (n_ratings,).
        values: v of each rating, shape of ``columns``.
        factors: x of each column, shape (n_columns, rank), rank from 1 to 128.
        reg: λ_r of each row, at least 0, shape (n_rows,).
        out: receives the result, shape (n_rows, rank).
        weights: w of each rating, at least 0, shape of ``columns``; None for 1 everywhere.
        threads: number of threads; the result does not depend on it.

    Privacy: private.
    """
    n_rows, rank = len(indptr) - 1, factors.shape[1]
    if threads < 1 or not 1 <= rank <= LARGEST_RANK:
        raise ValueError(f"use 1 thread or more and a rank of 1 to {LARGEST_RANK}")
    check_rows(indptr, columns, len(factors))
    if values.shape != columns.shape or reg.shape != (n_rows,) or not (reg >= 0).all():
        raise ValueError("there must be a value for each rating, and for each row a reg of at least 0")
    if out.shape != (n_rows, rank) or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError("out must be a contiguous float32 array with a row for each row of ratings")
    roots = np.empty(0, np.float32)
    if weights is not None:
        if weights.shape != columns.shape or not (weights >= 0).all():
            raise ValueError("there must be a weight of at least 0 for each rating")
        # w x xᵀ = (√w x)(√w x)ᵀ and w v x = (√w v)(√w x).
        roots = np.sqrt(weights).astype(np.float32)
        values = values * roots
    rows = frozen(indptr, np.int64), frozen(columns, np.int32), frozen(values, np.float32)
    stride = -(-rank // TILE) * TILE
    padded = factors if stride == rank else np.pad(factors, ((0, 0), (0, stride - rank)))
    flat = frozen(padded, np.float32).reshape(-1)
    common = *rows, frozen(roots, np.float32), flat, stride, frozen(reg.astype(np.float32), np.float32), out
    # The cost of a row is about that of `rank` more ratings than it has.
    tasks = spans(indptr + rank * np.arange(n_rows + 1), _TASKS * threads)
    in_threads(_solve, tasks, *common, threads=threads)


@compiled(nogil=True, fastmath=True)
def _solve(
    begin: int,
    end: int,
    indptr: Ints,
    columns: Ints32,
    values: Floats32,
    roots: Floats32,
    factors: Floats32,
    stride: int,
    reg: Floats32,
    out: Floats32,
) -> None:
    """Solve the rows ``begin`` to ``end``; ratings and factors are scaled by the roots of their weights."""
    rank = out.shape[1]
    panel, gram = aligned(_BLOCK * stride), aligned(stride * stride)
    rhs, least, inverse = aligned(stride), aligned(stride), aligned(stride)
    for row in range(begin, end):
        start, stop = indptr[row], indptr[row + 1]
        if start == stop:
            out[row] = 0
            continue
        gram[:] = 0
        rhs[:] = 0
        # Σ_j w_j x_j x_jᵀ and Σ_j w_j v_j x_j, a block of ratings at a time; √w is in x and in v already.
        for first in range(start, stop, _BLOCK):
            count = min(stop - first, _BLOCK)
            for b in range(count):
                source = np.int64(columns[np.uint64(first + b)]) * stride
                root = roots[np.uint64(first + b)] if len(roots) else np.float32(1)
                for f in range(0, stride, TILE):
                    copy_scaled(panel, b * stride + f, factors, source + f, root)
            for i in range(0, stride, TILE):
                multiply_diagonal(gram, panel, stride, count, i, np.float32(1), rhs, values, first)
                for j in range(i + TILE, stride, TILE):
                    multiply(gram, panel, stride, count, i, j, np.float32(1))
        trace = np.float32(0)
        for f in range(rank):
            trace += gram[f * stride + f]
        # λ_r, raised to what single precision can still tell from a singular matrix.
        ridge = max(reg[row], np.float32(_RIDGE) * trace / np.float32(rank))
        if ridge == 0:
            out[row] = 0
            continue
        for f in range(rank):
            gram[f * stride + f] += ridge
            least[f] = np.float32(_PIVOT) * gram[f * stride + f]
        # The padding gets pivots of 1, so that it solves to 0.
        for f in range(rank, stride):
            gram[f * stride + f] = 1
        # (Uᵀ U) out = Σ w v x: forward by Uᵀ inside the factorisation, then back by U.
        _cholesky(gram, stride, least, inverse, rhs)
        _substitute_back(gram, stride, inverse, rhs)
        out[row] = rhs[:rank]


@compiled(nogil=True, inline="always")
def _cholesky(matrix: Floats32, stride: int, least: Floats32, inverse: Floats32, rhs: Floats32) -> None:
    """Replace the upper triangle of A by U with Uᵀ U = A, and b by U⁻ᵀ b, tile row by tile row."""
    for i in range(0, stride, TILE):
        # A_ii − Σ_{k<i} U_kiᵀ U_ki and the same for b; its factorisation; then the tiles right of it.
        multiply_diagonal(matrix, matrix, stride, i, i, np.float32(-1), rhs, rhs, 0)
        factorise(matrix, stride, i, least, inverse, rhs)
        for j in range(i + TILE, stride, TILE):
            multiply(matrix, matrix, stride, i, i, j, np.float32(-1))
            substitute(matrix, stride, i, j, inverse)


@compiled(nogil=True, fastmath=True)
def _substitute_back(upper: Floats32, stride: int, inverse: Floats32, x: Floats32) -> None:
    """Replace b by U⁻¹ b."""
    n = np.uint64(stride)
    for back in range(n):
        r = n - np.uint64(1) - back
        # x_r = (b_r − Σ_{s > r} U_rs x_s)/U_rr.
        total = x[r]
        for s in range(r + np.uint64(1), n):
            total -= upper[r * n + s] * x[s]
        x[r] = total * inverse[r]
