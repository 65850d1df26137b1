"""Item factors from a noisy covariance and noisy weights.

Covariances are in squared units of the scale (``Scale.star``), so that the constants here do not depend on
the rating scale.

Privacy: post-processing, all of it.

Three ways, from using none to using all of the known noise variance:

``none``      Avg_ij = Cov_ij/Wgt_ij, not cleaned (``raw_average``).
``shrink``    McSherry & Mironov 2009, §4.6: shrink diagonal and off-diagonal towards their means, scale by
              √(MCnt_i MCnt_j), keep the best rank-k approximation, scale back.
``weighted``  a low-rank fit that weighs each entry by its noise: ``models/mcsherry_mironov/estimate.py``.
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf

from hushrec.arrays import Floats, Floats32
from hushrec.kernels.csr import unpack
from hushrec.progress import steps

Some = TypeVar("Some", Floats, Floats32)
_POWERS = 12  # power iterations, chosen by hand
_OVERSAMPLED = 20
"""Products with the matrix, and columns beyond the rank (Halko, Martinsson & Tropp 2011). Chosen by hand."""
_MOST_COMPONENTS = 60
"""The most factors of the weights. Chosen by hand."""
_TINY = 1e-3
"""Added to weights so that nothing is divided by zero; ours, not McSherry & Mironov's."""
_ROWS = 256  # of a matrix that are processed at a time; limits memory only
LEAST_WEIGHT = 1.0
"""Smallest divisor of a raw average, in place of a smaller noisy weight.

Chosen on MovieLens 100K: lab/mcsherry_mironov/README.md, "The floor of the raw average".
"""


class Triangle(NamedTuple):
    """A released matrix in single precision.

    Attributes:
        values: the upper triangle, packed.
        sigma: standard deviation of the noise on each entry; 0 without noise.

    Privacy: public once released.
    """

    values: Floats32
    sigma: float


def full(matrix: Triangle, n: int, star: float = 1.0) -> Floats32:
    """Unpack a released upper triangle to float32, in units of ``star``, shape (n, n)."""
    square: Floats32 = unpack(matrix.values, n, np.float32)
    if star != 1:
        square /= np.float32(star)
    return square


def leading(matrix: Floats32, rank: int, scale: Floats32 | None = None) -> tuple[Floats, Floats]:
    """Return the algebraically largest eigenvalues, shape (rank,), and vectors, shape (n, rank).

    With ``scale`` s, shape (n,), they are those of diag(s) M diag(s), which is not made: a large catalogue
    leaves no room for another matrix.

    Block power iteration (Halko, Martinsson & Tropp 2011, Algorithm 4.4): a dozen products with a thin
    block are ten times faster here than Lanczos, and the remaining error lies within the noise.
    """
    n = len(matrix)
    width = min(rank + _OVERSAMPLED, n)
    # The same start on every machine, with a part along every direction. The number solves cos x = x; any
    # other whose multiples make no two columns alike would do.
    start = np.cos(np.outer(np.arange(n), np.arange(1, width + 1)) * 0.7390851332151607)
    block, each = start.astype(np.float32), np.float32(1) if scale is None else scale[:, None]
    for _ in steps("decomposing", range(_POWERS)):
        block = _orthonormal(each * (matrix @ (each * block)))
    # Rayleigh–Ritz: eigenvalues of the matrix on the span of the block.
    inner = block.T @ (each * (matrix @ (each * block)))
    values, turned = np.linalg.eigh(((inner + inner.T) / 2).astype(np.float64))
    # By sign and not by size: no factor has a negative square.
    order = np.argsort(-values)[:rank]
    return values[order], np.asarray(block @ turned[:, order], dtype=np.float64)


def _orthonormal(block: Floats32) -> Floats32:
    """Orthonormalise a thin block by large products; missing directions are zero."""
    # BᵀB has the squared condition number of B, so one pass leaves columns askew; the second is exact enough.
    for _ in range(2):
        precise = block.astype(np.float64)
        values, vectors = np.linalg.eigh(precise.T @ precise)
        kept = values > 1e-12 * max(float(values[-1]), 1e-30)
        scale = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
        block = (precise @ (vectors * scale)).astype(np.float32)
    return block


def write_product(factors: Floats, out: Floats32) -> None:
    """Write H Hᵀ over a square matrix, some rows at a time: in double precision it is twice as large."""
    for start in range(0, len(out), _ROWS):
        part = slice(start, start + _ROWS)
        np.matmul(factors[part], factors.T, out=out[part], casting="same_kind")


def raise_entries(least: Floats, out: Floats32) -> None:
    """Raise the entries of a square matrix to l_i l_j and to 1/1000, some rows at a time.

    Args:
        least: l, shape (n,).
        out: shape (n, n).
    """
    for start in range(0, len(out), _ROWS):
        rows = slice(start, start + _ROWS)
        floor = np.maximum(np.outer(least[rows], least), _TINY).astype(np.float32)
        np.maximum(out[rows], floor, out=out[rows])


def spectral_factors(matrix: Floats32, sigma: float, rank: int = _MOST_COMPONENTS) -> Floats:
    """Return H with H Hᵀ ≈ the signal in a symmetric matrix with noise of known standard deviation.

    Eigenvalues below the noise's edge 2σ√n are dropped; a larger one, λ, came from a signal of
    ℓ = (λ + √(λ² − 4σ²n))/2, and its vector holds 1 − σ²n/ℓ² of it (Benaych-Georges & Nadakuditi 2011;
    Gavish & Donoho 2017), so it is kept with ℓ (1 − σ²n/ℓ²).

    Returns:
        Shape (n, number kept); without a visible signal, one column of zeros.
    """
    values, vectors = leading(matrix, rank)
    edge = sigma**2 * len(matrix)
    kept = values**2 > 4 * edge if sigma else values > 0
    kept &= values > 0
    if not kept.any():
        return np.zeros((len(matrix), 1))
    signal = (values[kept] + np.sqrt(values[kept] ** 2 - 4 * edge)) / 2
    return np.asarray(vectors[:, kept] * np.sqrt(signal * (1 - edge / signal**2)), dtype=np.float64)


def unclipping_factor(variance: float, clip: float) -> float:
    """Return the factor that undoes half of a clamp to ±B, given E min(z², B²) = ``variance``.

    A small signal in z survives the clamp with factor P(|z| < B). Half of that (its square root) is
    restored: factors from finite data are partly error, and the error should not grow.
    """
    if not 1e-4 * clip**2 < variance < 0.98 * clip**2:
        return 1.0

    def clipped(s: float) -> float:
        # E min(z², B²) of z ~ N(0, s²) is s² (P(|z| < B) − 2 t φ(t)) + B² P(|z| > B) with t = B/s.
        t = clip / s
        inside = erf(t / math.sqrt(2))
        density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        return float(s * s * (inside - 2 * t * density) + clip**2 * (1 - inside)) - variance

    # Within the bounds tested above, this range of s holds the root.
    s = brentq(clipped, 1e-3 * clip, 1e3 * clip)
    return 1 / math.sqrt(float(erf(clip / s / math.sqrt(2))))


def raw_average(covariance: Some, weights: Some) -> Some:
    """Return Cov_ij/max(Wgt_ij, 1): McSherry & Mironov 2009, §2.1 and §4.4, uncleaned.

    The paper prints Cov_ij/Wgt_ij. Its Wgt_ij is noisy: many are near zero or below it, and there the
    quotient is noise alone. The floor is ours: ``lab/mcsherry_mironov/README.md`` has the runs that
    chose it.

    Args:
        covariance, weights: of the same shape, square or packed.
    """
    average = np.empty_like(covariance)
    np.divide(covariance, np.maximum(weights, LEAST_WEIGHT), out=average)
    return average


def shrunk_average(covariance: Floats32, weights: Floats32, reg: tuple[float, float]) -> Floats32:
    """Return (Cov_ij + β mean Cov)/(Wgt_ij + β mean Wgt), with one β for the diagonal, one for the rest.

    McSherry & Mironov 2009, §4.6. Not in the paper: weights that the noise made negative count as zero, and
    the divisor is 0.001 larger, so that it is above zero. With a β of 0 it is ``raw_average``.
    """
    n = len(covariance)
    off = ~np.eye(n, dtype=np.bool_)
    average = np.empty_like(covariance)
    # The diagonal holds each rating's own noise squared, so it has another mean, and another β.
    for where, beta in ((~off, reg[0]), (off, reg[1])):
        if not where.any():
            continue
        if not beta:
            average[where] = raw_average(covariance[where], weights[where])
            continue
        mean_weight = max(float(weights[where].mean()), _TINY)
        top = covariance[where] + beta * covariance[where].mean()
        average[where] = top / (np.maximum(weights[where], 0) + beta * mean_weight + _TINY)
    return average


def low_rank(average: Floats32, counts: Floats, rank: int) -> Floats:
    """Factorise Avg ≈ Q Qᵀ with rank k after scaling by √(MCnt_i MCnt_j), and scale back; Q is (n, k).

    McSherry & Mironov 2009, §4.6, with two readings of ours. Of the eigenvalues the k *algebraically* largest
    are kept, and none below zero: the singular values of the paper may be of negative ones, which no Q Qᵀ
    has. And an MCnt_i below 1 counts as 1.
    """
    # An entry that is divided by a small Wgt is noisier; scaling by the counts about evens that out.
    scale = np.sqrt(np.maximum(counts, 1.0))
    values, vectors = leading((average * scale[:, None] * scale).astype(np.float32), rank)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)) / scale[:, None], dtype=np.float64)
