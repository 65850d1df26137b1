"""Values of metrics, their standard errors, and tests whether one release is better than another.

Users are the sampled units: what one user gave is not independent.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from hushrec.arrays import Floats
from hushrec.data.people import People
from hushrec.errors import ConfigError, DataError


def rmse(ratings: Floats, predicted: Floats) -> float:
    """Compute the root mean squared error, √(mean (r − r̂)²).

    Args:
        ratings: r, shape (n,), n ≥ 1.
        predicted: r̂, shape (n,).

    Privacy: private.
    """
    return math.sqrt(float(np.mean((ratings - predicted) ** 2)))


def mae(ratings: Floats, predicted: Floats) -> float:
    """Compute the mean absolute error, mean ``|r − r̂|``; arguments and unit as of ``rmse``.

    Privacy: private.
    """
    return float(np.mean(np.abs(ratings - predicted)))


Metric = Callable[[Floats, Floats], float]
METRICS: Mapping[str, Metric] = {"rmse": rmse, "mae": mae}


_NORMAL_975 = 1.959963984540054  # Φ⁻¹(0.975), for a two-sided interval of 95 %


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """A metric's value, and each user's influence on it.

    Attributes:
        value: the metric.
        users: ids of the users over whom it was measured, shape (n_users,).
        moves: ψ_u, the influence of each user on the value, shape (n_users,); None of a metric to which users
            do not add up, such as coverage.

    Privacy: private.
    """

    value: float
    users: pa.LargeStringArray = field(repr=False)
    moves: Floats | None = field(repr=False)

    @property
    def error(self) -> float:
        """Standard error over users, √(n/(n − 1) Σ ψ_u²); NaN where it is unknown."""
        return math.nan if self.moves is None else _error(self.moves)

    def to_json(self) -> dict[str, float | None]:
        """Return value and standard error as JSON values; null where one is unknown."""
        figures = {"value": self.value, "error": self.error}
        return {name: float(figure) if math.isfinite(figure) else None for name, figure in figures.items()}

    def __str__(self) -> str:
        return f"{self.value:.4f}" if math.isnan(self.error) else f"{self.value:.4f} ± {self.error:.4f}"


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of one release minus that of another.

    Attributes:
        difference: first − second.
        low: lower end of its 95 % confidence interval.
        high: upper end.

    Privacy: private.
    """

    difference: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.difference:+.4f} (95 %: {self.low:+.4f} to {self.high:+.4f})"


def difference(first: Score, second: Score) -> Difference:
    """Compare two values of one metric on the same users, with a 95 % confidence interval.

    The variance of the difference is n/(n − 1) Σ_u (ψ_u − ψ′_u)². A paired bootstrap over users converges to
    the same result, but needs random numbers.

    Args:
        first: of one release.
        second: of another, measured with the same parts.

    Returns:
        first − second.

    Privacy: private.
    """
    if first.moves is None or second.moves is None:
        raise ConfigError("coverage has no interval over users; compare another metric")
    if not first.users.equals(second.users):
        raise DataError("the two values are of different users; measure both with the same train and test")
    apart = first.value - second.value
    half = _NORMAL_975 * _error(first.moves - second.moves)
    return Difference(apart, apart - half, apart + half)


def mean_score(users: pa.LargeStringArray, values: Floats) -> Score:
    """Average a value per user, with ψ_u = (v_u − mean)/n.

    Args:
        users: their ids.
        values: v, shape (n_users,), at least one.

    Privacy: private.
    """
    mean = float(values.mean())
    return Score(mean, users, (values - mean) / len(values))


def rmse_score(test: People, predicted: Floats) -> Score:
    """Compute the RMSE, with ψ_u = (s_u − n_u RMSE²)/(2 n RMSE) by the delta method.

    User u has n_u of the n test ratings; s_u is the sum of their squared errors.

    Args:
        test: the true ratings.
        predicted: in the order of ``test``.

    Privacy: private.
    """
    # RMSE = √(Σ s_u/Σ n_u): a user moves the quotient by (s_u − n_u RMSE²)/n, the root by 1/(2 RMSE) of it.
    squares = np.add.reduceat((test.numbers() - predicted) ** 2, test.indptr[:-1])
    error = rmse(test.numbers(), predicted)
    moves = (squares - test.counts * error**2) / (2 * test.n_entries * (error or 1.0))
    return Score(error, test.users, moves)


def mae_score(test: People, predicted: Floats) -> Score:
    """Compute the MAE, with ψ_u = (s_u − n_u MAE)/n and the sum s_u of a user's absolute errors.

    Args:
        test: the true ratings.
        predicted: in the order of ``test``.

    Privacy: private.
    """
    sums = np.add.reduceat(np.abs(test.numbers() - predicted), test.indptr[:-1])
    error = mae(test.numbers(), predicted)
    return Score(error, test.users, (sums - test.counts * error) / test.n_entries)


ERROR_SCORES: Mapping[str, Callable[[People, Floats], Score]] = {"rmse": rmse_score, "mae": mae_score}
"""The metrics of ``hushrec.evaluation.compare`` with their standard errors."""


def _error(moves: Floats) -> float:
    n = len(moves)
    return math.sqrt(n / (n - 1) * float((moves**2).sum())) if n > 1 else math.nan
