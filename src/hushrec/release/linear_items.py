"""Scores that are linear in a user's own items, as those of EASE (Steck 2019) are."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.release.artefact import Release
from hushrec.release.block_scores import BlockScores, InnerProducts, Rows


class LinearItems:
    """Ranks by score_j = b_j Σ_i a_i ⟨g_i, g_j⟩ over a user's own items i ≠ j; by ``item_scores`` without any.

    How often an item was given does not count.

    Privacy: post-processing of a release and the user's own items.
    """

    def __init__(self, release: Release) -> None:
        tensors = release.tensors
        factors = tensors["item_factors"].astype(np.float64)
        scores = tensors["item_scores"].astype(np.float64)[:, None]
        outputs = tensors["output_weights"].astype(np.float64)[:, None]
        self._inputs = tensors["input_weights"].astype(np.float64)[:, None] * factors
        # A score is the inner product of (b_j g_j, item score) and (Σ a_i g_i, 0), or (0, 1) without items.
        self._products = InnerProducts(np.hstack([outputs * factors, scores]))

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings; an item is no reason for itself."""
        scores = self._products.of(self._vector(np.sort(rated)), targets)
        own = np.isin(targets, rated)
        mine = targets[own]
        scores[own] -= (self._inputs[mine] * self._products.rows[mine, :-1]).sum(axis=1)
        return scores

    def scores(self, rows: Rows) -> BlockScores:
        """Scores of all items; those of a user's own items count themselves, and are not for ranking."""
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return self._products.scores(np.array([self._vector(rows.items[a:b]) for a, b in bounds]))

    def _vector(self, rated: Ints) -> Floats:
        """(Σ a_i g_i, 0), added up in the order of the items, or (0, 1); shape (rank + 1,)."""
        return np.append(self._inputs[rated].sum(axis=0), 0.0 if len(rated) else 1.0)
