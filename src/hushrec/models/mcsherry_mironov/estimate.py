"""Item factors from a noisy covariance, each entry weighted by its noise. Privacy: post-processing.

Cov_ij = Wgt_ij f_i·f_j + noise of variance σ² + κ (1 + Wgt_ij), fitted by mean-field variational Bayes with
one prior variance per component (Lim & Teh 2007; the weights are Srebro & Jaakkola's 2003). Components that
the noise hides vanish during the fit, and cost nothing from then on.

The noise of the ratings is not independent from entry to entry: a user's own noise e_ui in a rating of item
i is in all entries of row i, each times what the user gave there. To first order it moves the whole row's f_i
by n_i⁻¹ Σ_u e_ui p_u, which has the variance τ²/n_i in every direction, however many entries the row has:
even those who know every p_u learn no more about f_i from n_i ratings. So with N_i and b_i the normal
equations of row i under independent noise, and S_i = τ²/n_i,

    f_i | others ~ N((N_i + Λ + S_i N_i Λ)⁻¹ b_i, (N_i (I + S_i N_i)⁻¹ + Λ)⁻¹).
"""

import math
from collections.abc import Iterator

import numpy as np

from hushrec.arrays import Bools, Floats, Floats32, Ints
from hushrec.estimation.low_rank import leading
from hushrec.progress import steps

ROUNDS = 20
"""Number of updates of all item factors; few on purpose (``_update_precision``). Chosen by hand."""
_PARTS = 8
"""Parts of the items that are updated in turn, as mean fields require; more cost time. Chosen by hand."""
_TINY = 1e-3
"""Smallest sum of weights, so that nothing is divided by zero."""
_ROWS = 256  # of a matrix that are processed at a time; limits memory only
_LEAST = 1e-5
"""Mean square of a component, in squared units of the scale, below which it has vanished. Chosen by hand."""
_BEYOND = 1.5
"""Of the Tracy–Widom law with one degree, which is above twice that in less than 1 of 1,000 cases."""
_SMALLEST_HEAD = 50
"""Items of the smallest part of a catalogue in which a component is looked for. Chosen by hand."""
_FAST, _LEAST_DETERMINED = 0.15, 1e-3
"""Exponent of the fast update of ``_update_precision``, and the smallest γ/n and Σ m² in it: by hand."""
_SETTLED = 3
"""Number of rounds before a component is given up. Chosen by hand."""


def weighted_factors(
    covariance: Floats32,
    weights: Floats32,
    *,
    sigma: float,
    kappa: float,
    row_variance: Floats,
    rank: int,
    prior: Floats | None = None,
) -> Floats:
    """Fit item factors F with Cov_ij ≈ Wgt_ij f_i·f_j off the diagonal.

    Args:
        covariance: shape (n, n); overwritten, because a large catalogue leaves no room for another matrix.
        weights: Wgt, cleaned and positive, shape (n, n); overwritten.
        sigma: standard deviation of the noise on the covariance.
        kappa: variance of an entry due to the ratings themselves, per unit of weight. One unit is added to
            every weight, because two items without common raters may still have tastes in common.
        row_variance: S, variance of each item's factors given exact factors of its raters, shape (n,).
        rank: k.
        prior: mean of the factors before anything is measured, shape (n, at most k); zero by default.

    Returns:
        F, shape (n, k); zero columns for components that vanished.
    """
    n = len(covariance)
    rank = min(rank, n - 1)
    largest = max(_scale(covariance, weights), 1e-6)  # no component is more than all that is there
    # The diagonal holds each rating's own noise squared: it says nothing of two items together.
    np.fill_diagonal(covariance, 0)
    prior_factors = np.zeros((n, 0)) if prior is None else prior
    if prior_factors.any():  # the others start from what it leaves unexplained
        _subtract(covariance, weights, prior_factors)
    factors = np.hstack(
        [prior_factors, _start(covariance, weights, sigma, kappa, rank - prior_factors.shape[1])]
    )
    if prior_factors.any():
        # The start is found: what was taken out goes back, for the fit itself sees all of it.
        _subtract(covariance, weights, -prior_factors, prior_factors)
    mean = np.hstack([prior_factors, np.zeros((n, rank - prior_factors.shape[1]))])
    fitted = np.zeros((n, rank))
    # If noise hides every component, there is nothing to fit.
    alive: Bools = np.any(factors != 0, axis=0)
    if not alive.any():
        return fitted
    factors, mean = factors[:, alive], mean[:, alive]
    # λ_k, one for each component: its prior variance starts at half of the largest possible.
    precision = np.full(alive.sum(), 2 / largest)
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        # With v = σ² + κ (1 + Wgt), entry ij gives row i the weight Wgt²/v of f_j f_jᵀ and the pull
        # Wgt Cov/v of f_j: both matrices are overwritten with these.
        fraction = weights[rows] / (sigma**2 + kappa * (1 + weights[rows]) + np.float32(1e-9))
        covariance[rows] *= fraction
        weights[rows] *= fraction
    for matrix in (covariance, weights):
        np.fill_diagonal(matrix, 0)
    first, second = np.triu_indices(factors.shape[1])
    # E f_k f_l of every item as one packed row, so that N_i of all items is one product of matrices.
    moments = (factors[:, first] * factors[:, second]).astype(np.float32)
    for number in steps("cleaning", range(ROUNDS)):
        squares, spreads = _round(weights, covariance, factors, moments, mean, precision, row_variance)
        precision = np.maximum(_update_precision(precision, n, squares, spreads), 1 / largest)
        visible = np.einsum("ni,ni->i", factors, factors) > _LEAST * n
        # A component that noise hides has shrunk to nothing: leave it out of all that follows.
        if number >= _SETTLED and not visible.all():
            first, second = np.triu_indices(len(visible))
            moments = moments[:, visible[first] & visible[second]]
            alive[alive] = visible
            factors, mean, precision = factors[:, visible], mean[:, visible], precision[visible]
            if not alive.any():
                break
    fitted[:, alive] = factors
    return fitted


def _update_precision(precision: Floats, n: int, squares: Floats, spreads: Floats) -> Floats:
    """Update the precision of the prior of every component, after a round.

    Two updates have the same fixed point: n/Σ E(f − m)² of expectation maximisation, and γ/Σ (E f − m)² with
    γ = n − λ Σ Var f, the number of well-determined factors (MacKay 1992). The second comes there in a few
    rounds, the first in hundreds where noise hides a component. Mean fields see too little, so that not all
    which vanishes at the fixed point is noise: hence a geometric mean of both, and few rounds.

    Args:
        precision: λ, shape (rank,).
        squares, spreads: Σ (E f − m)² and Σ Var f, shape (rank,).
    """
    slow = n / (squares + spreads)
    fast = np.maximum(n - precision * spreads, _LEAST_DETERMINED * n) / np.maximum(squares, _LEAST_DETERMINED)
    return np.asarray(slow ** (1 - _FAST) * fast**_FAST, dtype=np.float64)


def _round(
    trust: Floats32,
    pull: Floats32,
    factors: Floats,
    moments: Floats32,
    mean: Floats,
    precision: Floats,
    row_variance: Floats,
) -> tuple[Floats, Floats]:
    """Update all items in place, some at a time; each update sees those before it, as mean-field requires.

    Args:
        trust, pull: Wgt²/noise and Wgt Cov/noise of every entry, zero on the diagonal, shape (n, n).
        factors: posterior means, shape (n, k).
        moments: E f_k f_l of every item, packed, shape (n, k (k + 1)/2).
        mean, precision: of the prior, shapes (n, k) and (k,).
        row_variance: as in ``weighted_factors``.

    Returns:
        Σ_i (E f_i − mean_i)² and Σ_i Var f_i of every component, shapes (rank,).
    """
    n, rank = factors.shape
    first, second = np.triu_indices(rank)
    squares, spreads = np.zeros(rank), np.zeros(rank)
    for part in (slice(start, n, _PARTS) for start in range(_PARTS)):
        normal = np.empty((len(factors[part]), rank, rank))
        normal[:, first, second] = normal[:, second, first] = trust[part] @ moments
        target = (pull[part] @ factors.astype(np.float32)).astype(np.float64)
        # S_i N_i, then the mean and the variance of f_i given the others, as at the top of this file:
        # inverse = (N + Λ + S N Λ)⁻¹, spread = inverse + inverse S N.
        noisy = row_variance[part, None, None] * normal
        inverse = np.linalg.inv(normal + (np.eye(rank) + noisy) * precision)
        spread = inverse + inverse @ noisy
        updated = np.einsum("nij,nj->ni", inverse, target)
        updated += np.einsum("nij,nj->ni", spread, precision * mean[part])
        factors[part] = updated
        moments[part] = updated[:, first] * updated[:, second] + spread[:, first, second]
        # Factors without signal shrink until their products are subnormal, which multiply slowly.
        moments[part][np.abs(moments[part]) < 1e-30] = 0
        squares += ((updated - mean[part]) ** 2).sum(axis=0)
        spreads += np.einsum("nii->i", spread)
    return squares, spreads


def _subtract(covariance: Floats32, weights: Floats32, left: Floats, right: Floats | None = None) -> None:
    """Subtract Wgt_ij l_i·r_j in place, some rows at a time."""
    right = left if right is None else right
    for start in range(0, len(covariance), _ROWS):
        rows = slice(start, start + _ROWS)
        covariance[rows] -= weights[rows] * (left[rows] @ right.T).astype(np.float32)


def _scale(covariance: Floats32, weights: Floats32) -> float:
    """Return the mean variance of a clamped residual, trace Cov/trace Wgt."""
    return float(np.trace(covariance, dtype=np.float64) / max(np.trace(weights, dtype=np.float64), _TINY))


def _start(covariance: Floats32, weights: Floats32, sigma: float, kappa: float, rank: int) -> Floats:
    """Factorise the covariance without its diagonal, scaled so that its entries are about equally noisy."""
    if rank == 0:
        return np.zeros((len(covariance), 0))
    # If w_ij = s_i s_j, row sums are s_i Σ s, and all weights together (Σ s)².
    total = weights.sum(axis=1, dtype=np.float64)
    size = np.maximum(total / math.sqrt(max(total.sum(), _TINY)), 0.01)  # weights ≈ size sizeᵀ
    # Entry ij has noise of variance σ² + κ s_i s_j; e_i e_j/(s_i s_j) times the entry has about unit noise.
    even = size / np.sqrt(sigma + math.sqrt(kappa) * size + 1e-6)
    scale = (even / size).astype(np.float32)
    factors = np.zeros((len(covariance), rank))
    for head in _heads(size):
        m = len(head)
        part = covariance if m == len(covariance) else covariance[np.ix_(head, head)]
        values, vectors = leading(part, min(rank, m - 1), scale[head])
        # Entries have at most unit noise. The largest eigenvalue of noise alone is then below 2√m, apart from
        # fluctuations of order m^(−1/6) (Tracy & Widom 1994). If one shows, weaker ones may by their weights.
        if values[0] >= 2 * math.sqrt(m) * (1 + _BEYOND * m ** (-2 / 3)):
            scaled_up = np.sqrt(np.maximum(values, 1e-3)) / 2
            factors[head, : len(values)] = vectors * scaled_up / even[head, None]
            break
    return factors


def _heads(size: Floats) -> Iterator[Ints]:
    """Yield all items, then those of the largest weights, whose noise is less: half, a quarter, …"""
    order, m = np.argsort(-size, kind="stable"), len(size)
    while m >= min(_SMALLEST_HEAD, len(size)):
        yield np.sort(order[:m])
        m //= 2
