"""Initial factors: the same in every run, computed from sizes alone. Privacy: public."""

import numpy as np
from numpy.random import default_rng  # noqa: TID251  (initial values, the same for everybody: no release noise)

from hushrec.arrays import Floats, Floats32

_ROWS = 1 << 16  # drawn at once: bounds the memory, does not change the result


def normal_factors(n: int, rank: int) -> Floats:
    """Draw random initial factors, shape (n, rank), rows of norm about 1."""
    factors = np.empty((n, rank))
    fill_normal(factors)
    return factors


def fill_normal(factors: Floats | Floats32, size: float = 1.0) -> None:
    """Write ``size`` · ``normal_factors`` into an array of shape (n, rank), of any precision and size."""
    n, rank = factors.shape
    stream = default_rng((rank, n))
    for start in range(0, n, _ROWS):
        rows = factors[start : start + _ROWS]
        rows[:] = size * (stream.standard_normal(rows.shape) / np.sqrt(rank))


def uniform_factors(n: int, rank: int) -> Floats:
    """Draw random initial factors in [0, 1), shape (n, rank)."""
    return np.asarray(default_rng((rank, n)).random((n, rank)), dtype=np.float64)
