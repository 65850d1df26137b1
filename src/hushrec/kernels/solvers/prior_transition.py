"""Exact Ornstein–Uhlenbeck transition of a factor vector, applied by whichever thread claims it.

Under dv = −h Λ v dt + √(2 h T) dW, a vector becomes after the time t

    e^(−hΛt) v + √(T (1 − e^(−2hΛt)) / Λ) ξ,

with standard normal ξ, coordinate by coordinate. The density ∝ exp(−½ vᵀ Λ v / T) is invariant.
"""

from typing import Any

import numba
import numpy as np
from numba import extending

from hushrec.arrays import Floats, Floats32, Ints32, Words32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.noise.gaussian import draw, room
from hushrec.kernels.simd import data_of

_intrinsic: Any = extending.intrinsic  # its stub counts the typing context among the arguments

__all__ = ["pay", "pay_item", "settle", "table", "transition"]


def transition(
    precision: Floats | Floats32, rate: float, temperature: float, elapsed: float | Floats
) -> tuple[Floats, Floats]:
    """Return e^(−hΛt) and √(T (1 − e^(−2hΛt)) / Λ) for the diagonal Λ, h, T and t."""
    pull = rate * elapsed * precision.astype(np.float64)
    return np.exp(-pull), np.sqrt(temperature * -np.expm1(-2 * pull) / precision)


def table(precision: Floats | Floats32, rate: float, temperature: float, parts: int) -> Floats32:
    """Tabulate ``transition`` at the times 0, 1 / parts, …, 1, shape (2, parts + 1, coordinates)."""
    times = np.arange(parts + 1)[:, None] / parts
    transitions: Floats32 = np.stack(transition(precision, rate, temperature, times)).astype(np.float32)
    return transitions


@_intrinsic  # type: ignore[untyped-decorator]
def _claim(_: Any, paid: Any, item: Any, time: Any) -> Any:
    """Atomically raise ``paid[item]`` to ``time``, and return its previous value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature.args[0], arguments[0])
        return builder.atomic_rmw("max", builder.gep(data, [arguments[1]]), arguments[2], "monotonic")

    return numba.types.int32(paid, numba.types.int64, numba.types.int32), generate


@compiled(nogil=True)
def pay(
    vectors: Floats32, at: int | np.int64, effect: Any, table: Floats32, elapsed: int, z: Floats32, used: int
) -> Any:
    """Apply a transition to the vector that begins at ``vectors[at]`` and to its effect.

    Args:
        vectors: modified.
        at: where the vector begins.
        effect: the last coordinate, a single-precision number.
        table: as returned by ``table``.
        elapsed: index of the elapsed time in ``table``.
        z: normals.
        used: number of normals to skip.

    Privacy: private.
    """
    rank = table.shape[2] - 1
    for f in range(rank):
        vectors[at + f] = table[0, elapsed, f] * vectors[at + f] + table[1, elapsed, f] * z[used + f]
    return table[0, elapsed, rank] * effect + table[1, elapsed, rank] * z[used + rank]


@compiled(nogil=True)
def pay_item(
    item: int | np.int64,
    time: int,
    z: Floats32,
    factors: Floats32,
    width: int,
    effects: Floats32,
    paid: Ints32,
    table: Floats32,
    key: Words32,
    number: int,
) -> None:
    """Apply an item's transition up to ``time``, unless that is done or another thread claims it.

    Args:
        item: index of the item.
        time: in parts of ``table``, at least 1.
        z: room for normals.
        factors: factors of all items, modified, flat.
        width: offset from one item's factors to the next.
        effects: effects of all items, modified, shape (n_items,); shape (0,) for none.
        paid: time up to which each item is updated, modified, shape (n_items,).
        table: as returned by ``table``.
        key: key of the noise, as ``draw`` takes it.
        number: number of the pass.

    Privacy: private.
    """
    before = _claim(paid, item, time)
    if before >= time:
        return
    biased = len(effects) > 0
    effect = effects[item] if biased else np.float32(0)
    draw(z, table.shape[2], key, (item, time, number))
    effect = pay(factors, item * width, effect, table, time - before, z, 0)
    if biased:
        effects[item] = effect


@compiled(nogil=True)
def settle(
    begin: int,
    end: int,
    time: int,
    factors: Floats32,
    width: int,
    effects: Floats32,
    paid: Ints32,
    table: Floats32,
    key: Words32,
    number: int,
) -> None:
    """Apply ``pay_item`` to the items from ``begin`` to ``end`` - 1."""
    z = np.empty(room(table.shape[2]), np.float32)
    for item in range(begin, end):
        pay_item(item, time, z, factors, width, effects, paid, table, key, number)
