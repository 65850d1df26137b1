"""Item effects from noisy sums and noisy counts, each shrunk according to the known noise variance.

All of it is post-processing. With S_i = n_i b_i + noise and N_i = n_i + noise, of known deviations, and
b_i distributed around a prior mean m_i that may depend on the item's popularity and features, the posterior
mean of b_i is

    b_i = m_i + n_i (S_i − n_i m_i)/(n_i² + (σ_S² + s_r² n_i)/s_b²).

n_i itself is replaced by its posterior mean under a prior estimated from all N_i (empirical Bayes), m_i and
s_b² come from all sums and from what is publicly known (``effect_prior``). See Efron & Morris 1975.
"""

from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats
from hushrec.estimation.effect_prior import effect_prior
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.privacy.bounded import Noisy
from hushrec.release.predictors.choice import LEAST_POPULARITY, LIKING

_RATING_VARIANCE = 0.05
"""Variance of a rating around its item's mean, in squared widths of the scale: 0.8 on one to five stars."""
_GRID = 200  # counts with positive prior probability, in addition to 0
_LEAST = 1e-3
"""Number of ratings assumed for an item without any."""


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkMeans:
    """Released item effects and their uncertainty.

    Attributes:
        mean: posterior mean of each item's effect, relative to the origin of the sums, shape (n_items,).
        variance: posterior variance of each item's effect.
        counts: posterior mean of the number of ratings (unit ``user``: of the sum of weights).

    Privacy: post-processing.
    """

    mean: Floats
    variance: Floats
    counts: Floats


def shrink(
    sums: Noisy, counts: Noisy, span: float, prior: ItemPrior = NOTHING_KNOWN, origin: float = 0.0
) -> ShrunkMeans:
    """Posterior item effects from a noisy sum and a noisy count per item.

    Args:
        sums: Σ of (shifted or centred) ratings, shape (n_items,).
        counts: number of ratings, shape (n_items,).
        span: width of the scale.
        prior: what is publicly known about the items.
        origin: what was subtracted from the ratings, in rating units.

    Privacy: post-processing.
    """
    n = denoised_counts(counts)
    noise = sums.sigma**2 + _RATING_VARIANCE * span**2 * n
    expected = effect_prior(sums.values, n, noise, span, prior, origin)
    gain = n / (n * n + noise / expected.variance)
    mean = expected.mean + gain * (sums.values - n * expected.mean)
    left = 1 - gain * n
    return ShrunkMeans(mean, left * (expected.variance + left * expected.doubt), n)


def damped(sums: Noisy, counts: Noisy, global_mean: float, strength: float) -> ShrunkMeans:
    """Item means as printed: (MSum_i + β G)/(MCnt_i + β) (McSherry & Mironov 2009, §4.2).

    Counts below zero, which can only come from noise, count as zero.

    Privacy: post-processing.
    """
    n = np.maximum(counts.values, 0.0)
    mean = (sums.values + strength * global_mean) / np.maximum(n + strength, _LEAST)
    return ShrunkMeans(mean, np.zeros_like(mean), n)


def denoised_counts(counts: Noisy) -> Floats:
    """Posterior mean of each count under a prior over a geometric grid, fitted by a few steps of EM.

    Privacy: post-processing.
    """
    observed, sigma = counts.values, counts.sigma
    if sigma == 0:
        return np.maximum(observed, _LEAST)
    top = max(float(observed.max()), 4 * sigma, 10.0) * 1.2
    grid = np.concatenate([[0.0], np.geomspace(min(1.0, sigma), top, _GRID)])
    likelihood = (observed[:, None] - grid) / sigma  # in place from here on: see ``shrinking``
    np.minimum(np.square(likelihood, out=likelihood), 1400.0, out=likelihood)
    likelihood /= -2
    np.exp(likelihood, out=likelihood)
    posterior = np.empty_like(likelihood)
    prior = np.full(len(grid), 1 / len(grid))
    for _ in range(30):
        np.multiply(likelihood, prior, out=posterior)
        posterior /= posterior.sum(axis=1, keepdims=True)
        prior = 0.95 * posterior.mean(axis=0) + 0.05 / len(grid)
    # Where the grid is coarser than the noise, keep the observation itself.
    smooth = np.multiply(likelihood, prior, out=posterior)
    smooth /= smooth.sum(axis=1, keepdims=True)
    return np.maximum(np.where(observed > 6 * sigma, observed, smooth @ grid), _LEAST)


def popularity(sums: Noisy, counts: Noisy, span: float) -> Floats:
    """How often each item is chosen and liked: the posterior mean of Σ_u (1 + 2 (r_ui − origin)/span).

    A rating counts from 0 for the lowest to 2 for the highest. This is to first order n_i exp(2 b_i/span), as
    ``hushrec.release.predictors.choice`` has it. Under noise the sums say about as much of popularity as the
    counts. The prior is that of ``denoised_counts``.

    Args:
        sums: Σ of (shifted or centred) ratings, shape (n_items,).
        counts: number of ratings, shape (n_items,).
        span: width of the scale.

    Privacy: post-processing.
    """
    weight = LIKING / span
    sigma = float(np.hypot(counts.sigma, weight * sums.sigma))
    values = counts.values + weight * sums.values
    return denoised_counts(Noisy("item popularity", values, sigma, counts.step, None))


def known_popularity(counts: Floats, effects: Floats, span: float) -> Floats:
    """The same from counts and item effects without noise: n_i (1 + 2 b_i/span), positive.

    Privacy: post-processing.
    """
    return np.maximum(counts * (1 + LIKING / span * effects), LEAST_POPULARITY)


def shrinking(entries: int) -> tuple[float, float]:
    """Peak bytes and rough seconds of ``denoised_counts`` for so many entries. Privacy: public."""
    cells = entries * (_GRID + 1.0)
    return 2 * 8 * cells, 30 * cells / 1.8e8
