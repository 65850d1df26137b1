"""Tests whether one release is better than another on the same users, or whether it is chance."""

import math
from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.ratings import Ratings

_NORMAL_975 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Difference:
    """RMSE of one prediction minus that of another.

    Attributes:
        difference: negative if the first is better.
        low: lower end of its 95 % confidence interval.
        high: upper end.

    Privacy: private.
    """

    difference: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.difference:+.4f} (95 %: {self.low:+.4f} to {self.high:+.4f})"


def rmse_difference(test: Ratings, first: Floats, second: Floats) -> Difference:
    """The difference of two RMSEs on the same test ratings, with users as the sampled units.

    One user's ratings are not independent, so the interval is that of the mean over users. By the delta
    method, user u with n_u of the n test ratings and squared errors s_u moves RMSE = √(Σ s_u/n) by
    ψ_u = (s_u − n_u RMSE²)/(2 n RMSE); the variance of the difference is Σ_u (ψ_u − ψ′_u)². A paired
    bootstrap over users converges to the same result, but needs random numbers.

    Args:
        test: the true ratings.
        first: predictions in the order of ``test``.
        second: predictions in the order of ``test``.

    Returns:
        first − second.

    Privacy: private.
    """
    a, moves_a = _moves(test, first)
    b, moves_b = _moves(test, second)
    half = _NORMAL_975 * math.sqrt(float(((moves_a - moves_b) ** 2).sum()))
    return Difference(a - b, a - b - half, a - b + half)


def _moves(test: Ratings, predicted: Floats) -> tuple[float, Floats]:
    """RMSE, and how far each user moves it; shape (n_users,)."""
    squares = np.add.reduceat((test.values() - predicted) ** 2, test.indptr[:-1])
    error = math.sqrt(float(squares.sum()) / test.n_ratings)
    if error == 0:
        return 0.0, np.zeros(test.n_users)
    return error, (squares - test.counts * error**2) / (2 * test.n_ratings * error)
