"""Private sums of errors times released factors: right-hand sides of least squares, and gradients."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import Once, People
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.sums.kernels.gradients import errors, item_sums, user_sums
from hushrec.sums.residuals import ResidualRows, Residuals

_FACTOR_BITS = 14  # steps in a factor of 1: 2^14


@dataclass(frozen=True)
class FactorSums:
    """Σ_i e_ui q_i for each person and Σ_u e_ui p_u for each item, with e = clamp(x − w p·q, ±clip).

    x is the residual of a rating and w the scale's width, rounded up to a power of two. p and q are released
    and lie in a ball, so each rating adds a row of norm at most clip · radius to the sum of one person and of
    one item. Factors are rounded to a grid before they meet ratings, and everything else is integers, so the
    bound needs no slack.

    Args:
        domain: the public domain, with a roster.
        epochs: number of measurements of each side.
        clip: bound on an error e, in rating units.
        radius: bound on the norm of each row of p and of q.

    Privacy: public.
    """

    domain: Domain
    adjacency: str
    rank: int
    epochs: int
    clip: float
    radius: float

    @cached_property
    def residuals(self) -> Residuals:
        """x, on the grid of the errors and with a far wider range than the clipped errors."""
        return Residuals(self.domain, self.adjacency, 4 * self.domain.scale.span)

    @property
    def width(self) -> float:
        """w, in rating units."""
        return self.residuals.grid.step * 2.0**_FACTOR_BITS

    @property
    def bound(self) -> int:
        """``clip``, in the residuals' steps."""
        return max(1, self.residuals.grid.count(self.clip))

    @property
    def _limit(self) -> int:
        return math.ceil(self.radius * (1 << _FACTOR_BITS))

    def query(self, side: str, number: int) -> Measurement:
        """The measurement of one ``side``, ``users`` or ``items``, in epoch ``number`` from 1."""
        step = self.residuals.grid.step * 2.0**-_FACTOR_BITS
        moved = self.bound
        if self.adjacency == "replace":
            # e is x minus a released number, clamped: it moves no further than its rating, or than the clip.
            moved = min(2 * self.bound, int(self.residuals.grid_values[-1]))
        change = moved * self._limit * step
        rows = self.domain.n_users if side == "users" else self.domain.n_items
        return Measurement(f"{side}, epoch {number}", change, "l2", step, rows * self.rank)

    def queries(self) -> Iterator[Measurement]:
        """Descriptions of the sums, in the order in which they are measured."""
        for number in range(1, self.epochs + 1):
            yield self.query("users", number)
            yield self.query("items", number)

    def users(self, people: AnyPeople, rows: Once[ResidualRows], users: Floats, items: Floats) -> Ints:
        """Σ_i e_ui q_i in grid steps, shape (n_users, rank).

        Args:
            people: people on the roster, without weights.
            rows: their residuals x, the result of ``residuals.rows``.
            users: released p, shape (n_users, rank).
            items: released q, shape (n_items, rank).

        Privacy: bounded, by the query's sensitivity.
        """
        p, q = self.on_grid(users), self.on_grid(items)

        def add(block: People, sums: Ints) -> None:
            row = rows(block)
            indptr, columns, _ = row.entries
            sums[row.places] += user_sums(indptr, columns, self._errors(row, p, q), q)

        (sums,) = people.total(add, (self.domain.n_users, self.rank))
        return sums

    def items(self, people: AnyPeople, rows: Once[ResidualRows], users: Floats, items: Floats) -> Ints:
        """Σ_u e_ui p_u in grid steps, shape (n_items, rank); arguments and errors as for ``users``.

        Privacy: bounded, by the query's sensitivity.
        """
        p, q = self.on_grid(users), self.on_grid(items)

        def add(block: People, sums: Ints) -> None:
            row = rows(block)
            indptr, columns, _ = row.entries
            sums += item_sums(indptr, columns, self._errors(row, p, q), p[row.places], self.domain.n_items)

        (sums,) = people.total(add, (self.domain.n_items, self.rank))
        return sums

    def in_ball(self, factors: Floats) -> Floats:
        """Scale rows longer than the radius down to it. Privacy: public in, public out."""
        return in_ball(factors, self.radius)

    def on_grid(self, factors: Floats) -> Ints32:
        """Factors in grid steps, rounded toward zero, which can only shorten a row.

        Privacy: public in, public out.
        """
        steps = np.trunc(factors * 2.0**_FACTOR_BITS)
        if not ((steps**2).sum(axis=1) <= self._limit**2).all():  # also true for NaN
            raise ValueError("factors must lie in the ball before they meet ratings; use in_ball")
        return steps.astype(np.int32)

    def _errors(self, row: ResidualRows, users: Ints32, items: Ints32) -> Ints32:
        # p·q has 2 · 14 bits; w has 14 bits on the residuals' grid.
        scaled_errors: Ints32 = errors(*row.entries, users[row.places], items, _FACTOR_BITS, self.bound)
        return scaled_errors


def in_ball(factors: Floats, radius: float) -> Floats:
    """Scale rows longer than ``radius`` down to it. Privacy: public in, public out."""
    norms = np.sqrt((factors**2).sum(axis=1, keepdims=True))
    # Scale to slightly less, so that rounding cannot lengthen the row.
    shrink = np.minimum(1.0, radius * (1 - 1e-9) / np.maximum(norms, 1e-300))
    return np.asarray(factors * shrink, dtype=np.float64)
