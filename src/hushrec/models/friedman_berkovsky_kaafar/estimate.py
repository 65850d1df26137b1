"""Estimate which noisy cells are ratings. Post-processing of released values."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from hushrec.arrays import Floats, Floats32, Ints, Ints32

_SPREAD = 0.22
"""Standard deviation of a residual before the clamp, in widths of the scale: about √RATING_VARIANCE."""
_SURE = 60.0
"""Largest logarithm of a density ratio: e^60 is certainty, and its float32 does not overflow (e^88 would)."""
_LEAST, _MOST = 0.02, 0.95
"""Cells whose posterior is below the first are dropped; priors are at most the second. Chosen by hand."""


class NoisyRatings(NamedTuple):
    """Noisy residuals in compressed rows over the roster, including surviving cells that are not ratings.

    Attributes:
        indptr, columns: the listed cells of people × items.
        values: in rating units.
        sigma: standard deviation of the noise; 0 if none was added.

    Privacy: post-processing; private where ``sigma`` is 0.
    """

    indptr: Ints
    columns: Ints32
    values: Floats32
    sigma: float


def membership_probability(
    noisy: NoisyRatings, user_counts: Floats, item_counts: Floats, clip: float, span: float
) -> tuple[NoisyRatings, Floats32]:
    """Select the cells that may be ratings, each with the posterior probability of being one.

    A cell was rated with prior probability π = n_u n_i / Σ n. The density of its noisy value y is f_1, of a
    clamped normal residual with Laplace noise, if it was rated, and f_0, of the noise, if not:

        w = π f_1(y) / (π f_1(y) + (1 − π) f_0(y)).

    Args:
        noisy: cells with their noisy values, not clamped to the residuals' range.
        user_counts, item_counts: released numbers of ratings.
        clip: B, bound on a residual, in rating units.
        span: width of the scale.

    Returns:
        The cells that are kept, values clamped to ±B, and their weights.

    Privacy: post-processing.
    """
    rows = np.repeat(np.arange(len(user_counts)), np.diff(noisy.indptr))
    users, items = user_counts.astype(np.float32), item_counts.astype(np.float32)
    prior = np.minimum(users[rows] * items[noisy.columns] / items.sum(), np.float32(_MOST))
    # b of Laplace noise, whose deviation is √2 b.
    scale = noisy.sigma / np.sqrt(2)
    table = np.linspace(0.0, float(np.abs(noisy.values).max(initial=clip)), 1000)
    # f_1/f_0 depends on |y| alone, and smoothly: a table of 1,000 sizes in place of a mean for every cell.
    ratio = np.interp(np.abs(noisy.values), table, _ratio(table, clip, scale, span)).astype(np.float32)
    weights = prior * ratio / (prior * ratio + 1 - prior)
    kept = weights >= _LEAST
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=len(user_counts)))])
    values = np.clip(noisy.values[kept], -clip, clip).astype(np.float32)
    return NoisyRatings(indptr, noisy.columns[kept], values, noisy.sigma), weights[kept]


def _ratio(sizes: Floats, clip: float, scale: float, span: float) -> Floats:
    """Return f_1(y)/f_0(y) by size of y; residuals are as often positive as negative."""
    quantiles = (np.arange(400) + 0.5) / 400
    residuals = np.clip(_SPREAD * span * ndtri(quantiles), -clip, clip)
    # f_1(y)/f_0(y) = E exp((|y| − |y − x|)/b) over residuals x.
    exponent = (sizes[:, None] - np.abs(sizes[:, None] - residuals)) / scale
    exponent = np.minimum(exponent, _SURE)
    return np.asarray(np.exp(exponent).mean(axis=1), dtype=np.float64)
