"""Errors of predicted ratings."""

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from hushrec.arrays import Floats
from hushrec.errors import ConfigError


def rmse(ratings: Floats, predicted: Floats) -> float:
    """Root mean squared error, √(mean (r − r̂)²).

    Args:
        ratings: r, shape (n,), n ≥ 1.
        predicted: r̂, shape (n,).

    Returns:
        The error, in the ratings' unit.

    Privacy: private.
    """
    return math.sqrt(float(np.mean((ratings - predicted) ** 2)))


def mae(ratings: Floats, predicted: Floats) -> float:
    """Mean absolute error, mean |r − r̂|; arguments and unit as of ``rmse``.

    Privacy: private.
    """
    return float(np.mean(np.abs(ratings - predicted)))


Metric = Callable[[Floats, Floats], float]
METRICS: Mapping[str, Metric] = {"rmse": rmse, "mae": mae}


def named(names: Iterable[str]) -> dict[str, Metric]:
    """The metrics of these names, in this order.

    Raises:
        ConfigError: A name is unknown.

    Privacy: public.
    """
    chosen = tuple(names)
    if unknown := [name for name in chosen if name not in METRICS]:
        raise ConfigError(f"unknown metric {unknown[0]!r}; choose from {', '.join(METRICS)}")
    return {name: METRICS[name] for name in chosen}
