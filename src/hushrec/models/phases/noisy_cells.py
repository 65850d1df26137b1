"""The second phase of input perturbation: the cost of noisy cells, and factors fitted to them.

Privacy: public, and of the factors post-processing.
"""

import math
from typing import Literal

import numpy as np

from hushrec.arrays import Floats32
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError
from hushrec.estimation.noisy_ratings import NoisyRatings
from hushrec.models.phases.biases import Biases
from hushrec.solvers.factorizers import Factors, Sparse, gradient_descent, least_squares
from hushrec.statistics.cells import Cells
from hushrec.statistics.footprint import DRAWS, Footprint

_FARTHEST = 299.0  # scales of the noise; just below the e^−300 that ``privacy/noise/geometric.py`` can draw


def require_reachable(cells: Cells, scale: float) -> None:
    """Refuse a threshold that noise of this scale, in rating units, cannot reach."""
    if cells.adjacency == "add-remove" and cells.threshold > _FARTHEST * scale:
        raise ConfigError(
            f"threshold: {cells.threshold:.3g} is out of reach of noise of scale {scale:.3g}; lower the "
            "threshold or ε"
        )


def cells_footprint(before: Footprint, cells: Cells, epsilon: float, pace: float) -> Footprint:
    """Estimate the averages, then all cells that are kept; empty cells are kept by noise alone.

    Args:
        before: footprint of the averages, which stay.
        epsilon: their part of ε.
        pace: seconds of the solver per million ratings or kept cells.
    """
    n_kept = 0.0
    if cells.adjacency == "add-remove":
        everywhere = float(cells.domain.n_users * cells.domain.n_items)
        n_kept = everywhere * math.exp(-cells.threshold * epsilon / cells.query.sensitivity)
    seconds = n_kept / DRAWS + pace * n_kept / 1e6
    each = 60 if n_kept else 40
    return before.then(Footprint(before.memory + 60 * n_kept, each, 32, seconds, pace, gathered=True))


def factorised(
    noisy: NoisyRatings,
    weights: Floats32 | None,
    biases: Biases,
    domain: Domain,
    *,
    solver: Literal["als", "sgd"],
    rank: int,
    epochs: int | None,
    rate: float,
    reg: float,
) -> Factors:
    """Fit factors and effects to noisy ratings, in rating units.

    Args:
        noisy: the noisy ratings.
        weights: weight of each; None for equal ones.
        biases: what was subtracted from them.
        solver: ``als``, whose ridge grows with the noise, or ``sgd``.
        epochs: number of passes; by default 6 of ``als`` or 20 of ``sgd``.
        rate, reg: learning rate and λ of ``sgd``, for ratings of one to five.
    """
    star = domain.scale.star
    values = noisy.values / np.float32(star)
    sparse = Sparse(noisy.indptr, noisy.columns, values, domain.n_items, weights)
    if solver == "sgd":
        return gradient_descent(sparse, rank, epochs or 20, rate=rate, reg=reg).times(star)
    variance = float(np.mean(values.astype(np.float64) ** 2)) if len(values) else 1.0
    ridge = 25.0 if weights is None else 10.0
    factors = least_squares(
        sparse,
        rank,
        epochs or 6,
        reg=ridge * variance,
        power=0.0,
        row_scale=float(np.sqrt(ridge * biases.user_variance.mean())) / star,
        column_scale=float(np.sqrt(ridge * biases.item_variance.mean())) / star,
    )
    return factors.times(star)
