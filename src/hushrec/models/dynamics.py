"""Langevin dynamics of item factors, driven by released gradients. All post-processing.

With people's vectors p ~ N(0, I) integrated out, item factors have the posterior density
π(Q) ∝ p(ratings | Q) Π_i N(q_i; 0, τ² I). A step

    q_i ← q_i + η_i (g_i + N(0, σ²) − (s²/τ²) q_i),    g_i = s² ∂ ln p(ratings | Q)/∂q_i

is one of stochastic gradient Langevin dynamics (Welling & Teh 2011, eq. (4)) preconditioned by
2 s² η_i, whose injected noise is the privacy noise of the measurement: it samples π at the temperature
η_i σ²/(2 s²). Falling η_i anneal it, and the mean of the last states estimates the posterior mean.
"""

import numpy as np

from hushrec.arrays import Floats

_INFORMATION = 0.5
"""Of a rating on its item's factors, in units of 1/s²: E[p²] = 1, less what his few ratings leave unknown."""


def prior_variance(taste: float, rank: int, span: float) -> float:
    """τ², such that p·q has the variance ``taste`` in squared widths of the scale. Privacy: public."""
    return taste * span**2 / rank


def langevin_step(
    factors: Floats,
    gradients: Floats,
    sigma: float,
    counts: Floats,
    *,
    prior: float,
    noise: float,
    rate: float,
    left: float,
) -> tuple[Floats, Floats]:
    """One step, as long as the noise of each row allows.

    η = a v/(a² v + σ²): the posterior mean of the step that remains for a row of curvature
    a = n/2 + s²/τ² whose coordinates are still v = ``left`` · τ² away. Where only a sample of people took
    part, its sum stands for q⁻¹ times as many, and σ² grows by what the drawing adds.

    Args:
        factors: released q, shape (n_items, rank).
        gradients: Σ of g over those who took part, noisy, shape (n_items, rank).
        sigma: standard deviation of that noise.
        counts: released number of ratings of each item, shape (n_items,).
        prior: τ².
        noise: s².
        rate: share of people who took part.
        left: part of the prior variance that is still to go, in (0, 1].

    Returns:
        The factors after the step, and the part of the way that each row's step is worth, in (0, 1).

    Privacy: post-processing.
    """
    known = np.maximum(counts, 1e-3) * _INFORMATION
    curvature = known + noise / prior
    variance = (sigma / rate) ** 2 + (1 - rate) / rate * known * noise
    pace = curvature * prior * left / (curvature**2 * prior * left + variance)
    return factors + pace[:, None] * (gradients / rate - noise / prior * factors), pace * curvature
