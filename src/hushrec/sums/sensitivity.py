"""The most that one rating or one user can move a private sum: bounds over the number of ratings c, in code.

Notation: a user's c entries z_i lie in [−B, B]; w(c) is the user's weight; adding or changing one rating
moves each of their other entries by at most d(c), because it moves the mean that they are centred on. Sums
are truncated to a grid, entry by entry, which can add one step ``unit`` to the change of each. Matrices are
published as upper triangles, diagonal included, so norms run over c (c + 1)/2 pairs. ``draws`` says how often
an entry off the diagonal is released, each time with noise of its own: once, or twice where a paper adds
noise to the whole matrix.

Every function returns a number that is at least the true supremum: the most that each entry can move, as if
all did so at once. McSherry & Mironov 2009, Theorems 4–6, with two changes: residuals are clamped before they
are centred (their Theorem 4 needs it), and the norm of the upper triangle is bounded instead of that of the
whole matrix.

Privacy: public.
"""

import math

import numpy as np

from hushrec.arrays import Floats
from hushrec.privacy.accounting.measurement import Norm

_ROUNDING = 1 + 1e-12  # above the error of the float arithmetic of a bound


def shift_of_mean(counts: Floats, max_residual: float, reg: float, step: float) -> Floats:
    """d: how far a user's mean moves if one of ``counts`` ratings is new, max_residual/(c + reg) + step.

    Args:
        counts: number of ratings in the mean, the new one included.
        max_residual: largest distance between a residual and the mean, twice the bound on residuals.
        reg: number of fictitious ratings in the mean; negative if no mean is subtracted.
        step: step of the grid, since the mean is rounded down to it.
    """
    if reg < 0:
        return np.zeros_like(counts)
    # The proof of Theorem 4: |r̄ᵇ − r̄ᵃ| = |r_ui − r̄ᵃ|/(c + β_p) with c of the larger set.
    return max_residual / (counts + reg) + step


def matrix_add_remove(
    weights: Floats,
    bound: float,
    unit: float,
    norm: Norm,
    *,
    max_residual: float = 0,
    reg: float = -1,
    step: float = 0,
    draws: int = 1,
) -> float:
    """Δ of Σ w z zᵀ when one rating is added or removed, over all 0 ≤ c < len(weights) − 1.

    The new row holds c + 1 products of at most w′B². The block of the old ratings changes by
    w′ z′z′ᵀ − w zzᵀ, each pair of it by at most w′ 2Bd + |w − w′| B².

    Args:
        weights: w(c) for c = 0 … largest.
        bound: B.
        unit: step of the sums' grid.
        norm: ``l2`` or ``l1``.
        max_residual, reg, step: parameters of the centring, see ``shift_of_mean``.
        draws: of an entry off the diagonal.
    """
    before, after, c = _neighbours(weights)
    moved = 2 * bound * shift_of_mean(c + 1, max_residual, reg, step)
    # w′z′z′ᵀ − w z zᵀ = w′(z′z′ᵀ − z zᵀ) + (w′ − w) z zᵀ, and |z′_i z′_j − z_i z_j| ≤ 2B d.
    pair = after * moved + np.abs(before - after) * bound**2  # largest change of one old pair
    largest = after * bound**2
    return _matrix(c, old=pair, new=largest, diagonal=largest, unit=unit, norm=norm, draws=draws)


def matrix_replace(
    weights: Floats,
    bound: float,
    unit: float,
    norm: Norm,
    *,
    max_residual: float,
    reg: float,
    step: float,
    draws: int = 1,
) -> float:
    """Δ of Σ w z zᵀ when the value of one of c ratings changes, over all 1 ≤ c < len(weights).

    The weight is unchanged. Products in the changed row move by at most 2wB², its diagonal by wB², others by
    2wBd.
    """
    _, after, c = _neighbours(weights)
    moved = 2 * bound * shift_of_mean(c + 1, max_residual, reg, step)
    # z_i² lies in 0 to B², so the diagonal moves by B²; z_i z_j in ±B², so a pair moves by 2B².
    largest = after * bound**2
    return _matrix(c, old=after * moved, new=2 * largest, diagonal=largest, unit=unit, norm=norm, draws=draws)


def matrix_user(weights: Floats, bound: float, unit: float, norm: Norm, *, draws: int = 1) -> float:
    """Δ of Σ w z zᵀ when a user is added or removed: max over c of w(c) B² on c (c + 1)/2 pairs."""
    c = np.arange(len(weights), dtype=np.float64)
    return _largest(weights * bound**2 + unit, _block(c, draws), norm)


def vector_user(weights: Floats, bound: float, norm: Norm) -> float:
    """Δ of Σ w z when a user is added or removed: max over c of w(c) B on c entries, each truncated."""
    return _largest(weights * bound, np.arange(len(weights), dtype=np.float64), norm)


def clipped_user(clip_norm: float) -> float:
    """Δ of Σ w z with w ≤ min(1, R/‖z‖), truncated toward zero, when a user is added or removed: R.

    The user's whole vector has norm w ‖z‖ ≤ R, and no entry grows by truncation. ‖z‖² is an exact integer, so
    w is off by a few roundings of a float at most, before it is rounded down to its grid.

    Args:
        clip_norm: R.
    """
    return clip_norm * _ROUNDING


def pairs_user(n_items: int, unit: float) -> float:
    """Δ of the strict upper triangle of Σ_u z zᵀ/‖z‖² when a user is added or removed, for z over n items.

    Half of the squared norm of z zᵀ, which is ‖z‖⁴, lies above the diagonal at most: 1/√2.

    Args:
        n_items: n.
        unit: step of the sums' grid.
    """
    return (math.sqrt(0.5) + unit * _corrections(n_items)) * _ROUNDING


def pairs_interaction(n_items: int, unit: float, entry: float, weight: float) -> float:
    """Δ of the strict upper triangle of Σ_u z zᵀ/‖z‖ when one entry of one user's y moves by at most 1.

    z ↦ z zᵀ/‖z‖ is √2-Lipschitz in the Frobenius norm. Let a = ‖z‖, a′ = ‖z′‖, θ their angle, δ = ‖z − z′‖
    and F the distance of the images: F² = a² + a′² − 2aa′ cos²θ, so 2δ² − F² = a² + a′² − 4aa′ cos θ +
    2aa′ cos²θ ≥ 2aa′ (1 − cos θ)² ≥ 0. At most half of F² lies above the diagonal: δ. A vector whose norm
    is below 1/8 counts as 0, which moves the image by at most (1 + 1/8)/√2 < 1.

    Args:
        n_items: n, so that ‖z‖ ≤ √n.
        unit: step of the sums' grid.
        entry: step of y and of τ: rounding τ moves z by at most half of it on either side.
        weight: step of 1/‖z‖, which is rounded down.
    """
    rounded = math.sqrt(2) * n_items * weight
    return (1 + 1.1 * entry + rounded + unit * _corrections(n_items)) * _ROUNDING


def part_along(unit: float) -> float:
    """Δ of Σ_u ⟨v, y⟩²/‖y‖ for a unit vector v, when one user's vector y moves by at most 1.

    With c the cosine of y and v, the squared length of the gradient is 4c² − 3c⁴ ≤ 4/3.

    Args:
        unit: step of the sum's grid, to which each term is rounded down.
    """
    return (math.sqrt(4 / 3) + unit) * _ROUNDING


def _corrections(n_items: int) -> float:
    """Bound the change that rounding adds to a corrected Gram matrix above the diagonal, in steps.

    The Gram matrix and its correction −(b vᵀ + v bᵀ) are rounded down once each: 2 steps for each of the
    pairs. Rounding b, once as a sum and once for the user who changes, moves the correction by a vᵀ + v aᵀ
    with |a_i| ≤ 1, at most √(2n) ‖v‖ above the diagonal each; rounding the multiple of v vᵀ adds ‖v‖²/√2.
    The direction's own rounding leaves ‖v‖ below 1.1.
    """
    return 2 * math.sqrt(n_items * (n_items - 1) / 2) + 4 * math.sqrt(n_items) + 1


def _neighbours(weights: Floats) -> tuple[Floats, Floats, Floats]:
    return weights[:-1], weights[1:], np.arange(len(weights) - 1, dtype=np.float64)


def _block(c: Floats, draws: int) -> Floats:
    """Entries of the block of c ratings: c on the diagonal, and the pairs as often as they are released."""
    return c + draws * (c * (c - 1) / 2)


def _matrix(
    c: Floats, *, old: Floats, new: Floats, diagonal: Floats, unit: float, norm: Norm, draws: int
) -> float:
    """Norm over the released entries: the block of c old ratings, the new pairs, and the new diagonal."""
    # Truncation may add a step to each entry: by the triangle inequality, ``unit`` times the norm of ones.
    block, row = _block(c, draws), draws * c
    if norm == "l1":
        return float((block * (old + unit) + row * (new + unit) + diagonal + unit).max()) * _ROUNDING
    squared = block * old**2 + row * new**2 + diagonal**2
    return float((np.sqrt(squared) + unit * np.sqrt(block + row + 1)).max()) * _ROUNDING


def _largest(each: Floats, entries: Floats, norm: Norm) -> float:
    return float((each * (entries if norm == "l1" else np.sqrt(entries))).max()) * _ROUNDING
