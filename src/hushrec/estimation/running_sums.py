"""Running sums from the measurements of a series, some of which may be missing.

Privacy: post-processing.
"""

from collections.abc import Mapping

import numpy as np

from hushrec.arrays import Floats
from hushrec.privacy.accounting.ages import BITS, age_weights
from hushrec.privacy.bounded import Noisy


def running_sum(measured: Mapping[int, Noisy], part: int) -> Noisy:
    """Estimate the sum of everything up to a release, from its measurement and those before.

    With y = C D + noise, C the triangle of the weights by age, the estimate is 1ᵀ D̂ for the best linear D̂.
    If nothing is missing, that is Σ_s c_{t−s} y_s. Records that came in before a missing measurement show up
    in later ones; their fraction of D is then taken from a prior under which all D_s are about the same.

    Args:
        measured: the noisy measurements by number of release, all of one quantity, with one entry for every
            item: 0 where an item was not in the catalogue yet. That of ``part`` is among them.
        part: t.

    Returns:
        the estimate, with the standard deviation of its noise.
    """
    parts = sorted(measured)
    weights = _weights(parts, part)
    last = measured[part]
    values = sum(
        (weight * measured[number].values for number, weight in zip(parts, weights, strict=True)),
        np.zeros_like(last.values),
    )
    return Noisy(last.name, values, last.sigma * float(np.linalg.norm(weights)), last.step, last.event)


def _weights(parts: list[int], part: int) -> Floats:
    """Return the weight of each measurement, shape (len(parts),)."""
    ages = age_weights(part + 1) * 2.0**-BITS
    if len(parts) == part + 1:
        return np.asarray(ages[::-1], dtype=np.float64)
    steps = np.subtract.outer(np.array(parts), np.arange(part + 1))
    design = np.where(steps >= 0, ages[np.maximum(steps, 0)], 0.0)
    prior = np.eye(part + 1) + (part + 1)  # D_s alike: a common part, and a small one of its own
    covariance = design @ prior @ design.T
    return np.asarray(np.linalg.solve(covariance, design @ prior.sum(axis=1)), dtype=np.float64)
