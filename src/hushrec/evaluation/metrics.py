"""Errors of predicted ratings."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from hushrec.arrays import Floats


def rmse(ratings: Floats, predicted: Floats) -> float:
    """Compute the root mean squared error, √(mean (r − r̂)²).

    Args:
        ratings: r, shape (n,), n ≥ 1.
        predicted: r̂, shape (n,).

    Privacy: private.
    """
    return math.sqrt(float(np.mean((ratings - predicted) ** 2)))


def mae(ratings: Floats, predicted: Floats) -> float:
    """Compute the mean absolute error, mean |r − r̂|; arguments and unit as of ``rmse``.

    Privacy: private.
    """
    return float(np.mean(np.abs(ratings - predicted)))


Metric = Callable[[Floats, Floats], float]
METRICS: Mapping[str, Metric] = {"rmse": rmse, "mae": mae}
