"""Scores that are linear in a user's own items, as those of EASE (Steck 2019) are."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.release.artefact import Release
from hushrec.release.lists import cosines
from hushrec.release.predictors.block_scores import BlockScores, InnerProducts, Rows

LEAST_LENGTH = 1e-300
"""In place of a length of 0, so that nothing is divided by zero."""


class LinearItems:
    """Ranks by score_j = b_j ⟨Σ_i a_i g_i + ‖a‖ h, g_j⟩ over own items i ≠ j, or else by ``item_scores``.

    ‖a‖ is the length of the vector of all own a_i, and h the intercept: what own items do not say is filled
    in by popularity. How often an item was given does not count.

    Privacy: post-processing of a release and the user's own items.
    """

    def __init__(self, release: Release) -> None:
        tensors = release.tensors
        self._factors = tensors["item_factors"].astype(np.float64)
        self._weights = tensors["input_weights"].astype(np.float64)
        self._intercept = tensors["intercept"].astype(np.float64)
        scores = tensors["item_scores"].astype(np.float64)[:, None]
        outputs = tensors["output_weights"].astype(np.float64)[:, None]
        # A score is the inner product of (b_j g_j, item score) and the user's vector.
        self._products = InnerProducts(np.hstack([outputs * self._factors, scores]))

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings; an own item does not count for itself."""
        scores = self._products.of(self._vector(np.sort(rated)), targets)
        is_own = np.isin(targets, rated)
        mine = targets[is_own]
        scores[is_own] -= (self._parts(mine, self._length(rated)) * self._products.rows[mine, :-1]).sum(
            axis=1
        )
        return scores

    rank = predict

    def scores(self, rows: Rows) -> BlockScores:
        """Scores of all items; those of a user's own items count themselves, and are not for ranking."""
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return self._products.scores(
            np.array([self._vector(rows.items[a:b].astype(np.int64)) for a, b in bounds])
        )

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """⟨a_i g_i + a_i²/‖a‖ h, g_j⟩ b_j of each own item i ≠ j; without own items there are none."""
        products = self._parts(rated, self._length(rated)) @ self._products.rows[targets, :-1].T
        products[rated[:, None] == targets] = 0
        return np.asarray(products, dtype=np.float64)

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine of g_i and g_j times √(a_i a_j): a is small for items with little data."""
        lengths, weights = np.linalg.norm(self._factors, axis=1), np.sqrt(np.maximum(self._weights, 0))
        alike = cosines(self._factors[items] @ self._factors[others].T, lengths[items], lengths[others])
        return np.asarray(alike * np.outer(weights[items], weights[others]), dtype=np.float64)

    def _length(self, rated: Ints) -> float:
        """‖a‖ over a user's items."""
        return float(np.sqrt((self._weights[rated] ** 2).sum()))

    def _parts(self, rated: Ints, length: float) -> Floats:
        """Each own item's part of the user's vector: ‖a‖ = Σ a_i²/‖a‖, shape (n_rated, rank)."""
        weights = self._weights[rated, None]
        return weights * self._factors[rated] + weights**2 / max(length, LEAST_LENGTH) * self._intercept

    def _vector(self, rated: Ints) -> Floats:
        """(Σ a_i g_i + ‖a‖ h, 0), added up in the order of the items, or (0, 1); shape (rank + 1,)."""
        parts = self._parts(rated, self._length(rated)).sum(axis=0)
        return np.append(parts, 0.0 if len(rated) else 1.0)
