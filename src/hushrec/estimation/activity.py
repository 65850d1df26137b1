"""How many ratings people give, taken to be log-normal.

Privacy: public; nothing is read but what is declared, and what was released.
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


def mean_count(mean_root: float, most: float) -> float:
    """Return the mean number of ratings c of people whose mean √c is ``mean_root``.

    Args:
        mean_root: as released, under noise.
        most: the largest number of ratings of one person.
    """
    low, high = math.log(1e-3), math.log(100.0 * most)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if np.sqrt(numbers(math.exp(middle), most)).mean() < mean_root:
            low = middle
        else:
            high = middle
    return float(numbers(math.exp(low), most).mean())
