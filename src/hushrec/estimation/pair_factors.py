"""Item factors of a noisy Gram matrix of users' items, and the linear model (EASE) that follows from them.

Privacy: post-processing, all of it.

Items are muted before the Gram matrix is formed: rare ones are lost in its noise and would only shorten
what is left of each user's unit vector. Above its diagonal, the matrix is L Lᵀ plus noise of known variance
σ², with L_ik ~ N(0, t_i/α_k) and t_i public: how much of the users' vectors falls on item i. Mean-field
variational Bayes with one α_k per factor lets factors that the noise hides vanish (Lim & Teh 2007). It is the
idea of ``low_rank.weighted_factors``, with noise that is equal everywhere, so that all rows share one k × k
eigendecomposition.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Floats32
from hushrec.estimation.covariance.low_rank import leading

# The constants were tried on MovieLens 1M, on other draws of people than those that are shown, and checked on
# MovieLens 100K, latest-small, FilmTrust and animated series: lab/results/top_n.md.
_MOST_ROUNDS, _FEWEST_ROUNDS, _FACTOR_ROUNDS = 100, 40, 2500
"""Bounds of ``rounds``, and its product with the number of factors."""
_MUTING = 270.0
"""Times √n/(μ n̂): the count, over the average, of an item that is muted to half."""
_FEWEST_FACTORS, _FEW_FACTORS, _REACH_PER_FACTOR, _SIGNAL_PER_FACTOR = 4, 16, 100.0, 200.0
"""Factors to start with: the fewest, how many a crowd of any size may have, and μ Σ √c and μ n̂ for each."""
_FEWEST_ITEMS, _ITEMS_PER_CROWD = 500, 1.25
"""The fewest items to start with, and how many for each unit of μ n̂."""
_LEAST = 1e-8
"""Smallest weight, t and eigenvalue, so that nothing is divided by zero."""
_RIDGE = 1.0
"""Of the mean of the diagonal; docs/models/private_ease.md says so, docs/decisions/one-shot-ease.md why."""
_FLOOR = 0.05
"""Smallest part of an item's own variance that its factors leave."""


class Muting(NamedTuple):
    """How much each item counts in the users' vectors.

    Attributes:
        weights: d, above 0 and at most 1, shape (n,).
        direction: v, of length 1: where the vectors of all users lie on average, shape (n,).
        variance: t, mean 1: how much of the squared vectors falls on each item, shape (n,).

    Privacy: post-processing.
    """

    weights: Floats
    direction: Floats
    variance: Floats


def muting(counts: Floats, signal: float) -> Muting:
    """Return weights d_i = s_i/(s_i + 270 √n/(μ n̂) · mean s), scaled so that the largest is 1.

    Args:
        counts: s, denoised counts, positive, shape (n,).
        signal: μ n̂, the Gaussian-DP parameter μ of the fit times the size of the crowd; infinite without
            noise.
    """
    least = _MUTING * math.sqrt(len(counts)) / signal * counts.mean()
    weights = counts / (counts + least)
    weights = np.maximum(weights / weights.max(), _LEAST)
    direction = counts * weights
    variance = direction * weights
    return Muting(weights, direction / np.linalg.norm(direction), variance / variance.mean())


def symmetric(above: Floats, n: int) -> Floats32:
    """Unpack a strict upper triangle, row by row, into a symmetric matrix with a zero diagonal."""
    matrix = np.zeros((n, n), dtype=np.float32)
    start = 0
    for i in range(n - 1):
        row = above[start : start + n - i - 1]
        matrix[i, i + 1 :] = matrix[i + 1 :, i] = row
        start += n - i - 1
    return matrix


def cleaned(above: Floats, sigma: float, variance: Floats, signal: float, reach: float, rank: int) -> Floats:
    """Fit item factors to a released strict upper triangle; rows of items that noise hides are 0.

    Where the crowd is small for its noise, rare items and further factors only make the fit slower to tell
    signal from noise, so it starts with fewer of both.

    Args:
        above: the triangle, row by row, of n items.
        sigma: standard deviation of the noise of an entry.
        variance: t, shape (n,).
        signal: μ n̂, as for ``muting``.
        reach: μ Σ √c for users with c items, in half for unit ``user``: how much noise the pairs stand.
        rank: largest number of factors.

    Returns:
        L, shape (n, number of factors).
    """
    n = len(variance)
    most = min(reach / _REACH_PER_FACTOR, max(_FEW_FACTORS, signal / _SIGNAL_PER_FACTOR), float(rank))
    n_factors = min(rank, n - 1, round(max(most, _FEWEST_FACTORS)))
    n_items = max(_FEWEST_ITEMS, n_factors + 1, round(min(_ITEMS_PER_CROWD * signal, n)))
    kept = np.sort(np.argsort(-variance, kind="stable")[:n_items])
    factors = np.zeros((n, n_factors))
    pairs = symmetric(above, n)
    if len(kept) < n:
        pairs = pairs[np.ix_(kept, kept)]
    factors[kept] = pair_factors(pairs, sigma, variance[kept], n_factors)
    return factors


def rounds(n_factors: int) -> int:
    """Return the number of updates of all item factors: 2500 of single factors, within bounds.

    With many factors there is little noise, which few updates settle; with few, further ones silence weak
    factors that still help.
    """
    return max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, _FACTOR_ROUNDS // n_factors))


def pair_factors(pairs: Floats32, sigma: float, variance: Floats, rank: int) -> Floats:
    """Fit L with pairs ≈ L Lᵀ off the diagonal.

    Args:
        pairs: symmetric, with a zero diagonal, shape (n, n).
        sigma: standard deviation of the noise of an entry.
        variance: t, shape (n,).
        rank: number of factors to start with, below n.

    Returns:
        Shape (n, rank); factors that the noise hides are about 0.
    """
    n = len(pairs)
    t = np.maximum(variance, _LEAST)[:, None]
    root = np.sqrt(t)
    values, vectors = leading(pairs * root.astype(np.float32) * root.T.astype(np.float32), rank)
    largest = max(float(values[0]), _LEAST)
    factors = vectors * np.sqrt(np.maximum(values, 1e-3 * largest)) / np.maximum(root, 1e-3)
    spread = np.zeros_like(factors)
    noise = max(sigma**2, 1e-6 * float(np.square(pairs).mean(dtype=np.float64)), 1e-30)
    precision = n / np.maximum((factors**2 / t).sum(axis=0), 1e-30)
    for _ in range(rounds(rank)):
        scale = np.sqrt(precision)
        moment = factors.T @ factors + np.diag(spread.sum(axis=0))
        values, turned = np.linalg.eigh(moment / noise / np.outer(scale, scale))
        trust = 1 / (np.maximum(values, 0) + 1 / t)
        # The missing diagonal of the matrix is taken to be what the factors say.
        target = (pairs @ factors.astype(np.float32)).astype(np.float64)
        target += factors * (factors**2).sum(axis=1, keepdims=True)
        update = ((target / noise / scale) @ turned * trust) @ turned.T / scale
        factors = (factors + update) / 2  # full steps of all rows at once oscillate
        spread = (spread + trust @ (turned**2).T / precision) / 2
        moment = (factors / t).T @ factors + np.diag((spread / t).sum(axis=0))
        _, axes = np.linalg.eigh(moment)
        factors, spread = factors @ axes[:, ::-1], spread @ axes[:, ::-1] ** 2
        precision = n / np.maximum(((factors**2 + spread) / t).sum(axis=0), 1e-30)
    return np.asarray(factors, dtype=np.float64)


class LinearWeights(NamedTuple):
    """Scores that are linear in a user's items: score_j = b_j Σ_i a_i x_i ⟨g_i, g_j⟩.

    Attributes:
        factors: g, shape (n, rank).
        inputs: a, shape (n,).
        outputs: b, shape (n,).

    Privacy: post-processing.
    """

    factors: Floats
    inputs: Floats
    outputs: Floats


def ease(factors: Floats, weights: Muting, popular_part: float, total: float) -> LinearWeights:
    """Solve EASE for a covariance of low rank plus diagonal, in closed form (Steck 2019, eq. 8).

    C = U Λ Uᵀ + A with U = [L, v], Λ = diag(1 − ℓ/T, …, ℓ) and the diagonal A: what the factors leave of
    each item's own variance T t_i/Σ t, plus a ridge. With P = C⁻¹ = A⁻¹ − A⁻¹ H Hᵀ A⁻¹ and
    H = U (Λ⁻¹ + Uᵀ A⁻¹ U)^(−1/2), EASE scores item j by −Σ_i x_i d_i P_ij/(P_jj d_j) over the items i ≠ j.

    Args:
        factors: L, shape (n, k).
        weights: d, v and t.
        popular_part: ℓ, how much of the squared vectors lies along v.
        total: T, their sum over all users.
    """
    total = max(total, 1.0)
    popular_part = min(max(popular_part, 1e-3 * total), 0.95 * total)
    directions = np.column_stack([factors, weights.direction])
    values = np.append(np.full(factors.shape[1], 1 - popular_part / total), popular_part)
    own_variance = total * weights.variance / weights.variance.sum()
    diagonal = (
        np.maximum(own_variance - (directions**2) @ values, _FLOOR * own_variance)
        + _RIDGE * own_variance.mean()
    )
    inner = np.diag(1 / values) + directions.T @ (directions / diagonal[:, None])
    loaded = np.linalg.solve(np.linalg.cholesky(inner), directions.T).T
    precision = 1 / diagonal - (loaded**2).sum(axis=1) / diagonal**2  # P_jj, by which eq. 8 divides
    return LinearWeights(loaded / diagonal[:, None], weights.weights, 1 / (precision * weights.weights))
