"""The loss of effects by clamping, undone by a released slope.

A value z = b + e with the effect b, clamped to ±B, moves with b only while it is inside: the derivative of
the mean of clamp(z) is P(|z| < B), the slope. Sums of clamped values divided by the slope are sums of effects
again, with more noise: a tight B takes less from the effects than from Δ, down to the sign of z.

Privacy: post-processing.
"""

import math

import numpy as np

from hushrec.estimation.shrinkage import RATING_VARIANCE
from hushrec.privacy.bounded import Noisy

_SPREAD = 0.25
"""Usual deviation of ratings around their user's mean, in widths of the scale: one star of five; by hand."""
_DOUBT = 0.1
"""Standard deviation of a slope around that of normal ratings of the usual deviation. Chosen by hand."""
_LEAST = 0.1
"""Smallest slope, so that dividing by it makes noise at most ten times as wide. Chosen by hand."""

__all__ = ["clamped_slope", "clamped_variance"]


def clamped_slope(slopes: Noisy, people: Noisy, clip: float) -> float:
    """Estimate the average slope by its posterior mean.

    Args:
        slopes: sum of the people's slopes, each from 0 to 1.
        clip: B in widths of the scale.
    """
    n = max(float(people.values[0]), 1.0)
    expected = math.erf(clip / _SPREAD / math.sqrt(2))
    slope = float(slopes.values[0]) / n
    variance = (slopes.sigma**2 + (slope * people.sigma) ** 2) / n**2
    trust = _DOUBT**2 / (_DOUBT**2 + variance)
    return float(np.clip(expected + trust * (slope - expected), _LEAST, 1.0))


def clamped_variance(clip: float, slope: float) -> float:
    """Return the variance of a clamped value, over the squared slope.

    Inside ±B it is spread evenly, or as a rating around its user's mean where B is wide.

    Args:
        clip: B, in widths of the scale, in whose squares the variance is.
        slope: fraction of values inside.
    """
    inside = min(clip**2 / 3, RATING_VARIANCE)
    return ((1 - slope) * min(clip, 1.0) ** 2 + slope * inside) / slope**2
