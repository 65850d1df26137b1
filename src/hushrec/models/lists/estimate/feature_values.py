"""What public features say of items: expected counts, parts of the scores, and places for new items.

Expected counts follow from features and noisy counts: log θ_i = b_0 + x_i · b with x_i the values of item i's
features and b_j ~ N(0, τ_k) for a feature of kind k. A noisy count is N(θ_i g_i, σ²), where the ratio g_i is
what features do not say of an item; the weights take 2 for its variance. b and τ are fitted in turn: Fisher's
scoring, then MacKay's update (MacKay 1992, "Bayesian interpolation", §3). A kind that says nothing gets a
small τ.

In a release of linear scores an item's factors are g_i = e_i F_i W + the rest, with e_i = √t_i/A_i and row
F_i of the table of features, so each value that own items have adds to a score a part of its own. An item
whose pairs were not measured has no rest, and a new one neither. Of a new one, the expected count θ_j is that
of the regression on features, the weights follow from θ_j as those of all others do, and the covariance with
the others is that of the features' part of L_j with theirs.

Privacy: post-processing; features are public.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from hushrec.arrays import Floats, Ints
from hushrec.estimation.head import Head
from hushrec.estimation.shrinkage import Known
from hushrec.item_prior import FeatureGroup
from hushrec.models.lists.estimate.pair_factors import (
    LEAST,
    RIDGE,
    Crowd,
    ItemFactors,
    Muting,
    ValueFactors,
)

# Chosen by hand, all of them.
_VALUES = 1200
"""The most values of features, the commonest ones: one step solves as many equations."""
_STEPS, _DAMPING, _EVERY = 25, 0.6, 3
"""Fisher steps, the part of each that is taken, and how many of them for one update of τ."""
_LOWEST, _HIGHEST = -6.0, 5.0
"""Bounds of log θ around the logarithm of the mean."""
_LARGEST_RESIDUAL = 50.0
"""Bound of (s̃ − θ)/θ."""
_FIRST, _LEAST, _MOST = 1.0, 1e-5, 4.0
"""τ at first, and its bounds."""


class CountModel(NamedTuple):
    """A log-linear regression of counts on features.

    Attributes:
        expected: θ of each item, positive, shape (n,).
        intercept: b_0.
        coefficients: b of each value of all features, 0 for those that are too rare, shape (n_values,).
    """

    expected: Floats
    intercept: float
    coefficients: Floats


def count_model(counts: Known, tables: Sequence[Any]) -> CountModel | None:
    """Fit the counts that features let expect.

    Args:
        counts: of each item, shape (n,).
        tables: which items have which values, one sparse matrix for each kind of feature, shape (n, any).

    Returns:
        None without features.
    """
    if not tables:
        return None
    observed, variance = counts.values, counts.sigma**2
    columns, kinds, chosen = _commonest(tables)
    n, n_columns = columns.shape
    # b_0 starts at the mean count; where noise hides that, at a tenth of the deviation of the mean.
    centre = math.log(max(float(observed.mean()), 0.1 * float(np.mean(counts.sigma)) / math.sqrt(n), 1e-3))
    coefficients = np.concatenate([[centre], np.zeros(n_columns - 1)])
    spread = np.full(len(tables), _FIRST)
    for step in range(1, _STEPS + 1):
        predicted = np.clip(columns @ coefficients, centre + _LOWEST, centre + _HIGHEST)
        theta = np.exp(predicted)
        # Fisher information of log θ in one count, θ²/Var, with 2 θ² of the ratio and σ² of the noise.
        weights = theta**2 / (2 * theta**2 + variance)
        # The working response is log θ + (s̃ − θ)/θ, and b ← (Xᵀ W X + diag(1/τ))⁻¹ Xᵀ W times it.
        residuals = np.clip((observed - theta) / theta, -_LARGEST_RESIDUAL, _LARGEST_RESIDUAL)
        inner = (columns.T @ sparse.diags_array(weights) @ columns).toarray()
        inner[np.diag_indices(n_columns)] += [1e-9, *1 / spread[kinds]]
        root = cho_factor(inner, lower=True, overwrite_a=True)
        solved = cho_solve(root, columns.T @ (weights * (predicted + residuals)))
        coefficients += _DAMPING * (solved - coefficients)
        if step % _EVERY == 0:
            # MacKay: τ_k = Σ b²/Σ (1 − Var b/τ_k) over the values of a kind.
            uncertain = np.diag(dpotri(root[0], lower=True)[0])[1:]  # of the inverse
            determined = _sum_by_kind(1 - uncertain / spread[kinds], kinds, spread)
            squares = _sum_by_kind(coefficients[1:] ** 2, kinds, spread)
            spread = np.clip(squares / np.maximum(determined, 1e-9), _LEAST, _MOST)
    predicted = np.clip(columns @ coefficients, centre + _LOWEST, centre + _HIGHEST)
    of_values = np.zeros(sum(table.shape[1] for table in tables))
    of_values[chosen] = coefficients[1:]
    return CountModel(np.asarray(np.exp(predicted), dtype=np.float64), float(coefficients[0]), of_values)


def _sum_by_kind(values: Floats, kinds: Ints, like: Floats) -> Floats:
    """Sum over the values of each kind."""
    return np.asarray(np.bincount(kinds, values, len(like)), dtype=np.float64)


def _commonest(tables: Sequence[Any]) -> tuple[Any, Ints, Ints]:
    """Return a constant and the commonest values of all features, sparse; the kind of each, and its place."""
    columns = sparse.csc_array(sparse.hstack(tables))
    sizes = np.diff(columns.indptr)
    chosen = np.sort(np.argsort(-sizes, kind="stable")[:_VALUES])
    ones = np.ones((columns.shape[0], 1))
    kinds = np.repeat(np.arange(len(tables)), [table.shape[1] for table in tables])[chosen]
    return sparse.csr_array(sparse.hstack([sparse.csr_array(ones), columns[:, chosen]])), kinds, chosen


def reach_tail(fitted: ItemFactors, tables: Sequence[Any], weights: Muting, head: Head) -> ItemFactors:
    """Spread the factors of the head over the catalogue: of an item of the tail, they are what features say.

    Args:
        fitted: the factors of the head's items.
        tables: which items of the catalogue have which values, one sparse matrix for each kind.
        weights: d, v and t of the catalogue.
        head: whose pairs were measured.
    """
    factors, tail = head.spread(fitted.factors), head.places < 0
    if tables and tail.any():
        table = sparse.csr_array(sparse.hstack(tables))
        part = _part_along(table, fitted.values, weights, head.items)
        factors[tail] = np.sqrt(weights.variance[tail])[:, None] * (table[tail] @ fitted.values)
        factors[tail] -= np.outer(weights.direction[tail], part)
    return fitted._replace(factors=factors)


_MOST_VALUES = 80.0
"""Bound of the logarithm of a count, so that nothing overflows."""


class ValueTable(NamedTuple):
    """A table of the values of features.

    Attributes:
        values: name of the feature, and value; of a number in two tables, the wider part that it is in.
        tensors, constants: as a release holds them (``hushrec.release.kinds``).
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
        items: those whose pairs were measured, shape (n,).
        explained: what features explain of the scores.
        crowd: how large it is.
    """
    loaded, direction, diagonal = explained
    table = sparse.csr_array(sparse.hstack([group.table for group in groups]))
    factors = loaded[: table.shape[1]]  # further rows are of other people's interactions, which have no names
    part = _part_along(table, factors, weights, items)
    weighted = _scale_rows(table, np.sqrt(weights.variance) / diagonal)
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
            "half_count": weights.half,
            "own_variance": crowd.total / len(diagonal),
            "placed_items": 0.0,
        },
    )


def _part_along(table: Any, values: Floats, weights: Muting, items: Ints) -> Floats:
    """Return (vᵀ √t F) B/|v|² over the items whose pairs were measured: the pairs are centred on these.

    Args:
        table: F of the catalogue, sparse, shape (n_items, n_values).
        values: B, shape (n_values, rank).
        weights: d, v and t of the catalogue.
        items: the items whose pairs were measured.
    """
    along = weights.direction[items]
    loaded = (table[items].T @ (np.sqrt(weights.variance[items]) * along)) @ values
    return np.asarray(loaded / max(float(along @ along), LEAST), dtype=np.float64)


def place_items(tensors: Mapping[str, Any], constants: Mapping[str, float], table: Any) -> dict[str, Any]:
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
    # log θ_j = b_0 + x_j · b, within the counts of the fitted items.
    expected = constants["count_intercept"] + table @ tensors["value_counts"].astype(np.float64)
    theta = np.clip(np.exp(np.clip(expected, -_MOST_VALUES, _MOST_VALUES)), s.min(), s.max())
    half = constants["half_count"]
    # d, v and t by the formulas of ``muting``, with the scales that the fitted items had.
    muted = np.maximum(theta / (theta + half) * (s.max() + half) / s.max(), LEAST)
    along = theta * muted
    variance = along * muted / (s * d**2).mean()
    factors, direction = (tensors[name].astype(np.float64) for name in ("value_factors", "value_direction"))
    # √t_j F_j W + v_j w, as for the items that were fitted.
    loaded = np.sqrt(variance)[:, None] * (table @ factors)
    loaded += np.outer(along / math.sqrt(float(((s * d) ** 2).sum())), direction)
    # A_j: the item's own variance, of which no factor takes a part, and the ridge.
    diagonal = constants["own_variance"] * (variance + RIDGE)
    weighted = _scale_rows(table, np.sqrt(variance) / diagonal)
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


def _scale_rows(table: Any, scale: Floats) -> Any:
    """Multiply the rows of a sparse table; columns ascend in each."""
    scaled = sparse.csr_array(sparse.diags_array(scale) @ table)
    scaled.sort_indices()
    return scaled
