"""How many ratings people give: their numbers are taken to be log-normal.

Privacy: public; or post-processing of released counts.
"""

import math

import numpy as np
from scipy.special import ndtri

from hushrec.arrays import Floats

_DEVIATION = 1.0
"""Standard deviation of the logarithm of people's numbers of ratings; MovieLens 1M has 0.99."""
_PEOPLE = (np.arange(40) + 0.5) / 40
"""Quantiles of people over which means are taken: the midpoints of 40 equal parts. Chosen by hand."""
_STEPS = 60  # of bisection, which halve the interval of the logarithm each time; chosen by hand


def numbers(each: float, most: float) -> Floats:
    """Return the numbers of ratings of 40 people.

    Args:
        each: their mean before the bounds, which may change it.
        most: the largest number; the smallest is 1.
    """
    spread = np.exp(_DEVIATION * ndtri(_PEOPLE))
    return np.asarray(np.clip(each * spread / spread.mean(), 1, most), dtype=np.float64)


def unweighted(counted: float, contribution_cap: float, most: float) -> float:
    """Return the mean number of ratings, ratings the mean of min(c, √(c K)) of people with c ratings each.

    Args:
        counted: as released, under noise.
        contribution_cap: K, up to which ratings count in full.
        most: the largest number of ratings of one person.
    """
    low, high = math.log(1e-3), math.log(100.0 * most)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        ratings = numbers(math.exp(middle), most)
        if np.minimum(ratings, np.sqrt(ratings * contribution_cap)).mean() < counted:
            low = middle
        else:
            high = middle
    return float(numbers(math.exp(low), most).mean())
