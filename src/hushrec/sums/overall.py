"""Two numbers of all people together: how many they are, and how their ratings spread over the scale."""

from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.sums.integer_grid import Grid

_BITS = 12  # steps of the grid in a scale's span: 2^12, so that squares of a trillion ratings fit 64 bits


@dataclass(frozen=True)
class RatingSquares:
    """Σ (r − the middle of the scale)² over all ratings, unit ``record``.

    One rating adds at most the square of half the scale's width, and changes the sum by no more under
    replace.

    Args:
        norm: norm in which the noise requires sensitivities.

    Privacy: public.
    """

    domain: Domain
    norm: Norm = "l2"

    @property
    def _squares(self) -> Ints:
        """The square of each value of the scale, in steps, from the bottom up."""
        lo, _, step = self.domain.scale
        values = lo + step * np.arange(self.domain.scale.n_values, dtype=np.float64)
        return self._grid.counts(values - self.domain.scale.mid) ** 2

    @property
    def _grid(self) -> Grid:
        return Grid(self.domain.scale.span, _BITS)

    @property
    def query(self) -> Measurement:
        """Description of the sum, without any data."""
        unit = self._grid.step**2
        return Measurement("squared ratings", float(self._squares.max()) * unit, self.norm, unit, 1)

    def measure(self, people: AnyPeople) -> Ints:
        """The sum in grid steps, shape (1,).

        Args:
            people: people with private ratings, who all count in full.

        Privacy: bounded (``query.sensitivity``), unit ``record``.
        """

        (total,) = people.total(self._add, 1)
        return total

    def _add(self, ratings: People, total: Ints) -> None:
        total += int(self._squares[ratings.values].sum())


USER_COUNT = Measurement("number of users", 1.0, "l2", 1.0, 1)
"""Σ_u 1. Under add-remove one user moves it by 1, and so does a rating, which may be its user's only one."""


def user_count(people: AnyPeople) -> Ints:
    """The number of users, shape (1,).

    Args:
        people: people with private ratings or interactions, who all count in full.

    Privacy: bounded (``USER_COUNT.sensitivity``).
    """
    (count,) = people.total(_add, 1)
    return count


def _add(block: People, count: Ints) -> None:
    count += block.n_users
