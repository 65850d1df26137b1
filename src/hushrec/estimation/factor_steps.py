"""Factors from noisy sums, each row shrunk according to the known noise variance. All post-processing.

A row's sum is b = A p + data noise + privacy noise. The curvature A = Σ q qᵀ over the row's ratings is not
measured: it is approximated by n M, the row's released count times the mean of q qᵀ over ratings, both
computed from released values. Initial factors are the same in every run: they follow from sizes alone.

Privacy: post-processing.
"""

import numpy as np
from numpy.random import default_rng  # noqa: TID251  (initial values, the same for everybody: no release noise)

from hushrec.arrays import Floats, Floats32
from hushrec.estimation.shrinkage import RATING_VARIANCE
from hushrec.privacy.noisy import Noisy

_ROWS = 1 << 16  # drawn at once: bounds the memory, does not change the result


def normal_factors(n: int, rank: int) -> Floats:
    """Draw random initial factors, shape (n, rank), rows of norm about 1."""
    factors = np.empty((n, rank))
    fill_normal(factors)
    return factors


def fill_normal(factors: Floats | Floats32, size: float = 1.0) -> None:
    """Write ``size`` · ``normal_factors`` into an array of shape (n, rank), of any precision and size."""
    n, rank = factors.shape
    stream = default_rng((rank, n))
    for start in range(0, n, _ROWS):
        rows = factors[start : start + _ROWS]
        rows[:] = size * (stream.standard_normal(rows.shape) / np.sqrt(rank))


def uniform_factors(n: int, rank: int) -> Floats:
    """Draw random initial factors in [0, 1), shape (n, rank)."""
    return np.asarray(default_rng((rank, n)).random((n, rank)), dtype=np.float64)


_EPS = float(np.finfo(np.float64).eps)

FACTOR_VARIANCE = 0.00375
"""Prior variance of p·q, in squared widths of the scale: (0.24 stars)² on one to five.

Chosen on two 90/10 splits of MovieLens 1M (lab/friedman_berkovsky_kaafar/friedman.md).
"""
_TOGETHER = 0.2
"""φ of ``langevin_step``: the best of 0.01 to 1 on films and animated series."""


def solve(sums: Noisy, counts: Floats, others: Floats, other_counts: Floats, span: float) -> Floats:
    """Estimate each row's factors by their posterior mean, given its noisy right-hand side.

    p = S A (A S A + s_x² A + σ² I)⁻¹ b with A = n M and the prior p ~ N(0, S), S = I · s²/tr M.

    Args:
        sums: b of every row, shape (n, rank).
        counts: number of ratings of every row, as released, shape (n,).
        others: released factors of the other side, shape (m, rank).
        other_counts: their numbers of ratings, shape (m,).
        span: width of the scale.

    Returns:
        Shape (n, rank).

    Privacy: post-processing.
    """
    # M, the mean of q qᵀ over all ratings. A row's own A is not measured, so n M stands for it.
    moment = (others * other_counts[:, None]).T @ others / other_counts.sum()
    # E (p·q)² = S tr M over the ratings, which is to be s².
    prior = FACTOR_VARIANCE * span**2 / max(float(np.trace(moment)), 1e-12)
    curvature = np.maximum(counts, 1e-3)[:, None, None] * moment
    # The covariance of b: A S A of the factors, s_x² A of the ratings, and below σ² I of the noise.
    total = prior * curvature @ curvature + RATING_VARIANCE * span**2 * curvature
    rank, star = others.shape[1], span / 4
    rounding = 4 * rank * _EPS * np.einsum("nii->n", total)  # of a row known except in some directions
    ridge = np.maximum(sums.sigma**2 + 1e-12 * star**2, rounding)
    total += ridge[:, None, None] * np.eye(rank)
    fractions = np.linalg.solve(total, sums.values[:, :, None])
    return np.asarray(prior * (curvature @ fractions)[:, :, 0], dtype=np.float64)


def step(
    factors: Floats,
    sums: Noisy,
    counts: Floats,
    others: Floats,
    other_counts: Floats,
    *,
    width: float,
    span: float,
    remaining_variance: float,
) -> Floats:
    """Take one gradient step of each row, with a length adapted to its noise.

    p ← p + η (w g − λ p), with η = a v/(a² v + w² σ²): the posterior mean of the remaining step, for a row
    of curvature a = n w² m + λ whose coordinates have the variance v = ``remaining_variance`` · (prior
    variance).

    Args:
        factors: released p, shape (n, rank).
        sums: g = Σ e q of every row at the released factors, shape (n, rank).
        counts: number of ratings of every row, as released, shape (n,).
        others: released q, shape (m, rank).
        other_counts: their numbers of ratings, shape (m,).
        width: w, the value of a unit of p·q in rating units.
        span: width of the scale.
        remaining_variance: fraction of the prior variance that remains, in (0, 1].

    Returns:
        Shape (n, rank).

    Privacy: post-processing.
    """
    rank = factors.shape[1]
    moment = width**2 * float(other_counts @ (others**2).sum(axis=1) / other_counts.sum()) / rank
    # As in ``solve``, with M replaced by the mean of its diagonal: a step treats all coordinates alike.
    prior = FACTOR_VARIANCE * span**2 / max(moment * rank, 1e-12 * (span / 4) ** 2)
    # λ, the penalty that amounts to this prior.
    ridge = RATING_VARIANCE * span**2 / prior
    curvature = np.maximum(counts, 1e-3) * moment + ridge
    rate = (
        curvature
        * prior
        * remaining_variance
        / (curvature**2 * prior * remaining_variance + (width * sums.sigma) ** 2)
    )
    return np.asarray(factors + rate[:, None] * (width * sums.values - ridge * factors), dtype=np.float64)


def fill_ball(factors: Floats) -> Floats:
    """Scale factors so that 19 of 20 rows lie in the unit ball: longer rows have more signal for the noise.

    Privacy: post-processing.
    """
    norms = np.sqrt((factors**2).sum(axis=1))
    least = max(1e-12 * float(norms.max()), float(np.finfo(np.float64).tiny))
    return np.asarray(factors / max(float(np.quantile(norms, 0.95)), least), dtype=np.float64)


def user_ridge(items: Floats, counts: Floats) -> float:
    """Return the weight of the prior in a person's own fit on the item factors, s_x²/(s²/tr M).

    Privacy: post-processing.
    """
    # tr M, from released factors and counts.
    moment = float(counts @ (items**2).sum(axis=1) / counts.sum())
    return RATING_VARIANCE / FACTOR_VARIANCE * max(moment, 1e-12)


def user_gradient_step(
    items: Floats, sums: Noisy, counts: Floats, *, ridge: float, span: float, remaining_variance: float
) -> tuple[Floats, Floats]:
    """Take one step of the item factors, along gradients that people computed from their own ratings.

    As ``step``, with people's vectors treated as draws from their prior.

    Args:
        items: released q, shape (n_items, rank).
        sums: Σ e p of every item, shape (n_items, rank).
        counts: released weight of each item, shape (n_items,).
        ridge: ridge of the people's fits, as ``user_ridge`` gives it.
        span: width of the scale.
        remaining_variance: fraction of the prior variance that remains, in (0, 1].

    Returns:
        The factors after the step, and the fraction of the remaining way that each step covers, in (0, 1).

    Privacy: post-processing.
    """
    noise = RATING_VARIANCE * span**2
    moment = noise / ridge  # prior variance of a coordinate of p
    prior = max(float(counts @ (items**2).sum(axis=1) / counts.sum()) / items.shape[1], 1e-9)
    curvature = np.maximum(counts, 1e-3) * moment + noise / prior
    rate = (
        curvature * prior * remaining_variance / (curvature**2 * prior * remaining_variance + sums.sigma**2)
    )
    # A step covers η a of the way to the row's optimum; the rest is what remains of its start.
    return items + rate[:, None] * (sums.values - noise / prior * items), rate * curvature


def leading(factors: Floats, rank: int) -> tuple[Floats, Floats]:
    """Rotate factors so that their first ``rank`` columns, the longest, come apart from the others.

    Columns of zeros are added if there are fewer.

    Args:
        factors: shape (n_items, any rank).

    Returns:
        Shapes (n_items, rank) and (n_items, the rest); together they have the inner products of ``factors``.

    Privacy: public in, public out.
    """
    _, turned = np.linalg.eigh(factors.T @ factors)
    rotated = factors @ turned[:, ::-1]
    missing = np.zeros((len(factors), max(rank - rotated.shape[1], 0)))
    return np.hstack([rotated[:, :rank], missing]), rotated[:, rank:]


def prior_variance(factor_variance: float, rank: int, span: float) -> float:
    """Return τ² such that p·q has variance ``factor_variance`` in squared widths of the scale."""
    return factor_variance * span**2 / rank


def langevin_step(
    factors: Floats,
    gradients: Floats,
    noise: Floats,
    information: Floats,
    *,
    mean: Floats,
    pull: Floats,
    variance: Floats,
) -> tuple[Floats, Floats]:
    """Take one Langevin step of each row, with a length adapted to its noise.

    q ← q + η (g − λ (q − m)), η = a v/(a² v + φ σ²): the posterior mean of the remaining step for a row of
    curvature a = n I + λ whose coordinates have the variance v. φ < 1 because a row is not alone: where the
    noise hides each row, all of them together still turn towards the directions of taste.

    Args:
        factors: released q, shape (n_items, rank).
        gradients: unbiased Σ of g, noisy, shape (n_items, rank).
        noise: σ² of each row, shape (n_items,).
        information: n I of each row, shape (n_items,).
        mean: m, the prior mean of each row, shape of ``factors``.
        pull: λ of each row, s² over its prior variance, shape (n_items,).
        variance: v of each row, shape (n_items,).

    Returns:
        The factors after the step, and the fraction of the remaining way that each step covers, in (0, 1).

    Privacy: post-processing.
    """
    curvature = information + pull
    pace = curvature * variance / (curvature**2 * variance + _TOGETHER * noise)
    return factors + pace[:, None] * (gradients - pull[:, None] * (factors - mean)), pace * curvature
