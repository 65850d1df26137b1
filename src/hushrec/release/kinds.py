"""The kinds of predictor: the tensors and constants of each, and how many dimensions of taste it holds.

Privacy: public.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hushrec.arrays import Bools, Floats
from hushrec.documents.fact import Fact
from hushrec.documents.sentences import Branch
from hushrec.text import above

LEAST = 0.01
"""Least part of a dimension that everything in the catalogue together tells, for the dimension to count."""


def dimensions(kind: str, tensors: Mapping[str, NDArray[Any]], constants: Mapping[str, float]) -> int:
    """Number of directions in which the lists of two people can differ; 0 if everybody gets the same list.

    Of item factors f_i: the eigenvalues λ of Σ f_i f_iᵀ/τ_i² with λ/(1 + λ) ≥ ``LEAST``. A user who rated the
    whole catalogue would learn that part of their position along the dimension, whose prior is N(0, 1). Of
    linear items: the eigenvalues of Σ a_i b_i g_i g_iᵀ that are at least ``LEAST`` of the largest, less one,
    because a single direction along which all a_i g_i point orders all lists alike. Of whole matrices and
    rows, an upper bound: the items that have a neighbour, or a choice among more neighbours than count.

    Args:
        kind: a key of ``KINDS``.
        tensors, constants: of a release of this kind.
    """
    if kind == "item scores":
        return 0
    if kind == "people's rows":
        raters = np.bincount(tensors["row_items"])
        rows = np.count_nonzero(np.diff(tensors["row_starts"]))
        return min(int(rows), int((raters > constants["neighbours"]).sum()))
    if kind == "dense neighbours":
        return _count_tied(tensors["covariance"] != 0)
    if kind == "item neighbours":
        return _count_tied(tensors["similarity"] > 0)
    factors = tensors["item_factors"].astype(np.float64)
    if kind == "linear items":
        return _linear_dimensions(factors, tensors["input_weights"], tensors["output_weights"])
    spectrum = _spectrum(factors, 1 / tensors["item_noise"].astype(np.float64))
    return int((spectrum >= LEAST * (1 + spectrum)).sum())


def tastes(
    n_dimensions: int,
    model: str,
    settings: Mapping[str, Any],
    epsilon: float | None,
    decisions: Sequence[Fact],
    n_known: float = 0.0,
) -> str:
    """Say what is left of people's tastes.

    Args:
        n_dimensions: number of dimensions.
        settings: its settings, which say whether it learns tastes and what it cleans.
        epsilon: ε of the noise; None without noise.
        decisions: what the fit decided, as its statement says it.
        n_known: how many of them are from public features of items, the constant ``known_factors``.
    """
    if not n_dimensions:
        return f"Lists are the same for everyone: {why_same(model, settings, epsilon, decisions)}."
    known = "what is publicly known of items"
    if 0 < n_known < n_dimensions:
        learned = tastes(n_dimensions - int(n_known), model, settings, epsilon, decisions)
        return f"{learned} {int(n_known):,} more from {known}."
    tastes_left = f"{n_dimensions:,} dimension{'s' * (n_dimensions != 1)} of taste"
    if n_known > 0:
        return f"{tastes_left}, from {known}."
    if epsilon is None:
        return f"{tastes_left}, learned without noise."
    if _cleans(model, settings):
        which = "a direction" if n_dimensions == 1 else "directions"
        return f"{tastes_left} survived the noise: {which} in which the lists of two people can differ."
    return f"{tastes_left} at most, noise included: {model} does not tell which of them are noise."


def why_same(
    model: str, settings: Mapping[str, Any], epsilon: float | None, decisions: Sequence[Fact]
) -> str:
    """Say why a release without dimensions gives everybody the same list."""
    if not learns_tastes(settings):
        return f"{model} learns no tastes"
    decided = {one.sentence for one in decisions}
    if Branch.vote in decided:
        return "a vote of the people, with noise, found lists by popularity no worse"
    if Branch.few_items in decided:
        return "people have too few items each for lists by own items"
    return "no taste was found" if epsilon is None else f"no taste survived the noise at ε = {above(epsilon)}"


def remedy(feedback: str, *, another: bool) -> str:
    """Say what to change where lists are the same for everybody, from public facts alone.

    Args:
        another: whether another model learns tastes from such data.
    """
    ease = "hushrec plan --model private-ease says how many users that takes"
    if another:
        choose = "For lists that differ between people, choose a model that learns tastes, such as"
        return f"{choose} CovarianceSVD." if feedback == "ratings" else f"{choose} PrivateEASE; {ease}."
    if feedback == "interactions":
        return (
            "Remedies: public features of the items (hushrec domain --feature), a larger ε, or more people."
        )
    return (
        "Remedies: a larger ε, more people, or fewer releases, so that each gets more of the total; or likes "
        f"in place of ratings: PrivateEASE keeps tastes at a smaller ε, and {ease}."
    )


def learns_tastes(settings: Mapping[str, Any]) -> bool:
    return "rank" in settings or "n_neighbours" in settings


def _cleans(model: str, settings: Mapping[str, Any]) -> bool:
    """Whether the model leaves out what the noise hides."""
    covariance = settings.get("covariance")
    weighted = isinstance(covariance, Mapping) and covariance.get("cleaning") == "weighted"
    return weighted or model == "PrivateEASE"


def _spectrum(factors: Floats, weights: Floats) -> Floats:
    """Eigenvalues of Σ w_i f_i f_iᵀ, shape (rank,)."""
    return np.asarray(np.linalg.eigvalsh((factors * weights[:, None]).T @ factors), dtype=np.float64)


def _linear_dimensions(factors: Floats, inputs: Floats, outputs: Floats) -> int:
    """Count the directions of linear items, less the one that all users share."""
    weights = np.abs(inputs.astype(np.float64) * outputs)
    spectrum, axes = np.linalg.eigh((factors * weights[:, None]).T @ factors)
    largest = spectrum.max(initial=0.0)
    counted = int((spectrum >= LEAST * largest).sum()) if largest > 0 else 0
    if counted != 1:
        return max(counted - 1, 0)
    along = inputs * (factors @ axes[:, -1])
    return 0 if (along > 0).all() or (along < 0).all() else 1


def _count_tied(pairs: Bools) -> int:
    """How many items are in a pair with another, from a packed upper triangle of pairs."""
    # The n with n (n + 1)/2 cells.
    n = int((np.sqrt(8 * len(pairs) + 1) - 1) / 2)
    tied, start = np.zeros(n, dtype=np.bool_), 0
    for item in range(n):
        row = pairs[start + 1 : start + n - item]
        tied[item] |= row.any()
        tied[item + 1 :] |= row
        start += n - item
    return int(tied.sum())


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
(``hushrec.models.lists.estimate.feature_values``).
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

    These are ``CONSTANTS`` of its kind, and the prior of slopes (``hushrec.release.predictors.scores``) if
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
