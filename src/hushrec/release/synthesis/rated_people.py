"""Synthetic people of a release of ratings: what they rate, and how.

A release of ratings is a model of people: r_i = μ_i + b + f_i·p + noise with b ~ N(0, user_variance) and
p ~ N(0, I). Which items they rate is drawn by popularity alone, so these rows are for predicting ratings, and
never for lists.

Privacy: post-processing.
"""

import math

import numpy as np
from numpy.random import Generator  # noqa: TID251  (draws from a public model, no release noise)

from hushrec.arrays import Floats, Ints
from hushrec.release.artefact import Release
from hushrec.release.predictors.block_scores import Rows
from hushrec.release.predictors.choice import LIKING
from hushrec.release.synthesis.lengths import Lengths
from hushrec.release.synthesis.simulated_moments import calibrated
from hushrec.release.synthesis.user_moments import popularity_moments

_NOISE, _LEAST_NOISE = 0.06, 0.03
"""Variance of a rating around its user's level, factors included, and the least beyond factors; in squared
widths of the scale. Chosen on MovieLens 1M."""
_ROUNDS = 15
_MOST_SLOPE = 1.6
"""Largest factor by which spreads are widened where the ends of the scale narrow them."""
_MOST_STEPS = 64
"""Steps of the scale by which the effect of its ends is computed."""
_LARGEST_DENSE = 100
"""Factors that are taken of a dense covariance."""


class RatedPeople:
    """Draws people with ratings.

    Ratings are rounded and clamped to the scale, which moves means and narrows spreads. So latent means are
    solved for whose clamped ratings have the released means, and spreads are widened by the slope there.

    Args:
        release: of ratings.
        lengths: numbers of ratings of the people.
    """

    def __init__(self, release: Release, lengths: Lengths) -> None:
        self._lo, hi, self._step = release.require_scale()
        self._span, self._hi = hi - self._lo, hi
        tensors, constants = release.tensors, release.constants
        effects = tensors["item_effects"].astype(np.float64)
        popularity = tensors["item_popularity"].astype(np.float64)
        liking = np.maximum(1 + LIKING * effects / self._span, 0.1)  # of a popularity that counts likes more
        self._choices = calibrated(popularity_moments(popularity / liking, lengths))
        factors = _factors(release)
        explained = (factors**2).sum(axis=1)
        square = self._span**2
        noise = np.maximum(_NOISE * square - explained, _LEAST_NOISE * square) - self._step**2 / 12
        level = math.sqrt(constants["user_variance"])
        deviation = np.sqrt(level**2 + explained + noise)
        self._means, slopes = self._unclamped(effects + constants["user_mean"], deviation)
        self._levels, self._factors = level * slopes, factors * slopes[:, None]
        self._noise = np.sqrt(noise)

    def drawn(self, lengths: Ints, rng: Generator) -> Rows:
        """Draw a block of people, with ratings on the scale as values."""
        rows, _ = self._choices.drawn(lengths, rng)
        person = np.repeat(np.arange(len(lengths)), lengths)
        level = rng.standard_normal(len(lengths))
        tastes = rng.standard_normal((len(lengths), self._factors.shape[1]))
        ratings = self._means[rows.items] + self._levels[rows.items] * level[person]
        ratings += np.einsum("ck,ck->c", self._factors[rows.items], tastes[person])
        ratings += self._noise[rows.items] * rng.standard_normal(len(person))
        steps = np.clip(np.rint((ratings - self._lo) / self._step), 0, round(self._span / self._step))
        return Rows(rows.indptr, rows.items, self._lo + self._step * steps)

    def _unclamped(self, means: Floats, deviation: Floats) -> tuple[Floats, Floats]:
        """Return latent means whose rounded, clamped ratings have these means, and 1/slope there."""
        n_steps = min(round(self._span / self._step), _MOST_STEPS)
        step = self._span / n_steps
        ends = self._lo + step * (np.arange(n_steps) + 0.5)
        latent = means.copy()
        for _ in range(_ROUNDS):
            expected = np.full_like(latent, self._lo)
            for end in ends:
                expected += step * _normal_cdf((latent - end) / deviation)
            latent = np.clip(latent + means - expected, self._lo - self._span, self._hi + self._span)
        slope = np.zeros_like(latent)
        for end in ends:
            slope += step * np.exp(-(((latent - end) / deviation) ** 2) / 2)
        slope /= math.sqrt(2 * math.pi) * deviation
        return latent, np.clip(1 / np.maximum(slope, 1 / _MOST_SLOPE), 1, _MOST_SLOPE)


def _factors(release: Release) -> Floats:
    """Return factors F of the items' covariance F Fᵀ, shape (n_items, k)."""
    if (factors := release.tensors.get("item_factors")) is not None:
        return factors.astype(np.float64)
    n = len(release.items)
    covariance = np.zeros((n, n))
    rows, columns = np.triu_indices(n)
    covariance[rows, columns] = covariance[columns, rows] = release.tensors["covariance"]
    values, vectors = np.linalg.eigh(covariance)
    kept = slice(None, -_LARGEST_DENSE - 1, -1)
    return np.asarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0)), dtype=np.float64)


def _normal_cdf(x: Floats) -> Floats:
    """Return the standard normal distribution function, to 1e-7 (Abramowitz & Stegun 1964, 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * series
    return np.asarray(np.where(x > 0, 1 - tail, tail), dtype=np.float64)
