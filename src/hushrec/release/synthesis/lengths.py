"""How many items synthetic people have: log-normal, with a spread that is assumed.

Privacy: public.
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints

SPREAD = 1.0
"""Standard deviation of the logarithm of a person's number of items. Assumed: no release says it."""
_QUANTILES = 2000
"""By which means are computed."""
_HALVINGS = 60


class Lengths(NamedTuple):
    """Numbers of items: those of a log-normal distribution, at least 1, at most half the catalogue.

    Attributes:
        median: of the distribution.
        most: largest number.
    """

    median: float
    most: int

    def quantiles(self, n: int) -> Ints:
        """Return the (k + ½)/n quantiles in order, so that every n has the same distribution."""
        return np.rint(self._exact(n)).astype(np.int64)

    @property
    def mean(self) -> float:
        """The mean number of items."""
        return float(self._exact(_QUANTILES).mean())

    def capped_mean(self, contribution_cap: float) -> float:
        """Return E min(c, √(K c)) of people with c items, with the contribution cap K."""
        exact = self._exact(_QUANTILES)
        return float(np.minimum(exact, np.sqrt(contribution_cap * exact)).mean())

    def root_part(self) -> float:
        """Return E √c/E c."""
        exact = self._exact(_QUANTILES)
        return float(np.sqrt(exact).mean() / exact.mean())

    def _exact(self, n: int) -> Floats:
        normal = NormalDist()
        # A table of quantiles: people of a large table share its entries.
        places = (np.arange(min(n, _QUANTILES)) + 0.5) / min(n, _QUANTILES)
        table = np.exp(SPREAD * np.array([normal.inv_cdf(place) for place in places]))
        every = table if n <= _QUANTILES else np.interp((np.arange(n) + 0.5) / n, places, table)
        return np.asarray(np.clip(self.median * every, 1, self.most), dtype=np.float64)


def lengths_with(mean: float, contribution_cap: float, n_items: int) -> Lengths:
    """Return lengths with a capped mean E min(c, √(K c)); with K = ∞ it is the mean."""
    return _solved(lambda lengths: lengths.capped_mean(contribution_cap), mean, n_items)


def lengths_with_root(part: float, n_items: int) -> Lengths:
    """Return lengths with E √c/E c, which falls where people have more items."""
    return _solved(lambda lengths: -lengths.root_part(), -part, n_items)


def _solved(rising: Callable[[Lengths], float], value: float, n_items: int) -> Lengths:
    """Return the lengths at which a function that rises with the median has a value, by halving."""
    most = max(n_items // 2, 1)
    low, high = math.log(1e-3), math.log(max(most, 2))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if rising(Lengths(math.exp(middle), most)) < value:
            low = middle
        else:
            high = middle
    return Lengths(math.exp(high), most)
