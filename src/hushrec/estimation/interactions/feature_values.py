"""Values of features in a release of linear scores: the parts that they add to scores, and new items.

An item's factors are g_i = e_i F_i W + the rest, with e_i = √t_i/A_i and row F_i of the table of features,
so each value that own items have adds to a score a part of its own. A new item has no
rest: its expected count θ_j is that of the regression on features, its weights follow from θ_j as those of
all others do, and its covariance with the others is that of the features' part of L_j with theirs.

Privacy: post-processing; features are public.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hushrec.arrays import Floats, Ints
from hushrec.estimation.interactions.expected_counts import CountModel
from hushrec.estimation.interactions.pair_factors import LEAST, RIDGE, Crowd, Muting, ValueFactors, half_count
from hushrec.item_prior import FeatureGroup

__all__ = ["ValueTable", "placed", "value_table"]

_MOST = 80.0
"""Bound of the logarithm of a count, so that nothing overflows."""


class ValueTable(NamedTuple):
    """A table of the values of features.

    Attributes:
        values: name of the feature, and value; of a number in two tables, the wider part that it is in.
        tensors, constants: as a release holds them (``hushrec.release.contents.kinds``).
    """

    values: tuple[tuple[str, str], ...]
    tensors: Mapping[str, Any]
    constants: Mapping[str, float]


def value_table(
    groups: tuple[FeatureGroup, ...],
    counts: CountModel,
    popularity: Floats,
    weights: Muting,
    items: Ints,
    explained: ValueFactors,
    crowd: Crowd,
) -> ValueTable:
    """Make the table that a release holds.

    Args:
        groups: the features of the catalogue.
        counts: the regression of counts on them.
        popularity: s, shape (n_items,).
        weights: d, v and t, of all items.
        items: those whose pairs were measured, shape (n,); features explain the factors of these alone.
        explained: what features explain of the scores.
        crowd: how large it is.
    """
    loaded, direction, diagonal = explained
    table = sparse.csr_array(sparse.hstack([group.table for group in groups]))
    factors = loaded[: table.shape[1]]  # further rows are of other people's interactions, which have no names
    spread = np.sqrt(weights.variance)
    along = weights.direction[items]
    part = (table[items].T @ (spread[items] * along)) @ factors / max(float(along @ along), LEAST)
    scale = np.zeros(len(spread))
    scale[items] = spread[items] / diagonal[items]
    weighted = _scaled(table, scale)
    return ValueTable(
        values=tuple((group.name, label) for group in groups for label in group.shown),
        tensors={
            "value_factors": factors,
            "value_counts": counts.coefficients,
            "value_direction": direction - part,
            "value_starts": weighted.indptr,
            "value_columns": weighted.indices,
            "value_weights": weighted.data,
        },
        constants={
            "count_intercept": counts.intercept,
            "half_count": half_count(popularity, crowd.signal),
            "own_variance": crowd.total / len(spread),
            "placed_items": 0.0,
        },
    )


def placed(tensors: Mapping[str, Any], constants: Mapping[str, float], table: Any) -> dict[str, Any]:
    """Return the tensors of a release with further items, whose features alone are known.

    EASE scores item j by y_j Σ_i x_i d_i g_i/d_j, with y_j = g_j A_j the loaded features' part of L_j: no one
    has it yet, so nothing is divided by what it says of itself. As someone's own item it has the variance
    that t_j gives it, and nothing of it is explained.

    Args:
        tensors, constants: of the release.
        table: F of the new items, sparse, shape (n_new, n_values).
    """
    n_fitted = len(tensors["item_scores"]) - int(constants["placed_items"])
    s, d = (tensors[name][:n_fitted].astype(np.float64) for name in ("item_scores", "input_weights"))
    expected = constants["count_intercept"] + table @ tensors["value_counts"].astype(np.float64)
    theta = np.clip(np.exp(np.clip(expected, -_MOST, _MOST)), s.min(), s.max())
    half = constants["half_count"]
    muted = np.maximum(theta / (theta + half) * (s.max() + half) / s.max(), LEAST)
    along = theta * muted
    variance = along * muted / (s * d**2).mean()
    factors, direction = (tensors[name].astype(np.float64) for name in ("value_factors", "value_direction"))
    loaded = np.sqrt(variance)[:, None] * (table @ factors)
    loaded += np.outer(along / math.sqrt(float(((s * d) ** 2).sum())), direction)
    diagonal = constants["own_variance"] * (variance + RIDGE)
    weighted = _scaled(table, np.sqrt(variance) / diagonal)
    ends = tensors["value_starts"][-1] + weighted.indptr[1:]
    added = {
        "item_factors": loaded / diagonal[:, None],
        "input_weights": muted,
        "output_weights": diagonal / muted,
        "item_scores": theta,
        "value_starts": ends,
        "value_columns": weighted.indices,
        "value_weights": weighted.data,
    }
    return {
        name: np.concatenate([tensor, np.asarray(added[name], tensor.dtype)]) if name in added else tensor
        for name, tensor in tensors.items()
    }


def _scaled(table: Any, scale: Floats) -> Any:
    """Multiply the rows of a sparse table; columns ascend in each."""
    scaled = sparse.csr_array(sparse.diags_array(scale) @ table)
    scaled.sort_indices()
    return scaled
