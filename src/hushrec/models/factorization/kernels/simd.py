"""Tiles of 16 × 16 single-precision numbers, held in vector registers during an operation.

A matrix lies in a flat array, row after row, ``stride`` numbers per row, a multiple of 16. A tile begins at a
row and a column that are multiples of 16. Each operation reads its rows as sixteen vectors, works on them in
registers, and writes them back; LLVM does not vectorise loops over single numbers this way on its own.

Privacy: private, as the arrays that are given.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core import cgutils as untyped_cgutils

from hushrec.arrays import Floats32
from hushrec.kernels.compiled import compiled

TILE = 16
"""Single-precision numbers in a cache line of 64 bytes, and in a 512-bit register."""
cgutils: Any = untyped_cgutils
_intrinsic: Any = extending.intrinsic  # its stub counts the typing context among the arguments
_FLOAT, _INT = ir.FloatType(), ir.IntType(64)
_ROW = ir.VectorType(_FLOAT, TILE)
_FAST = ("contract",)  # a product and a sum may be rounded together


@compiled(nogil=True)
def aligned(size: int) -> Floats32:
    """Return zeros that start at a cache line: vectors that straddle two cache lines are slower."""
    room = np.zeros(size + TILE, np.float32)
    # As many numbers of 4 bytes as are missing to the next multiple of 64.
    return room[-np.int64(room.ctypes.data) % 64 // 4 :][:size]


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Point to the first number of an array."""
    return context.make_array(kind)(context, builder, array).data


def load(builder: Any, data: Any, at: Any) -> Any:
    """Load the sixteen numbers from ``data[at]`` on."""
    # Aligned to a single number: without saying so, LLVM would take for granted that rows start at vectors.
    return builder.load(builder.bitcast(builder.gep(data, [at]), _ROW.as_pointer()), align=4)


def store(builder: Any, row: Any, data: Any, at: Any) -> None:
    """Write sixteen numbers from ``data[at]`` on."""
    builder.store(row, builder.bitcast(builder.gep(data, [at]), _ROW.as_pointer()), align=4)


def spread(builder: Any, number: Any) -> Any:
    """Put ``number`` in every lane of a vector."""
    one = builder.insert_element(ir.Constant(_ROW, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), TILE), [0] * TILE))


def plus(builder: Any, row: Any, a: Any, b: Any) -> Any:
    return builder.fadd(row, builder.fmul(a, b, flags=_FAST), flags=_FAST)


def _minus(builder: Any, row: Any, a: Any, b: Any) -> Any:
    return builder.fsub(row, builder.fmul(a, b, flags=_FAST), flags=_FAST)


def _rows(builder: Any, first: Any, stride: Any) -> list[Any]:
    """Return the offset of each of the sixteen rows of a tile."""
    return [builder.add(first, builder.mul(stride, _INT(r))) for r in range(TILE)]


def _sums(builder: Any, count: Any, step: Callable[[Any], tuple[list[Any], Any]], n: int) -> list[Any]:
    """Sum x_r row over b from 0 to ``count``, for the ``n`` numbers x_r and the vector of ``step(b)``."""
    cells = [cgutils.alloca_once(builder, _ROW) for _ in range(n)]
    for cell in cells:
        builder.store(ir.Constant(_ROW, [0.0] * TILE), cell)
    with cgutils.for_range(builder, count) as loop:
        factors, row = step(loop.index)
        for cell, factor in zip(cells, factors, strict=True):
            builder.store(plus(builder, builder.load(cell), spread(builder, factor), row), cell)
    return [builder.load(cell) for cell in cells]


@_intrinsic  # type: ignore[untyped-decorator]
def multiply(_: Any, target: Any, panel: Any, stride: Any, count: Any, i: Any, j: Any, sign: Any) -> Any:
    """Do ``target[i:i+16, j:j+16] += sign · panel[:count, i:i+16]ᵀ panel[:count, j:j+16]``.

    ``target`` and ``panel`` may be the same matrix if ``count <= i``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, stride, count, i, j, sign = arguments
        into, source = (data_of(context, builder, signature.args[a], arguments[a]) for a in (0, 1))

        def step(b: Any) -> tuple[list[Any], Any]:
            line = builder.gep(source, [builder.mul(b, stride)])
            left = builder.gep(line, [i])
            return [builder.load(builder.gep(left, [_INT(r)])) for r in range(TILE)], load(builder, line, j)

        sums = _sums(builder, count, step, TILE)
        first, sign = builder.add(builder.mul(i, stride), j), spread(builder, sign)
        for at, total in zip(_rows(builder, first, stride), sums, strict=True):
            store(builder, plus(builder, load(builder, into, at), sign, total), into, at)
        return context.get_dummy_value()

    i64 = numba.types.int64
    return numba.types.void(target, panel, i64, i64, i64, i64, numba.types.float32), generate


@_intrinsic  # type: ignore[untyped-decorator]
def multiply_diagonal(
    _: Any,
    target: Any,
    panel: Any,
    stride: Any,
    count: Any,
    i: Any,
    sign: Any,
    rhs: Any,
    weights: Any,
    at: Any,
) -> Any:
    """Do ``multiply`` with j = i, and ``rhs[i:i+16] += sign · w @ panel[:count, i:i+16]``.

    Here w is ``weights[at : at + count]``; ``weights`` may be ``rhs`` if ``at + count <= i``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, stride, count, i, sign, _, _, at = arguments
        into, source, side, scale = (
            data_of(context, builder, signature.args[a], arguments[a]) for a in (0, 1, 6, 7)
        )
        scale = builder.gep(scale, [at])

        def step(b: Any) -> tuple[list[Any], Any]:
            left = builder.gep(source, [builder.add(builder.mul(b, stride), i)])
            factors = [builder.load(builder.gep(left, [_INT(r)])) for r in range(TILE)]
            return [*factors, builder.load(builder.gep(scale, [b]))], load(builder, left, _INT(0))

        *sums, weighted = _sums(builder, count, step, TILE + 1)
        first, sign = builder.add(builder.mul(i, stride), i), spread(builder, sign)
        for place, total in zip(_rows(builder, first, stride), sums, strict=True):
            store(builder, plus(builder, load(builder, into, place), sign, total), into, place)
        store(builder, plus(builder, load(builder, side, i), sign, weighted), side, i)
        return context.get_dummy_value()

    i64 = numba.types.int64
    return numba.types.void(target, panel, i64, i64, i64, numba.types.float32, rhs, weights, i64), generate


@_intrinsic  # type: ignore[untyped-decorator]
def copy_scaled(_: Any, target: Any, to: Any, source: Any, at: Any, scale: Any) -> Any:
    """Do ``target[to : to + 16] = scale · source[at : at + 16]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into, source = (data_of(context, builder, signature.args[a], arguments[a]) for a in (0, 2))
        row = builder.fmul(load(builder, source, arguments[3]), spread(builder, arguments[4]))
        store(builder, row, into, arguments[1])
        return context.get_dummy_value()

    i64 = numba.types.int64
    return numba.types.void(target, i64, source, i64, numba.types.float32), generate


@_intrinsic  # type: ignore[untyped-decorator]
def factorise(_: Any, matrix: Any, stride: Any, i: Any, least: Any, inverse: Any, rhs: Any) -> Any:
    """Replace the tile A at (i, i) by U with Uᵀ U = A, upper triangular, and b = ``rhs[i:i+16]`` by U⁻ᵀ b.

    Values below the diagonal are undefined. A pivot below ``least[i + r]`` is raised to it; ``inverse``
    receives the reciprocals of U's diagonal.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, stride, i, *vectors = arguments
        data, lowest, inverses, side = (
            data_of(context, builder, kind, array)
            for kind, array in zip(
                signature.args[:1] + signature.args[3:], (arguments[0], *vectors), strict=True
            )
        )
        root = builder.module.declare_intrinsic("llvm.sqrt", [_FLOAT])
        places = _rows(builder, builder.add(builder.mul(i, stride), i), stride)
        rows = [load(builder, data, at) for at in places]
        b, solved = load(builder, side, i), ir.Constant(_ROW, [0.0] * TILE)
        for r in range(TILE):
            lane = ir.IntType(32)(r)
            pivot = builder.extract_element(rows[r], lane)
            least = builder.load(builder.gep(lowest, [builder.add(i, _INT(r))]))
            enough = builder.fcmp_ordered(">", pivot, least)  # also false if the pivot is NaN
            one_over = builder.fdiv(_FLOAT(1.0), builder.call(root, [builder.select(enough, pivot, least)]))
            builder.store(one_over, builder.gep(inverses, [builder.add(i, _INT(r))]))
            # U_r = A_r/√A_rr, then A_s ← A_s − U_rs U_r for the rows below.
            rows[r] = builder.fmul(rows[r], spread(builder, one_over))
            for s in range(r + 1, TILE):
                factor = builder.extract_element(rows[r], ir.IntType(32)(s))
                rows[s] = _minus(builder, rows[s], spread(builder, factor), rows[r])
            # Uᵀ y = b along with it: y_r = b_r/U_rr, then b ← b − y_r U_r.
            y = builder.fmul(builder.extract_element(b, lane), one_over)
            b = _minus(builder, b, spread(builder, y), rows[r])
            solved = builder.insert_element(solved, y, lane)
        for at, row in zip(places, rows, strict=True):
            store(builder, row, data, at)
        store(builder, solved, side, i)
        return context.get_dummy_value()

    i64 = numba.types.int64
    return numba.types.void(matrix, i64, i64, least, inverse, rhs), generate


@_intrinsic  # type: ignore[untyped-decorator]
def substitute(_: Any, matrix: Any, stride: Any, i: Any, j: Any, inverse: Any) -> Any:
    """Replace the tile at (i, j) by X with Uᵀ X = tile, where U is the factorised tile at (i, i)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, stride, i, j, _ = arguments
        data, inverses = (data_of(context, builder, signature.args[a], arguments[a]) for a in (0, 4))
        line = builder.mul(i, stride)
        places = _rows(builder, builder.add(line, j), stride)
        uppers = _rows(builder, builder.add(line, i), stride)
        rows = [load(builder, data, at) for at in places]
        for r in range(TILE):
            one_over = builder.load(builder.gep(inverses, [builder.add(i, _INT(r))]))
            # X_r = (T_r − Σ_{k < r} U_kr X_k)/U_rr, all sixteen columns at once.
            rows[r] = builder.fmul(rows[r], spread(builder, one_over))
            for s in range(r + 1, TILE):
                factor = builder.load(builder.gep(data, [builder.add(uppers[r], _INT(s))]))
                rows[s] = _minus(builder, rows[s], spread(builder, factor), rows[r])
        for at, row in zip(places, rows, strict=True):
            store(builder, row, data, at)
        return context.get_dummy_value()

    i64 = numba.types.int64
    return numba.types.void(matrix, i64, i64, i64, inverse), generate


@_intrinsic  # type: ignore[untyped-decorator]
def prefetch(_: Any, array: Any, index: Any) -> Any:
    """Prefetch ``array[index]`` of a contiguous array; the index may be out of range."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        hint = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        where = builder.gep(data_of(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        builder.call(hint, [builder.bitcast(where, byte), i32(0), i32(3), i32(1)])  # read, keep, data
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.int64), generate
