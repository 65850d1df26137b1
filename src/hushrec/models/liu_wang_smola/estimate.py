"""What clipping and noise leave of item factors in gradients, expected from a declared crowd.

Privacy: public; nothing is read but what is declared, and what was released.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats
from hushrec.estimation.activity import numbers

_CONCENTRATION = 3.0
"""Ratings of the item of a typical rating, over those of the average item; MovieLens 1M has 3.0."""
_POWER = 0.25
"""The best of 0, ¼, 0.4 and ½ on films and animated series; ½ is that of Krichene et al. 2023, §4."""
_OF_BUDGET = 0.7
"""Part of μ² that the gradients get; ``PosteriorMF.default_split`` gives them 0.6 to 0.9. Chosen by hand."""


class Reach(NamedTuple):
    """How much of the curvature of people's gradients is seen through clipping and noise.

    Attributes:
        information: of a rating on its item's factors, in units of 1/s²: the mean of E[p̄²].
        kept: fraction of the gradients that clipping leaves, by ratings.
        noise: standard error of a coordinate of a typical item after all rounds, over its prior deviation.
    """

    information: float
    kept: float
    noise: float

    @property
    def prospect(self) -> float:
        """Fraction of the variance of tastes that may be predicted: what people and items both show of it."""
        return self.information / (1 + self.noise**2)


def reach(
    people: float, ratings: float, items: int, rank: int, ratio: float, clip_norm: float, mu: float
) -> Reach:
    """Return the reach of gradients that are clipped to ``clip_norm``, if they get 0.7 of a budget.

    A person with m ratings knows a coordinate of their vector up to 1/(1 + b) of its variance, b = m τ²/s².
    So p̄ has the norm √(d b/(1 + b)), and their gradient, of m errors of variance s² times p̄, is √m s as
    long. T rounds with noise σ = C √T/μ say as much as one with C/μ.

    Args:
        people, ratings: the declared crowd; numbers of ratings by person are log-normal.
        rank: d, number of factors.
        ratio: τ²/s², prior variance of an item's coordinate over that of a rating.
        clip_norm: C/s.
        mu: μ of the whole budget, infinite without noise.
    """
    counts = numbers(ratings / people, items)
    # b/(1 + b) with b = m τ²/s².
    determined = counts * ratio / (1 + counts * ratio)
    kept = np.minimum(1.0, clip_norm / np.sqrt(counts * rank * determined))
    # Means over ratings, not over people: that is what an item's row sees.
    information = float(np.average(determined, weights=counts))
    through = float(np.average(determined * kept, weights=counts))
    typical = min(_CONCENTRATION * ratings / items, people)
    # Noise C/(√.7 μ) over the curvature that clipping leaves, in prior deviations τ/s.
    noise = clip_norm / (math.sqrt(_OF_BUDGET) * mu * typical * through * math.sqrt(ratio))
    return Reach(information, through / information, noise)


def item_scales(counts: Floats) -> Floats:
    """Return factors n_i^(−¼) of items' gradients, with mean square one over ratings.

    Under one norm for all that a person gives, the weights n_i^(−½) minimise the noise in predictions
    (Krichene et al. 2023, §4), but rare items are shrunk to their prior anyway.
    """
    scales = counts**-_POWER
    return np.asarray(scales / np.sqrt(counts @ scales**2 / counts.sum()), dtype=np.float64)
