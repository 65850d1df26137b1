"""The kinds of predictor: which tensors and constants a release of each holds, and in which ranges.

Privacy: public.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGEST_COUNT = 10**6
"""Largest number of neighbours among users or items."""
DISTANCES = ("squared", "cosine", "pearson")
"""Distance between users: ‖a − b‖², 1 − cos(a, b), or the latter after centring; constant ``distance``."""
_FACTORS = {"user_mean": (-1e30, 1e30), "user_variance": (1e-30, 1e30)}
_NEIGHBOURS = {**_FACTORS, "bias_noise": (1e-30, 1e30), "neighbours": (1.0, 1000.0)}
_SLOPES = dict.fromkeys(("effect_slope", "popularity_slope", "slope_odds"), (1e-30, 1e30))
_COUNT = {"neighbours": (1.0, float(LARGEST_COUNT))}
CONSTANTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "factors": _FACTORS,
    "factors and people": _FACTORS,
    "neighbours": _NEIGHBOURS,
    "dense neighbours": _NEIGHBOURS,
    "people's rows": {**_COUNT, "distance": (0.0, len(DISTANCES) - 1.0)},
    "item neighbours": _COUNT,
    "item scores": {},
    "linear items": {},
}
"""Kind of predictor → the constants that it needs, each with its smallest and largest value."""
_EFFECTS = {"item_effects": ("items",), "item_noise": ("items",), "item_popularity": ("items",)}
KINDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "factors": {**_EFFECTS, "item_factors": ("items", "rank")},
    "factors and people": {
        **_EFFECTS,
        "item_factors": ("items", "rank"),
        "user_effects": ("people",),
        "user_factors": ("people", "rank"),
    },
    "neighbours": {
        **_EFFECTS,
        "item_factors": ("items", "rank"),
        "similarity_factors": ("items", "similarity rank"),
    },
    "dense neighbours": {
        **_EFFECTS,
        "covariance": ("pairs",),
        "similarity": ("pairs",),
    },
    "people's rows": {"row_starts": ("starts",), "row_items": ("ratings",), "row_steps": ("ratings",)},
    "item neighbours": {
        "item_means": ("items",),
        "item_popularity": ("items",),
        "similarity": ("pairs",),
    },
    "item scores": {"item_scores": ("items",)},
    "linear items": {
        "item_factors": ("items", "rank"),
        "input_weights": ("items",),
        "output_weights": ("items",),
        "intercept": ("rank",),
        "item_scores": ("items",),
    },
}
"""Kind of predictor → its tensors with their dimensions; ``pairs`` is a packed upper triangle."""
VALUES: Mapping[str, tuple[str, ...]] = {
    "value_factors": ("values", "rank"),
    "value_counts": ("values",),
    "value_direction": ("rank",),
    "value_starts": ("ends of items",),
    "value_columns": ("entries",),
    "value_weights": ("entries",),
}
"""Further tensors of linear items if features explain a part of them.

They are W and b of each value, w, and a CSR matrix of items × values that holds e_i F_i
(``hushrec.estimation.interactions.feature_values``).
"""
_VALUES = {
    "count_intercept": (-1e30, 1e30),
    "half_count": (0.0, 1e30),
    "own_variance": (1e-30, 1e30),
    "placed_items": (0.0, float(LARGEST_COUNT)),
}
POSITIVE = frozenset({"item_noise", "item_popularity"})
"""Tensors of positive numbers: variances of ratings, and how often each item is chosen and liked."""
RANKERS = frozenset({"item scores", "linear items"})
"""Kinds of predictor that rank items by interactions; all others predict ratings."""
SHOWN = frozenset({"factors", "linear items", "item scores"})
"""Kinds of predictor that pages show, and that the client in JavaScript reads."""
DTYPES: Mapping[str, DTypeLike] = {
    **{"row_starts": np.int64, "row_items": np.int32, "row_steps": np.uint8},
    **{"value_starts": np.int32, "value_columns": np.int32},
}
"""Types of the tensors that are not float32: of CSR matrices of ratings, in steps above lo, and of values."""


def dtype_of(name: str) -> DTypeLike:
    """Return the type of a tensor's numbers."""
    return DTYPES.get(name, np.float32)


def shapes(kind: str, *, valued: bool) -> Mapping[str, tuple[str, ...]]:
    """Return the tensors of a kind with their dimensions.

    Args:
        kind: a key of ``KINDS``.
        valued: whether the release names values of features.
    """
    return {**KINDS[kind], **VALUES} if valued else KINDS[kind]


def ranges(kind: str, constants: Mapping[str, float], *, valued: bool) -> Mapping[str, tuple[float, float]]:
    """Constants that a release needs, each with its smallest and largest value.

    These are ``CONSTANTS`` of its kind, and the prior of slopes (``hushrec.release.predictors.slopes``) if
    it has any part of that. A release with values of features has those that place new items.

    Args:
        kind: a key of ``KINDS``.
        constants: of the release.
        valued: whether the release names values of features.
    """
    if valued:
        return {**CONSTANTS[kind], **_VALUES}
    if "user_variance" in CONSTANTS[kind] and not _SLOPES.keys().isdisjoint(constants):
        return {**CONSTANTS[kind], **_SLOPES}
    return CONSTANTS[kind]


def are_rows(tensors: Mapping[str, NDArray[Any]], n_items: int, most: float) -> bool:
    """Whether this is a CSR matrix whose items ascend in every row, with ratings on the scale.

    Args:
        most: steps from the lowest rating to the highest.
    """
    starts, items, steps = (tensors[name] for name in ("row_starts", "row_items", "row_steps"))
    return are_columns(starts, items, n_items) and bool(steps.max(initial=0) <= most + 1e-6)


def are_columns(starts: NDArray[Any], columns: NDArray[Any], n_columns: int) -> bool:
    """Whether these are the rows of a CSR matrix, whose columns ascend in every row.

    Args:
        starts: where each row starts among the columns, and where the last one ends.
        columns: of the entries.
    """
    if not len(starts) or starts[0] != 0 or starts[-1] != len(columns) or starts.min() < 0:
        return False
    falls = np.flatnonzero(columns[1:] <= columns[:-1]) + 1  # they may only fall where a new row starts
    return bool(
        (np.diff(starts) >= 0).all()
        and columns.min(initial=0) >= 0
        and columns.max(initial=-1) < n_columns
        and np.isin(falls, starts).all()
    )
