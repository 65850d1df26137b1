"""Pairs of items of several releases of a year, each measured under a lens of its own.

A lens is the weights d of the items, and the direction v of the average user. Before pairs are combined, the
earlier ones are carried over to the new lens.

Privacy: post-processing of released pairs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats
from hushrec.estimation.head import Head
from hushrec.estimation.yearly_matrix import YearlyMatrix, unpack_triangle
from hushrec.models.lists.estimate.pair_factors import LEAST, Muting
from hushrec.privacy.carried import Carried
from hushrec.privacy.noisy import Noisy

NAME = "pairs"
"""Of the pairs among what a release hands over."""
_ROWS = 256  # of a matrix that are processed at a time; limits memory only
_UNEVEN = 0.3
"""Deviation of an item's own square over what its mass lets expect. Chosen by hand."""


class YearlyPairs(NamedTuple):
    """The pairs of the crowd now.

    Attributes:
        sums: the pairs, with a zero diagonal.
        lens: d, v and t of the head's items.
        factors: of the last release that had any, shape (m, any).
    """

    sums: YearlyMatrix
    lens: Muting
    factors: Floats

    @classmethod
    def of(cls, carried: Carried | None, items: Sequence[str]) -> Self | None:
        """Read what earlier releases handed over, for a catalogue; None if none measured pairs."""
        sums = YearlyMatrix.of(carried, NAME, items)
        if carried is None or sums is None:
            return None
        names = ("weights", "direction", "mass", "factors")
        weights, direction, mass, factors = (carried.arrays[f"{NAME}.{name}"] for name in names)
        return cls(sums, Muting(weights, direction, mass), factors.astype(np.float64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Name them as the arrays of a carried sum."""
        lens = {"weights": self.lens.weights, "direction": self.lens.direction, "mass": self.lens.variance}
        of: dict[str, NDArray[Any]] = {**lens, "factors": self.factors.astype(np.float32)}
        return {**self.sums.arrays(NAME), **{f"{NAME}.{name}": array for name, array in of.items()}}

    @property
    def typical_variance(self) -> float:
        """Return Σ t_i/Σ (t_i/q_i): noise by the mean precision of what users have. New items add none."""
        mass = self.lens.variance
        return float(mass.sum() / (mass @ (1 / np.maximum(self.sums.variance, LEAST))))

    def carry_over(self, size: float, head: Head, lens: Muting, noise: float) -> Self:
        """Carry them over to the crowd now, and to a new head and lens.

        With ρ_i the weight of item i now over that before, scaled so that users keep their length 1:
        A_ij ← ρ_i A_ij ρ_j, and its noise grows with them. What lies along the new v is taken out, as it is
        of the users' vectors. An item that was muted, or not in the head, has next to no old row left.

        Args:
            size: of the crowd.
            head, lens: the new ones.
            noise: variance of an entry of this release.
        """
        at = self.sums.head.places[head.items]
        known = at >= 0
        ratio = np.where(known, lens.weights / self.lens.weights[at], 0.0)
        mass = np.where(known, self.lens.variance[at], 0.0)
        # A user's squared length, Σ t_i of the old lens, becomes Σ t_i ρ_i²: the scale that keeps it.
        ratio /= np.sqrt(max(float(mass @ ratio**2), LEAST) / max(float(mass.sum()), LEAST))
        sums = self.sums.carry_over(size, head, noise, ratio)
        _take_out(sums, lens)
        factors = np.where(known[:, None], self.factors[at], 0.0) * ratio[:, None]
        return type(self)(sums, lens, factors)


def yearly_pairs(
    earlier: Carried | None, items: Sequence[str], head: Head, measured: Noisy, size: float, lens: Muting
) -> YearlyPairs:
    """Combine the pairs of this release with those before.

    Args:
        earlier: what the release before handed over.
        items: of the catalogue.
        head: whose pairs were measured.
        measured: the strict upper triangle, row by row.
        size: of the crowd.
        lens: d, v and t of the head's items, under which they were measured.
    """
    n, noise = len(head.items), measured.sigma**2
    now, before = unpack_triangle(measured.values, n), YearlyPairs.of(earlier, items)
    if before is None:
        return YearlyPairs(YearlyMatrix(now, np.full(n, noise), 0.0, head, size), lens, np.zeros((n, 0)))
    moved = before.carry_over(size, head, lens, noise)
    return moved._replace(sums=moved.sums.combine(now, noise, moved.factors))


def passed_on(earlier: Carried | None, items: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of earlier pairs for a release that measures none.

    Args:
        earlier: what the release before handed over.
        items: of the catalogue now.
    """
    before = YearlyPairs.of(earlier, items)
    return {} if before is None else before.arrays()


def _take_out(sums: YearlyMatrix, lens: Muting) -> None:
    """Take out of the pairs what lies along v, in place: A ← (1 − v vᵀ) A (1 − v vᵀ), diagonal 0."""
    matrix, along = sums.matrix, lens.direction.astype(np.float32)
    np.fill_diagonal(matrix, _diagonal(sums, lens))
    across = matrix @ along
    # (1 − v vᵀ) A (1 − v vᵀ) = A − v aᵀ − a vᵀ with a = A v − (vᵀ A v/2) v: two thin products.
    across -= (float(along @ across) / 2) * along
    for start in range(0, len(along), _ROWS):
        rows = slice(start, start + _ROWS)
        matrix[rows] -= np.outer(along[rows], across) + np.outer(across[rows], along)
    np.fill_diagonal(matrix, 0)


def _diagonal(sums: YearlyMatrix, lens: Muting) -> Floats:
    """Estimate the diagonal of A, which is not measured, from A v = 0 and from how much falls on an item.

    The first says D_i = −Σ_j A_ij v_j/v_i, which is lost in noise where v_i is small. Where items are not
    alike, D_i is proportional to t_i (1 − v_i²). Each counts by its doubt.
    """
    along, sigma = lens.direction, sums.sigma
    across = (sums.matrix @ along.astype(np.float32)).astype(np.float64)
    alone, square = lens.variance * (1 - along**2), np.maximum(along**2, LEAST)
    prior = alone * max(-float(along @ across), 0.0) / max(float(alone @ along**2), LEAST)
    told = -across / np.where(along < 0, -1, 1) / np.sqrt(square)
    doubt, noise = (_UNEVEN * prior) ** 2, sigma * float(sigma @ along**2) / square
    return np.maximum(prior + doubt / np.maximum(doubt + noise, LEAST) * (told - prior), 0.0)
