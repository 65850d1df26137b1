"""How many dimensions of taste a release holds: what makes one person's list differ from another's.

Privacy: post-processing of a release.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Bools, Floats
from hushrec.figures import above

LEAST = 0.01
"""Least part of a dimension that everything in the catalogue together tells, for the dimension to count."""

_CROWD = "hushrec plan --model private-ease says how many users that takes"

__all__ = ["dimensions", "remedy", "sentence"]


def dimensions(kind: str, tensors: Mapping[str, NDArray[Any]], constants: Mapping[str, float]) -> int:
    """Number of directions in which the lists of two people can differ; 0 if everybody gets the same list.

    Of item factors f_i: the eigenvalues λ of Σ f_i f_iᵀ/τ_i² with λ/(1 + λ) ≥ ``LEAST``. Somebody who rated
    the whole catalogue would learn that part of their position along the dimension, whose prior is N(0, 1).
    Of linear items: the eigenvalues of Σ a_i b_i g_i g_iᵀ that are at least ``LEAST`` of the largest, less
    one, because a single direction orders all lists alike. Of whole matrices and rows, an upper bound: the
    items that have a neighbour, or a choice among more neighbours than count.

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
        return _tied(tensors["covariance"] != 0)
    if kind == "item neighbours":
        return _tied(tensors["similarity"] > 0)
    factors = tensors["item_factors"].astype(np.float64)
    if kind == "linear items":
        weights = tensors["input_weights"].astype(np.float64) * tensors["output_weights"]
        found = _spectrum(factors, np.abs(weights))
        largest = found.max(initial=0.0)
        return max(int((found >= LEAST * largest).sum()) - 1, 0) if largest else 0
    found = _spectrum(factors, 1 / tensors["item_noise"].astype(np.float64))
    return int((found >= LEAST * (1 + found)).sum())


def sentence(
    found: int, model: str, config: Mapping[str, Any], epsilon: float | None, known: float = 0.0
) -> str:
    """What is left of people's tastes, in plain words.

    Args:
        found: number of dimensions.
        config: its settings, which say whether it learns tastes and what it cleans.
        epsilon: ε of the noise; None without noise.
        known: how many of them are from public features of items, the constant ``known_factors``.
    """
    if 0 < known < found:
        learned = sentence(found - int(known), model, config, epsilon)
        return f"{learned} {int(known):,} more from what is publicly known of items."
    if not found:
        same = "Lists are the same for everybody"
        if "rank" not in config and "n_neighbours" not in config:
            return f"{same}: {model} learns no tastes."
        if epsilon is None:
            return f"{same}: no taste was found."
        return f"{same}: no taste survived the noise at ε = {above(epsilon)}."
    counted = f"{found:,} dimension{'s' * (found > 1)} of taste"
    if known > 0 or ("rank" not in config and "n_neighbours" not in config):
        return f"{counted}, from what is publicly known of items."
    if epsilon is None:
        return f"{counted}, learned without noise."
    if _cleans(model, config):
        return f"{counted} survived the noise."
    return f"{counted} at most, noise included: {model} does not tell which of them are noise."


def remedy(feedback: str, config: Mapping[str, Any]) -> str:
    """What to change where lists are the same for everybody, from public facts alone."""
    if "rank" not in config and "n_neighbours" not in config:
        other = "PrivateEASE" if feedback == "interactions" else "CovarianceSVD"
        said = f"For lists that differ between people, choose a model that learns tastes, such as {other}"
        return f"{said}; {_CROWD}." if other == "PrivateEASE" else f"{said}."
    helps = "a larger ε, more people, or fewer releases, so that each gets more of the total"
    if feedback == "interactions":
        return f"What helps: {helps}."
    likes = "likes in place of ratings: PrivateEASE keeps tastes at a smaller ε"
    return f"What helps: {helps}; or {likes}, and {_CROWD}."


def _cleans(model: str, config: Mapping[str, Any]) -> bool:
    """Whether the model leaves out what the noise hides."""
    covariance = config.get("covariance")
    weighted = isinstance(covariance, Mapping) and covariance.get("cleaning") == "weighted"
    return weighted or model == "PrivateEASE"


def _spectrum(factors: Floats, weights: Floats) -> Floats:
    """Eigenvalues of Σ w_i f_i f_iᵀ, shape (rank,)."""
    return np.asarray(np.linalg.eigvalsh((factors * weights[:, None]).T @ factors), dtype=np.float64)


def _tied(pairs: Bools) -> int:
    """How many items are in a pair with another, from a packed upper triangle of pairs."""
    n = int((np.sqrt(8 * len(pairs) + 1) - 1) / 2)
    tied, start = np.zeros(n, dtype=np.bool_), 0
    for item in range(n):
        row = pairs[start + 1 : start + n - item]
        tied[item] |= row.any()
        tied[item + 1 :] |= row
        start += n - item
    return int(tied.sum())
