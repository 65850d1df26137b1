"""Item factors from public features: users differ in what they think of a genre, whatever was measured.

A user's rating of item i holds Σ_j x_ij w_j with w_j ~ N(0, v/m_k) for each feature j of group k, where m_k
is the mean of Σ_j x_ij² over the ratings. So each kind of feature explains the variance v. Features become
item factors √(v/m_k) x_ij, rotated and cut to the directions that explain most. A device learns its user's
weights from their own ratings, so no noise ever meets them.

Privacy: public in, public out.
"""

import numpy as np

from hushrec.arrays import Floats
from hushrec.item_prior import ItemPrior

__all__ = ["feature_tastes"]

_EXPLAINED = 0.002
"""Variance v of a user's ratings that a kind of feature explains, in squared widths of the scale; by hand."""
_MOST = 32
"""The most directions. Chosen by hand."""


def feature_tastes(prior: ItemPrior, popularity: Floats, span: float) -> Floats:
    """Make factors of the items from features, such that the users' vectors have unit covariance.

    Args:
        prior: what is publicly known about the items.
        popularity: how often each item is chosen, positive, shape (n_items,).
        span: width of the scale.

    Returns:
        In rating units, shape (n_items, rank), of rank 0 if there are no features.
    """
    if not prior.design.size:
        return np.zeros((len(popularity), 0))
    weights = popularity / popularity.sum()
    sizes = np.bincount(prior.groups, weights @ prior.design**2)
    scales = np.sqrt(_EXPLAINED * span**2 / np.maximum(sizes, 1e-12))[prior.groups]
    columns = prior.design * scales
    _, directions = np.linalg.eigh((columns * weights[:, None]).T @ columns)
    return np.asarray(columns @ directions[:, : -_MOST - 1 : -1], dtype=np.float64)
