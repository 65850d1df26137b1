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
POSITIVE = frozenset({"item_noise", "item_popularity"})
"""Tensors of positive numbers: variances of ratings, and how often each item is chosen and liked."""
RANKERS = frozenset({"item scores", "linear items"})
"""Kinds of predictor that rank items by interactions; all others predict ratings."""
SHOWN = frozenset({"factors", "linear items", "item scores"})
"""Kinds of predictor that pages show, and that the client in JavaScript reads."""
DTYPES: Mapping[str, DTypeLike] = {"row_starts": np.int64, "row_items": np.int32, "row_steps": np.uint8}
"""Types of the tensors that are not float32. They are a CSR matrix of ratings, in steps above lo."""


def ranges(kind: str, constants: Mapping[str, float]) -> Mapping[str, tuple[float, float]]:
    """Constants that a release needs, each with its smallest and largest value.

    These are ``CONSTANTS`` of its kind, and the prior of slopes (``hushrec.release.predictors.slopes``) if
    it has any part of that.

    Args:
        kind: a key of ``KINDS``.
        constants: of the release.
    """
    if "user_variance" in CONSTANTS[kind] and not _SLOPES.keys().isdisjoint(constants):
        return {**CONSTANTS[kind], **_SLOPES}
    return CONSTANTS[kind]


def are_rows(tensors: Mapping[str, NDArray[Any]], n_items: int, most: float) -> bool:
    """Whether this is a CSR matrix whose items ascend in every row, with ratings on the scale.

    Args:
        most: steps from the lowest rating to the highest.
    """
    starts, items, steps = (tensors[name] for name in ("row_starts", "row_items", "row_steps"))
    if not len(starts) or starts[0] != 0 or starts[-1] != len(items) or starts.min() < 0:
        return False
    falls = np.flatnonzero(items[1:] <= items[:-1]) + 1  # items may only fall where a new row starts
    return bool(
        (np.diff(starts) >= 0).all()
        and items.min(initial=0) >= 0
        and items.max(initial=-1) < n_items
        and steps.max(initial=0) <= most + 1e-6
        and np.isin(falls, starts).all()
    )
