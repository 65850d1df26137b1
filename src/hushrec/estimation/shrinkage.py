"""Item effects from noisy sums and noisy counts, each shrunk according to the known noise variance.

All of it is post-processing. With S_i = n_i b_i + noise and N_i = n_i + noise, of known deviations, and
b_i distributed around a prior mean m_i that may depend on the item's popularity and features, the posterior
mean of b_i given n_i is

    b_i = m_i + n_i (S_i − n_i m_i)/(n_i² + (σ_S² + s_r² n_i)/s_b²).

m_i and s_b² come from all sums and from what is publicly known (``effect_prior``). Where the noise hides n_i,
S_i says something of it too, so b_i and n_i have a joint posterior, over a grid of counts whose prior comes
from all N_i and S_i (empirical Bayes). An effect is used once for each of the item's ratings, so the estimate
that errs least over all ratings is E[n_i b_i]/E[n_i]: a count that may be large weighs more than one that may
be small. See Efron & Morris 1975.

Privacy: post-processing.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.estimation.priors import EffectPrior, effect_prior
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.privacy.noisy import Noisy
from hushrec.release.predictors.scores import LEAST_POPULARITY, LIKING

_USUAL_RATIO, _DOUBT = 1.0, 0.3
"""Mean ratio of people's weights before it is measured, and its standard deviation. Chosen by hand."""
_LEAST_RATIO, _MOST_RATIO = 0.25, 2.0
"""Bounds on it, so that dividing by it makes noise at most four times as wide. Chosen by hand."""


class Known(Protocol):
    """Sums and the standard deviation of their noise: one for all entries, or one for each."""

    @property
    def values(self) -> Floats: ...
    @property
    def sigma(self) -> float | Floats: ...


class Estimated(NamedTuple):
    """Sums that several measurements give together, with the deviation of each, shapes (n,)."""

    values: Floats
    sigma: float | Floats


def mean_ratio(ratios: Known, people: Known) -> float:
    """Estimate κ, the mean ratio of people's weights in sums to those in counts, by its posterior mean.

    Args:
        ratios: their sum, each from 0 to 2.
        people: their number.
    """
    n = max(float(people.values[0]), 1.0)
    ratio = float(ratios.values[0]) / n
    # Of the quotient, to first order in the noise of both.
    variance = (float(ratios.sigma) ** 2 + (ratio * float(people.sigma)) ** 2) / n**2
    trust = _DOUBT**2 / (_DOUBT**2 + variance)
    return float(np.clip(_USUAL_RATIO + trust * (ratio - _USUAL_RATIO), _LEAST_RATIO, _MOST_RATIO))


RATING_VARIANCE = 0.05
"""Variance of a rating around its averages, in squared widths of the scale: 0.8 on one to five stars.

Chosen by hand.
"""
_GRID = 200  # counts with positive prior probability, in addition to 0; chosen by hand
_RATIOS = np.geomspace(0.003, 300, 70)
"""Ratios of a count to its expectation with positive prior probability: chosen by hand."""
_STEPS, _RATIO_STEPS = 30, 80  # of EM, over counts and over ratios; chosen by hand
_CLEAR = 6.0
"""Deviations of the noise above which an observed count stays unchanged: the grid may be coarser; by hand."""
_ROWS = 1 << 10  # of the joint posterior that are computed at once
_LEAST = 1e-3
"""Number of ratings assumed for an item without any, so that nothing is divided by zero."""


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
    sums: Known,
    counts: Known,
    span: float,
    prior: ItemPrior = NOTHING_KNOWN,
    origin: float = 0.0,
    rating_variance: float | None = None,
) -> ShrunkMeans:
    """Estimate item effects by their posterior, from a noisy sum and a noisy count per item.

    Args:
        sums: Σ of (shifted or centred) ratings, shape (n_items,).
        counts: number of ratings, shape (n_items,).
        span: width of the scale.
        prior: what is publicly known about the items.
        origin: what was subtracted from the ratings, in rating units.
        rating_variance: variance of what is summed around the item's effect, in squared rating units; by
            default that of a rating.

    Privacy: post-processing.
    """
    n = denoised_counts(counts)
    if rating_variance is None:
        rating_variance = RATING_VARIANCE * span**2
    # The variance of S_i around n_i b_i: the noise, and n_i ratings around their item's effect.
    noise = sums.sigma**2 + rating_variance * n
    expected = effect_prior(sums.values, n, noise, span, prior, origin)
    gain = n / (n * n + noise / expected.variance)
    mean = expected.mean + gain * (sums.values - n * expected.mean)
    prior_weight = 1 - gain * n
    # s_b² of an effect, and the doubt about m_i, as far as the sums leave the prior any weight.
    estimates = ShrunkMeans(
        mean, prior_weight * (expected.variance + prior_weight * expected.doubt), n.copy()
    )
    # A clear count is taken as it is. Where the noise hides it, the sum says something of it too.
    hidden = np.flatnonzero(counts.values <= _CLEAR * counts.sigma)
    if np.any(counts.sigma) and len(hidden):
        of_hidden = EffectPrior(*(column[hidden] for column in expected))
        _integrate(estimates, hidden, sums, counts, of_hidden, n[hidden], rating_variance)
    return estimates


def _integrate(
    estimates: ShrunkMeans,
    rows: Ints,
    sums: Known,
    counts: Known,
    expected: EffectPrior,
    centre: Floats,
    rating_variance: float,
) -> None:
    """Replace the estimates of ``rows`` by averages over every number of ratings they may have.

    Args:
        estimates: changed in place.
        rows: items whose counts the noise hides.
        sums, counts: of all items.
        expected: of ``rows``, at the numbers of ratings ``centre``.
        centre: shape of ``rows``.
        rating_variance: variance of a rating, in squared rating units.
    """
    totals, variance_of_sums = sums.values[rows], np.broadcast_to(sums.sigma, sums.values.shape)[rows] ** 2
    grid, likelihood = _likelihood(counts.values[rows], _of_rows(counts, rows))
    apart = np.log1p(grid)

    def parts(at: slice) -> tuple[Floats, Floats, Floats]:
        """Return, for each count, the effect's mean, the rest of the sum, and the sum's variance."""
        # m_i is linear in log(1 + n_i), so it differs from count to count.
        mean = expected.mean[at, None] + expected.slope[at, None] * (apart - np.log1p(centre[at, None]))
        noise = variance_of_sums[at, None] + rating_variance * grid
        # Var(S | n) = σ_S² + s_r² n + s_b² n².
        return mean, totals[at, None] - grid * mean, noise + expected.variance[at, None] * grid**2

    blocks = [slice(start, start + _ROWS) for start in range(0, len(rows), _ROWS)]
    for at in blocks:
        _, missed, variance = parts(at)
        # p(N, S | n) = p(N | n) p(S | n). The second in logarithms, less the largest, so that none is lost.
        exponent = (missed**2 / variance + np.log(variance / variance[:, :1])) / -2
        likelihood[at] *= np.exp(exponent - exponent.max(axis=1, keepdims=True))
    posterior = _posterior(likelihood, 0.001, _STEPS)
    for at in blocks:
        mean, missed, variance = parts(at)
        gain = expected.variance[at, None] * grid / variance
        prior_weight = 1 - gain * grid
        mean += gain * missed
        estimates.counts[rows[at]] = np.maximum(posterior[at] @ grid, _LEAST)
        # E[n b]/E[n]: a count weighs as often as its effect would be used.
        weights = posterior[at] * np.maximum(grid, _LEAST)
        weights /= weights.sum(axis=1, keepdims=True)
        average = (weights * mean).sum(axis=1)
        around = prior_weight * (expected.variance[at, None] + prior_weight * expected.doubt[at, None])
        estimates.mean[rows[at]] = average
        # The variance given the count, and that between counts.
        estimates.variance[rows[at]] = (weights * (around + (mean - average[:, None]) ** 2)).sum(axis=1)


def damped_means(sums: Noisy, counts: Noisy, global_mean: float, reg: float) -> ShrunkMeans:
    """Return item means as printed: (MSum_i + β G)/(MCnt_i + β) (McSherry & Mironov 2009, §4.2).

    Counts below zero, which can only come from noise, count as zero.

    Privacy: post-processing.
    """
    n = np.maximum(counts.values, 0.0)
    mean = (sums.values + reg * global_mean) / np.maximum(n + reg, _LEAST)
    return ShrunkMeans(mean, np.zeros_like(mean), n)


def _of_rows(counts: Known, rows: Ints) -> float | Floats:
    return counts.sigma if isinstance(counts.sigma, float) else counts.sigma[rows]


def denoised_counts(counts: Known, expected: Floats | None = None) -> Floats:
    """Estimate counts by their posterior mean under a prior over a geometric grid, fitted by EM.

    Args:
        counts: one for each item, shape (n,).
        expected: expectation of each, positive. The prior is then over the ratio of the count to it.

    Privacy: post-processing.
    """
    observed, sigma = counts.values, counts.sigma
    if not np.any(sigma):
        return np.maximum(observed, _LEAST)
    if expected is None:
        grid, likelihood = _likelihood(observed, sigma)
        smooth = _posterior(likelihood, 0.05, _STEPS) @ grid
    else:
        # The observed count is N(θ_i g, σ²), with g the ratio of the true one to its expectation θ_i.
        exponent = ((observed[:, None] - expected[:, None] * _RATIOS) / _column(sigma)) ** 2 / -2
        likelihood = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        smooth = expected * (_posterior(likelihood, 0.001, _RATIO_STEPS) @ _RATIOS)
    # Where the grid is coarser than the noise, keep the observation itself.
    return np.maximum(np.where(observed > _CLEAR * sigma, observed, smooth), _LEAST)


def combine(one: Noisy, other: Noisy) -> Noisy:
    """Average two measurements of the same sums, each by the inverse of its variance.

    Privacy: post-processing.
    """
    if not one.sigma:
        return one
    weight = other.sigma**2 / (one.sigma**2 + other.sigma**2)
    values = weight * one.values + (1 - weight) * other.values
    # The variance of the mean is σ₁² σ₂²/(σ₁² + σ₂²).
    return Noisy(one.name, values, math.sqrt(weight) * one.sigma, one.step, None)


def _column(sigma: float | Floats) -> float | Floats:
    return sigma if isinstance(sigma, float) else sigma[:, None]


def _likelihood(observed: Floats, sigma: float | Floats) -> tuple[Floats, Floats]:
    """Return a geometric grid of counts and the likelihood of each for each observation."""
    top = max(float(observed.max()), 4 * float(np.max(sigma)), 10.0) * 1.2
    grid = np.concatenate([[0.0], np.geomspace(min(1.0, float(np.min(sigma))), top, _GRID)])
    likelihood = (observed[:, None] - grid) / _column(sigma)  # in place from here on: see ``shrinking_cost``
    # exp(−700) is above the smallest normal number: a row of zeros would have no posterior.
    np.minimum(np.square(likelihood, out=likelihood), 1400.0, out=likelihood)
    likelihood /= -2
    return grid, np.exp(likelihood, out=likelihood)


def _posterior(likelihood: Floats, even: float, steps: int) -> Floats:
    """Return the posterior over the grid of each row, under a prior fitted to all rows by EM.

    Args:
        likelihood: shape (n, grid).
        even: fraction of the prior that is spread evenly over the grid.
        steps: number of steps of EM.
    """
    size = likelihood.shape[1]
    posterior = np.empty_like(likelihood)
    prior = np.full(size, 1 / size)
    for _ in range(steps):
        # E step: the posterior of each row. M step: the prior is their mean, a part of it spread evenly, so
        # that no value of the grid is ruled out for good.
        np.multiply(likelihood, prior, out=posterior)
        posterior /= posterior.sum(axis=1, keepdims=True)
        prior = (1 - even) * posterior.mean(axis=0) + even / size
    np.multiply(likelihood, prior, out=posterior)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def popularity(sums: Known, counts: Known, span: float) -> Floats:
    """Estimate how often each item is chosen and liked: Σ_u (1 + 2 (r_ui − origin)/span), denoised.

    A rating counts from 0 for the lowest to 2 for the highest. This is to first order n_i exp(2 b_i/span), as
    ``hushrec.release.predictors.scores`` has it. Under noise the sums say about as much of popularity as the
    counts. The prior is that of ``denoised_counts``.

    Args:
        sums: Σ of (shifted or centred) ratings, shape (n_items,).
        counts: number of ratings, shape (n_items,).
        span: width of the scale.

    Privacy: post-processing.
    """
    weight = LIKING / span
    # Sums and counts have independent noise.
    sigma = np.hypot(counts.sigma, weight * sums.sigma)
    values = counts.values + weight * sums.values
    return denoised_counts(Estimated(values, sigma if np.ndim(sigma) else float(sigma)))


def known_popularity(counts: Floats, effects: Floats, span: float) -> Floats:
    """Return n_i (1 + 2 b_i/span), positive: ``popularity`` of counts and effects without noise.

    Privacy: post-processing.
    """
    return np.maximum(counts * (1 + LIKING / span * effects), LEAST_POPULARITY)


def shrinking_cost(entries: int) -> tuple[float, float]:
    """Return peak bytes and rough seconds of ``denoised_counts`` for this many entries."""
    cells = entries * (_GRID + 1.0)
    return 2 * 8 * cells, 30 * cells / 1.8e8
