"""Standard normal numbers from ChaCha20: a key and a nonce determine a sequence of them.

Sixteen blocks of the cipher (RFC 8439, §2.3) are computed in parallel, one in each lane of a vector, and
output word by word: normal 256 c + 16 r + b is made from word r of block 16 c + b. Words 2 k and 2 k + 1 of
a block make a pair of normals (Box & Muller 1958), with polynomials for logarithm, sine and cosine. All
stays in vector registers; LLVM does not vectorise loops over single numbers this way on its own: the same
steps as plain loops of numba reach 0.2 of this speed, and 0.3 for 64 normals a call. Their cipher alone takes
1.6 times as long as all of this.

The numbers have single precision and single-precision errors. They serve samplers that run in floating
point anyway, and do not replace the exact noise of a measurement.
"""

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending

from hushrec.arrays import Floats, Floats32, Words, Words32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.noise.chacha import BLOCKS, WORDS, keystream
from hushrec.kernels.simd import TILE, cgutils, data_of, plus, spread, store

LARGEST = math.sqrt(66 * math.log(2))
"""The largest possible normal, √(−2 ln 2⁻³³), about 6.76: the smallest uniform is half a unit of 2⁻³²."""

_CALL = 16 * TILE  # normals of sixteen blocks
_intrinsic: Any = extending.intrinsic  # its stub counts the typing context among the arguments
_INT, _FLOAT = ir.IntType(32), ir.FloatType()
_WORDS = ir.VectorType(_INT, TILE)
_ROW = ir.VectorType(_FLOAT, TILE)
_STATE = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)  # "expand 32-byte k"
_COLUMNS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]  # RFC 8439, §2.3
_DIAGONALS = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
_SQRT_HALF = 0x3F3504F3  # the bits of √½

# Minimax errors: of 2 (ln(1 + x) − x + x²/2) / x³ for 1 + x from √½ to √2, weighted by x², 1e-8; of
# sin(π t / 4) / t and cos(π t / 4) in t², for t from −1 to 1, 2e-9 and 3e-8.
_LOG = (
    0.666666336,
    -0.500015932,
    0.400045684,
    -0.332499302,
    0.283628462,
    -0.262506244,
    0.25758371,
    -0.1573077148,
)
_SIN = (0.785398161, -0.0807454348, 0.00249000713, -3.59545077e-05)
_COS = (0.999999972, -0.308424254, 0.0158499153, -0.000318880508)

__all__ = ["LARGEST", "draw", "reference_draw", "room"]


def reference_draw(count: int, key: Words32, nonce: tuple[int, int, int]) -> Floats:
    """Draw as ``draw`` does, in a few lines of NumPy and in double precision.

    Args:
        count: number of normals.
        key: the key's little-endian words, shape (8,).
        nonce: the nonce's little-endian words.

    Returns:
        The normals, shape (count,).

    Privacy: private.
    """
    normals = np.empty((-(-count // (4 * _CALL)), 4, 8, 2, TILE))
    words: Words = np.empty(WORDS, np.uint64)
    for c, part in enumerate(normals):
        keystream(words, key, c * BLOCKS, nonce)
        pairs = words.reshape(8, 4, TILE).transpose(1, 0, 2)
        # The conversion to single precision rounds the words of small radii, as in the kernel.
        first = pairs.astype(np.uint32).astype(np.float32) + np.float32(0.5)
        second = (pairs >> np.uint64(32)).astype(np.uint32)
        radius = np.sqrt(-2 * np.log(first / 2.0**32))
        angle = np.pi / 4 * ((second << np.uint32(2)) | np.uint32(2)).view(np.int32) / 2.0**31
        sine, cosine = np.sin(angle), np.where(second >> np.uint32(31), -1, 1) * np.cos(angle)
        across = (second >> np.uint32(30)) & np.uint32(1) == 1
        part[:, :, 0] = radius * np.where(across, sine, cosine)
        part[:, :, 1] = radius * np.where(across, cosine, sine)
    sequence: Floats = normals.reshape(-1)[:count]
    return sequence


@compiled(nogil=True)
def room(count: int) -> int:
    """Return the size of an array into which ``count`` normals can be drawn."""
    return -(-count // (2 * TILE)) * 2 * TILE


@compiled(nogil=True)
def draw(z: Floats32, count: int, key: Words32, nonce: tuple[int | np.int64, int, int]) -> None:
    """Write the first ``count`` normals of a key and a nonce.

    Args:
        z: receives the normals; size at least ``room(count)``; the rest of that room is overwritten.
        count: number of normals, at most 2³² − 1024.
        key: the key's little-endian words, shape (8,).
        nonce: the nonce's little-endian words; different nonces give independent sequences.

    Privacy: private; anyone who knows the key knows the noise.
    """
    one, two, three = np.uint32(nonce[0]), np.uint32(nonce[1]), np.uint32(nonce[2])
    for start in range(0, count, _CALL):
        pairs = min(8, -(-(count - start) // (2 * TILE)))
        _sixteen(z, start, key, np.uint32(start // 16), one, two, three, pairs)


def _every(number: int) -> Any:
    return ir.Constant(_WORDS, [number] * TILE)


def _number(number: float) -> Any:
    """Put the number in every lane; LLVM requires constants that are exact in single precision."""
    return ir.Constant(_ROW, [float(np.float32(number))] * TILE)


def _polynomial(builder: Any, coefficients: tuple[float, ...], x: Any) -> Any:
    value = _number(coefficients[-1])
    for c in coefficients[-2::-1]:
        value = plus(builder, _number(c), value, x)
    return value


def _rotate(builder: Any, x: Any, n: int) -> Any:
    return builder.or_(builder.shl(x, _every(n)), builder.lshr(x, _every(32 - n)))


def _quarter_round(builder: Any, x: list[Any], a: int, b: int, c: int, d: int) -> None:
    for to, other, mixed, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[to] = builder.add(x[to], x[other])
        x[mixed] = _rotate(builder, builder.xor(x[mixed], x[to]), by)


def _cipher(builder: Any, start: list[Any]) -> list[Any]:
    """Encrypt sixteen blocks in parallel; ``start`` is their state."""
    cells = [cgutils.alloca_once_value(builder, word) for word in start]
    with cgutils.for_range(builder, _INT(10)):
        x = [builder.load(cell) for cell in cells]
        for quarter in _COLUMNS + _DIAGONALS:
            _quarter_round(builder, x, *quarter)
        for word, cell in zip(x, cells, strict=True):
            builder.store(word, cell)
    return [builder.add(builder.load(cell), word) for cell, word in zip(cells, start, strict=True)]


def _radius(builder: Any, word: Any) -> Any:
    """Compute √(−2 ln u) of u = (word + ½) / 2³² = 2^(e − 32) (1 + x)."""
    bits = builder.bitcast(builder.fadd(builder.uitofp(word, _ROW), _number(0.5)), _WORDS)
    e = builder.ashr(builder.sub(bits, _every(_SQRT_HALF)), _every(23))
    x = builder.bitcast(builder.sub(bits, builder.shl(e, _every(23))), _ROW)
    x = builder.fsub(x, _number(1))
    square = builder.fmul(x, x)
    high = builder.fmul(builder.fmul(square, x), _polynomial(builder, _LOG, x))
    log = plus(builder, builder.fsub(high, square), _number(2), x)
    whole = builder.sitofp(builder.sub(_every(32), e), _ROW)
    kind = ir.FunctionType(_ROW, [_ROW])
    root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{TILE}f32")
    return builder.call(root, [plus(builder, builder.fneg(log), whole, _number(2 * math.log(2)))])


def _pair(builder: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Make two independent normals: the first word gives the radius, the second the direction.

    All but the two highest bits of the second choose an angle in ±π/4, symmetrically; those two rotate it.
    """
    radius = _radius(builder, first)
    angle = builder.or_(builder.shl(second, _every(2)), _every(2))
    t = builder.fmul(builder.sitofp(angle, _ROW), _number(2.0**-31))
    square = builder.fmul(t, t)
    sine = builder.fmul(builder.fmul(t, _polynomial(builder, _SIN, square)), radius)
    cosine = builder.fmul(_polynomial(builder, _COS, square), radius)
    sign = builder.and_(second, _every(1 << 31))
    cosine = builder.bitcast(builder.xor(builder.bitcast(cosine, _WORDS), sign), _ROW)
    across = builder.icmp_unsigned("!=", builder.and_(second, _every(1 << 30)), _every(0))
    return builder.select(across, sine, cosine), builder.select(across, cosine, sine)


@_intrinsic  # type: ignore[untyped-decorator]
def _sixteen(
    _: Any, z: Any, at: Any, key: Any, counter: Any, one: Any, two: Any, three: Any, pairs: Any
) -> Any:
    """Write the normals of words 0 to 2 ``pairs`` − 1 of sixteen blocks from ``z[at]`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        into, secret = (data_of(context, builder, signature.args[a], arguments[a]) for a in (0, 2))
        at, pairs = arguments[1], arguments[7]
        inputs = [builder.load(builder.gep(secret, [_INT(w)])) for w in range(8)] + list(arguments[3:7])
        start = [_every(word) for word in _STATE]
        start += [builder.bitcast(spread(builder, builder.bitcast(w, _FLOAT)), _WORDS) for w in inputs]
        start[12] = builder.add(start[12], ir.Constant(_WORDS, list(range(TILE))))
        words = cgutils.alloca_once(builder, ir.ArrayType(_WORDS, 16))
        for w, word in enumerate(_cipher(builder, start)):
            builder.store(word, builder.gep(words, [_INT(0), _INT(w)]))
        with cgutils.for_range(builder, pairs) as loop:
            even = builder.mul(loop.index, loop.index.type(2))
            odd = builder.add(even, even.type(1))
            pair = (builder.load(builder.gep(words, [even.type(0), w])) for w in (even, odd))
            for w, normals in zip((even, odd), _pair(builder, *pair), strict=True):
                store(builder, normals, into, builder.add(at, builder.mul(w, w.type(TILE))))
        return context.get_dummy_value()

    i64, u32 = numba.types.int64, numba.types.uint32
    return numba.types.void(z, i64, key, u32, u32, u32, u32, i64), generate
