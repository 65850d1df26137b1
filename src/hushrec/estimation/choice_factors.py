"""Factors of which items the same people chose, from noisy pairs; and tastes that follow from them.

Privacy: post-processing.
"""

import numpy as np

from hushrec.arrays import Floats, Floats32
from hushrec.estimation.low_rank import leading

_MOST_ROUNDS, _FEWEST_ROUNDS, _FACTOR_ROUNDS = 100, 40, 2500
"""Bounds of ``rounds``, and its product with the number of factors."""
_LEAST, _LEAST_VARIANCE = 1e-8, 1e-4
"""Smallest eigenvalue of a start, and smallest t over its mean: chosen by hand."""


def rounds(n_factors: int) -> int:
    """Return the number of updates of all item factors: 2500 of single factors, within bounds.

    With many factors there is little noise, which few updates settle; with few, further ones silence weak
    factors that still help.
    """
    return max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, _FACTOR_ROUNDS // n_factors))


def pair_factors(pairs: Floats32, variance: Floats, means: Floats, further: int) -> tuple[Floats, Floats]:
    """Fit L with pairs ≈ L Lᵀ off the diagonal, where the noise has variance 1.

    L_ik ~ N(N_ik, t_i/α_k): α falls where the pairs say more than the mean N, and N is forgotten.

    Args:
        pairs: symmetric, with a zero diagonal, shape (n, n).
        variance: t, shape (n,).
        means: N of the factors that are expected, shape (n, any).
        further: number of factors of mean 0, below n.

    Returns:
        The factors, shape (n, expected + further); further ones that the noise hides are about 0. And
        the axes to which the fit turned those that it started from, for items that it leaves out.
    """
    n = len(pairs)
    t = np.maximum(variance, _LEAST_VARIANCE * variance.mean())[:, None]
    root = np.sqrt(t)
    factors = np.hstack([means, _start_factors(pairs, root, root * means, further)])
    expected = np.hstack([means, np.zeros((n, further))])
    spread = np.zeros_like(factors)
    turned_to = np.eye(factors.shape[1])
    precision = n / np.maximum((factors**2 / t).sum(axis=0), 1e-30)
    for _ in range(rounds(factors.shape[1])):
        scale = np.sqrt(precision)
        # Given all other rows, L_i ~ N(·, (E LᵀL + D_α/t_i)⁻¹). In units of α^(−1/2) the matrix that is
        # inverted is M + I/t_i: one eigendecomposition of M serves all rows.
        moment = factors.T @ factors + np.diag(spread.sum(axis=0))
        values, turned = np.linalg.eigh(moment / np.outer(scale, scale))
        # Posterior variances of row i along the eigenvectors, in those units.
        trust = 1 / (np.maximum(values, 0) + 1 / t)
        # The missing diagonal of the matrix is taken to be what the factors say.
        target = (pairs @ factors.astype(np.float32)).astype(np.float64)
        # Z L, the diagonal, and α N/t, which pulls a row to its mean.
        target += factors * (factors**2).sum(axis=1, keepdims=True) + precision * expected / t
        update = ((target / scale) @ turned * trust) @ turned.T / scale
        factors = (factors + update) / 2  # full steps of all rows at once oscillate
        spread = (spread + trust @ (turned**2).T / precision) / 2
        # Any rotation of the factors fits as well; in this one their deviations from the mean are
        # uncorrelated, so that each α_k can fall or rise on its own (Lim & Teh 2007).
        apart = factors - expected
        moment = (apart / t).T @ apart + np.diag((spread / t).sum(axis=0))
        _, axes = np.linalg.eigh(moment)
        axes = axes[:, ::-1]
        factors, expected, spread = factors @ axes, expected @ axes, spread @ axes**2
        turned_to = turned_to @ axes
        # α_k = n/Σ_i ((L − N)² + Var L)_ik/t_i: as the pairs speak, it falls, and N is forgotten.
        precision = n / np.maximum((((factors - expected) ** 2 + spread) / t).sum(axis=0), 1e-30)
    return np.asarray(factors, dtype=np.float64), np.asarray(turned_to, dtype=np.float64)


def _start_factors(pairs: Floats32, root: Floats, means: Floats, rank: int) -> Floats:
    """Start factors from the leading eigenvectors of √t Z √t, outside the span of the means.

    Args:
        pairs: Z, shape (n, n).
        root: √t, shape (n, 1).
        means: √t N, shape (n, any).
        rank: number of factors.
    """
    weighted = pairs * root.astype(np.float32) * root.T.astype(np.float32)
    if means.shape[1]:
        span = np.linalg.qr(means)[0].astype(np.float32)
        # (I − S Sᵀ) √t Z √t (I − S Sᵀ), in two subtractions.
        across = weighted @ span
        weighted -= across @ span.T
        weighted -= span @ (across.T - (span.T @ across) @ span.T)
    values, vectors = leading(weighted, rank)
    largest = max(float(values[0]), _LEAST)
    start = vectors * np.sqrt(np.maximum(values, 1e-3 * largest)) / np.maximum(root, 1e-3)
    return np.asarray(start, dtype=np.float64)


EXPLAINED = 0.002
"""Variance v of a user's ratings that the tastes explain, in squared widths of the scale; by hand."""
MOST_FACTORS = 40
"""The most factors of the choices. Chosen by hand."""
_FAINTEST = 1e-3
"""Smallest length of a column of factors, over the largest, as squares: chosen by hand."""
_OF_SAMPLING, _MOST_SAMPLING = 0.3, 10.0
"""Part of a_i a_j that the sampling of people adds to the variance of an entry, and the most over that of the
noise: chosen by hand."""
_LEAST_ROW, _LEAST_SIZE = 1e-3, 0.01
"""Smallest sum of a row, and smallest a that factors are divided by: chosen by hand."""


def choice_tastes(pairs: Floats32, sigma: float, popularity: Floats, span: float) -> Floats:
    """Make factors of ratings from who rated what, such that the users' vectors have unit covariance.

    People choose what they like: items that the same people rated, more often than popularity says, are
    alike. If people chose independently, Wgt_ij were a_i a_j. What is above that is L Lᵀ, fitted after
    whitening by ζ_i⁴ = σ² + 0.3 a_i², and φ_i = L_i/a_i are the item's tastes.

    Args:
        pairs: Wgt, symmetric, shape (n, n); overwritten.
        sigma: deviation of the noise of an entry; 0 without noise.
        popularity: how often each item is chosen, positive, shape (n,).
        span: width of the scale.

    Returns:
        In rating units, shape (n, at most 40).
    """
    np.fill_diagonal(pairs, 0)
    rows = np.maximum(pairs.sum(axis=1, dtype=np.float64), _LEAST_ROW)
    sizes = rows / np.sqrt(rows.sum())
    sampling = _OF_SAMPLING * sizes**2
    if sigma:
        sampling = np.minimum(sampling, _MOST_SAMPLING * sigma**2)
    # Noise of variance 1 on every entry: ζ_i² ζ_j² is about σ² plus what sampling adds.
    zeta = np.maximum((sigma**2 + sampling) ** 0.25, 1e-6)
    whole, root = (sizes / zeta).astype(np.float32), zeta.astype(np.float32)
    pairs /= root[:, None]
    pairs /= root
    pairs -= np.outer(whole, whole)
    np.fill_diagonal(pairs, 0)
    further = min(MOST_FACTORS, len(pairs) - 1)
    fitted, _ = pair_factors(pairs, (sizes / zeta) ** 2, np.zeros((len(pairs), 0)), further)
    factors = visible(fitted * zeta[:, None]) / np.maximum(sizes, _LEAST_SIZE)[:, None]
    return scaled_tastes(factors, popularity, span, EXPLAINED)


def visible(factors: Floats) -> Floats:
    """Drop the columns that the noise hid, shape (n, any)."""
    lengths = (factors**2).sum(axis=0)
    return factors[:, lengths > _FAINTEST * lengths.max()]


def scaled_tastes(factors: Floats, popularity: Floats, span: float, explained: float) -> Floats:
    """Scale factors of choices such that they explain a given variance of a user's ratings.

    Args:
        factors: φ, shape (n, any).
        popularity: how often each item is chosen, positive, shape (n,).
        span: width of the scale.
        explained: v, in squared widths of the scale.

    Returns:
        φ √(v α²/Σ_j p_j |φ_j|²) with the parts p_j of all choices, in rating units.
    """
    mean = float(popularity @ (factors**2).sum(axis=1) / popularity.sum())
    return np.asarray(factors * span * np.sqrt(explained / max(mean, 1e-300)), dtype=np.float64)
