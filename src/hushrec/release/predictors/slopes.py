"""One user's slopes, in addition to their level: how much they follow general liking and popularity.

Users differ not only in their level. For some of them the item effects count double, for others hardly at
all, and some like what is popular more than others do. Bell & Koren 2007 (§4, "user × movie average" and
"user × movie support") estimate such slopes one after the other; here they are two more coefficients of the
same regression,

    r_i = μ_i + b + s₁ (μ_i − μ̄) + s₂ (log(1 + n_i) − ℓ̄) + z_i + noise,

s₁ ~ N(0, v₁), s₂ ~ N(0, v₂), with means weighted by the popularities n_i. Few ratings do not tell whether a
user has slopes at all, so the prior is a spike and a slab (Mitchell & Beauchamp 1988): slopes with odds o,
none otherwise. The posterior mean is that of the regression with slopes, but with these multiplied by their
posterior probability.

Privacy: post-processing of a release and the user's own ratings.
"""

import math

import numpy as np

from hushrec.arrays import Floats
from hushrec.release.artefact import Release

__all__ = ["slope_columns", "solved_with_slopes"]

_LARGEST = 700.0  # logarithm of the largest odds


def slope_columns(release: Release) -> Floats:
    """√v₁ (μ_i − μ̄) and √v₂ (log(1 + n_i) − ℓ̄) of each item, so that the coefficients have unit variance.

    Returns:
        Shape (n_items, 2), or (n_items, 0) if the release has no such constants.
    """
    constants, n = release.constants, len(release.items)
    if "slope_odds" not in constants or not n:
        return np.zeros((n, 0))
    popularity = release.tensors["item_popularity"].astype(np.float64)
    columns = np.column_stack([release.tensors["item_effects"].astype(np.float64), np.log1p(popularity)])
    columns -= popularity @ columns / popularity.sum()
    return columns * np.sqrt([constants["effect_slope"], constants["popularity_slope"]])


def solved_with_slopes(normal: Floats, right: Floats, n_slopes: int, odds: float) -> Floats:
    """Return the posterior mean of coefficients of unit variance; a user may lack the last, the slopes.

    With the normal equations in blocks [[A, B], [Bᵀ, C]], right-hand sides (a, c), S = C − Bᵀ A⁻¹ B and t = c
    − Bᵀ A⁻¹ a, the slopes are s = w S⁻¹ t, where log w/(1 − w) = log o + ½ tᵀ S⁻¹ t − ½ log det S. The others
    solve A p = a − B s.

    Args:
        normal: I + Σ x xᵀ/τ_i², shape (width, width).
        right: Σ x r_i/τ_i², shape (width,).
        n_slopes: how many of the coefficients are slopes, 0 or more.
        odds: o, prior odds that a user has slopes.

    Returns:
        Shape (width,).
    """
    if not n_slopes:
        return np.asarray(np.linalg.solve(normal, right[:, None])[:, 0], dtype=np.float64)
    others, slopes = slice(None, -n_slopes), slice(-n_slopes, None)
    both = np.column_stack([right[others], normal[others, slopes]])
    solved = np.linalg.solve(normal[others, others], both)
    schur = normal[slopes, slopes] - normal[slopes, others] @ solved[:, 1:]
    left = right[slopes] - normal[slopes, others] @ solved[:, 0]
    coefficients = np.linalg.solve(schur, left)
    evidence = float(left @ coefficients - np.log(max(np.linalg.det(schur), 1.0))) / 2
    coefficients /= 1 + math.exp(-min(max(evidence + math.log(odds), -_LARGEST), _LARGEST))
    return np.concatenate([solved[:, 0] - solved[:, 1:] @ coefficients, coefficients])
