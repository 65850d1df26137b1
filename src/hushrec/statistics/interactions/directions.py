"""Each user's items as a vector without its part along a public direction, in integers.

With public weights d and a public direction v, a user who gave the items x has y = d ∘ x and z = y − τ v,
where τ v is the multiple of v nearest to y. All are counted in steps: the entries of y, and τ, in 2^-10,
those of v in 2^-12.

Privacy: private, except for ``ItemWeights``, which is public.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.feedback import Feedback
from hushrec.estimation.head import Head
from hushrec.kernels.csr import kept_rows

ENTRY_BITS, DIRECTION_BITS = 10, 12
LARGEST = 1 << 15
"""Most items that are weighted, so that every sum of one user's squares fits 64 bits."""
WEIGHT_BITS = {"user": 37, "record": 31}
"""Bits of a user's weight, 1/‖z‖² for unit ``user`` and 1/‖z‖ for unit ``record``, with z in steps."""
_LEAST = {"user": 2**13, "record": 2**14}
"""The smallest ‖z‖², in squared steps, that counts: the weights then fit the 24 bits of the Gram kernel."""
_LEAST_FRACTION_BITS = 9
"""Unit ``user``: below 2^-9 of ‖y‖², ‖z‖² counts as 0, so that sums of a billion users fit 64 bits."""


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """Which items are weighted, and how: public, because it is made from released counts.

    Args:
        head: the weighted items, at most 2^15.
        weights: d of each, above 0 and at most 1, shape (n_head,).
        direction: v, shape (n_head,); it is scaled to length 1.

    Privacy: public.
    """

    head: Head
    weights: Floats
    direction: Floats

    @cached_property
    def entries(self) -> Ints32:
        """d in steps."""
        return np.rint(np.clip(self.weights, 0, 1) * 2.0**ENTRY_BITS).astype(np.int32)

    @cached_property
    def along(self) -> Ints:
        """v in steps, of length 1 up to rounding; the first item's direction if none is given."""
        length = max(float(np.linalg.norm(self.direction)), 1e-300)
        steps = np.rint(self.direction / length * 2.0**DIRECTION_BITS).astype(np.int64)
        if not steps.any():
            steps[:1] = 1 << DIRECTION_BITS
        return steps

    @cached_property
    def square(self) -> int:
        """‖v‖² in squared steps."""
        return int((self.along**2).sum())


class Directed(NamedTuple):
    """A block of users, as vectors over the weighted items.

    Attributes:
        indptr: where each user's items start, then where the last ones end, shape (n_users + 1,).
        items: place of each item among the weighted ones.
        entries: y, in steps, shape of ``items``.
        square: ‖y‖², in squared steps, shape (n_users,).
        product: ⟨v, y⟩, in steps of both, shape (n_users,).
        multiple: τ, in steps of y, shape (n_users,).
        weight: 1/‖z‖² or 1/‖z‖, in steps of 2^-``WEIGHT_BITS``; 0 if z is about 0, shape (n_users,).

    Privacy: private.
    """

    indptr: Ints
    items: Ints32
    entries: Ints32
    square: Ints
    product: Ints
    multiple: Ints
    weight: Ints


def directed(block: Feedback, lens: ItemWeights, unit: str) -> Directed:
    """The users of a block, as vectors; each depends on the user's own items alone.

    Args:
        block: private interactions.
        lens: public weights.
        unit: unit of the guarantee, which decides the weight.

    Privacy: private.
    """
    at = lens.head.places[block.items]
    kept = at >= 0
    indptr, items = kept_rows(block.indptr, kept), at[kept]
    entries = lens.entries[items]
    wide = entries.astype(np.int64)
    square, product = _sums(wide**2, indptr), _sums(wide * lens.along[items], indptr)
    scaled = product << DIRECTION_BITS
    multiple = (2 * scaled + lens.square) // (2 * lens.square)  # the nearest integer
    # ‖z‖² in squared steps times 2^24: exact, and below 2^62 for 2^15 items.
    rest = (square << 2 * DIRECTION_BITS) - 2 * multiple * scaled + multiple**2 * lens.square
    size = np.maximum(rest, 1) * 2.0 ** (-2 * DIRECTION_BITS)
    with_bits = 2.0 ** WEIGHT_BITS[unit] / (size if unit == "user" else np.sqrt(size))
    least = np.maximum(square >> _LEAST_FRACTION_BITS, _LEAST[unit]) if unit == "user" else _LEAST[unit]
    weight = np.where(size >= least, np.floor(with_bits), 0).astype(np.int64)
    return Directed(indptr, items, entries, square, product, multiple, weight)


def largest_pull(n_items: int, unit: str) -> float:
    """A bound on w τ y_i of one user, and on w τ² v_i/2, in steps, whatever they give.

    Unit ``user``: w ≤ 2^(37 + 9)/‖y‖², |τ| ≤ ‖y‖ and y_i ≤ ‖y‖. Unit ``record``: w ≤ 2^(31 − 7),
    |τ| ≤ 2^10 √n and y_i ≤ 2^10. The length of v in steps is 1 up to 3 %.

    Args:
        n_items: number n of weighted items.

    Privacy: public.
    """
    if unit == "user":
        return 1.05 * 2.0 ** (WEIGHT_BITS[unit] + _LEAST_FRACTION_BITS)
    return 1.05 * 2.0 ** (WEIGHT_BITS[unit] + 2 * ENTRY_BITS) * math.sqrt(n_items / _LEAST[unit])


def _sums(values: NDArray[Any], indptr: Ints) -> Ints:
    """Sum over each user's items, shape (n_users,)."""
    totals = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return np.asarray(totals[indptr[1:]] - totals[indptr[:-1]], dtype=np.int64)
