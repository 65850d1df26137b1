"""Expected counts of items, from public features and noisy counts.

log θ_i = b_0 + x_i · b with x_i the values of item i's features and b_j ~ N(0, τ_k) for a feature of kind k.
A noisy count is N(θ_i g_i, σ²), where the ratio g_i is what features do not say of an item; the weights take
2 for its variance. b and τ are fitted in turn: Fisher's scoring, then MacKay's update (MacKay 1992, "Bayesian
interpolation", §3). A kind that says nothing gets a small τ.

Privacy: post-processing of released counts; features are public.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from hushrec.arrays import Floats, Ints
from hushrec.privacy.bounded import Noisy

__all__ = ["CountModel", "count_model"]

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


def count_model(counts: Noisy, tables: Sequence[Any]) -> CountModel | None:
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
    centre = math.log(max(float(observed.mean()), 0.1 * counts.sigma / math.sqrt(n), 1e-3))
    coefficients = np.concatenate([[centre], np.zeros(n_columns - 1)])
    spread = np.full(len(tables), _FIRST)
    for step in range(1, _STEPS + 1):
        predicted = np.clip(columns @ coefficients, centre + _LOWEST, centre + _HIGHEST)
        theta = np.exp(predicted)
        weights = theta**2 / (2 * theta**2 + variance)
        residuals = np.clip((observed - theta) / theta, -_LARGEST_RESIDUAL, _LARGEST_RESIDUAL)
        inner = (columns.T @ sparse.diags_array(weights) @ columns).toarray()
        inner[np.diag_indices(n_columns)] += [1e-9, *1 / spread[kinds]]
        root = cho_factor(inner, lower=True, overwrite_a=True)
        solved = cho_solve(root, columns.T @ (weights * (predicted + residuals)))
        coefficients += _DAMPING * (solved - coefficients)
        if step % _EVERY == 0:
            uncertain = np.diag(dpotri(root[0], lower=True)[0])[1:]  # of the inverse
            determined = _summed(1 - uncertain / spread[kinds], kinds, spread)
            squares = _summed(coefficients[1:] ** 2, kinds, spread)
            spread = np.clip(squares / np.maximum(determined, 1e-9), _LEAST, _MOST)
    predicted = np.clip(columns @ coefficients, centre + _LOWEST, centre + _HIGHEST)
    of_values = np.zeros(sum(table.shape[1] for table in tables))
    of_values[chosen] = coefficients[1:]
    return CountModel(np.asarray(np.exp(predicted), dtype=np.float64), float(coefficients[0]), of_values)


def _summed(values: Floats, kinds: Ints, like: Floats) -> Floats:
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
