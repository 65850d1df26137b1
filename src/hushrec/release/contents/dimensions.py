"""How many dimensions of taste a release holds: what makes one person's list differ from another's.

Privacy: post-processing of a release.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Bools, Floats
from hushrec.documents import words
from hushrec.documents.words import Clause
from hushrec.figures import above

LEAST = 0.01
"""Least part of a dimension that everything in the catalogue together tells, for the dimension to count."""

__all__ = ["dimensions", "remedy", "tastes", "why_same"]


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
        return _tied(tensors["covariance"] != 0)
    if kind == "item neighbours":
        return _tied(tensors["similarity"] > 0)
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
    n_known: float = 0.0,
) -> str:
    """Say what is left of people's tastes.

    Args:
        n_dimensions: number of dimensions.
        settings: its settings, which say whether it learns tastes and what it cleans.
        epsilon: ε of the noise; None without noise.
        n_known: how many of them are from public features of items, the constant ``known_factors``.
    """
    if 0 < n_known < n_dimensions:
        learned = tastes(n_dimensions - int(n_known), model, settings, epsilon)
        return words.join([learned, words.say("taste.more_known", n=int(n_known))])
    if not n_dimensions:
        return words.say("taste.same", why=words.clause(why_same(model, settings, epsilon)))
    if n_known > 0:
        return words.say("taste.known", n=n_dimensions)
    if epsilon is None:
        return words.say("taste.no_noise", n=n_dimensions)
    return words.say(
        "taste.survived" if _cleans(model, settings) else "taste.at_most", n=n_dimensions, model=model
    )


def why_same(model: str, settings: Mapping[str, Any], epsilon: float | None) -> Clause:
    """Why a release without dimensions gives everybody the same list."""
    if not _learns(settings):
        return Clause("why_same.learns_none", {"model": model})
    if epsilon is None:
        return Clause("why_same.none_found")
    return Clause("why_same.noise", {"epsilon": float(above(epsilon))})


def remedy(feedback: str, settings: Mapping[str, Any]) -> str:
    """Say what to change where lists are the same for everybody, from public facts alone."""
    kind = "helps" if _learns(settings) else "choose"
    return words.say(f"remedy.{kind}_{feedback}")


def _learns(settings: Mapping[str, Any]) -> bool:
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
