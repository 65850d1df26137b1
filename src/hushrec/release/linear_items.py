"""Scores that are linear in a user's own items, as those of EASE (Steck 2019) are."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.release.artefact import Release
from hushrec.release.lists import cosines


class LinearItems:
    """Ranks by score_j = b_j Σ_i a_i ⟨g_i, g_j⟩ over a user's own items i ≠ j; by ``item_scores`` without any.

    How often an item was given does not count.

    Privacy: post-processing of a release and the user's own items.
    """

    def __init__(self, release: Release) -> None:
        tensors = release.tensors
        self._factors = tensors["item_factors"].astype(np.float64)
        self._inputs = tensors["input_weights"].astype(np.float64)
        self._outputs = tensors["output_weights"].astype(np.float64)
        self._scores = tensors["item_scores"].astype(np.float64)

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings; an item is no reason for itself."""
        if not len(rated):
            return np.asarray(self._scores[targets])
        person = self._inputs[rated] @ self._factors[rated]
        scores = self._factors[targets] @ person
        own = np.isin(targets, rated)
        mine = targets[own]
        scores[own] -= self._inputs[mine] * (self._factors[mine] ** 2).sum(axis=1)
        return np.asarray(self._outputs[targets] * scores)

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """a_i ⟨g_i, g_j⟩ b_j of each own item i ≠ j; without own items there are none."""
        products = self._factors[rated] @ self._factors[targets].T
        products[rated[:, None] == targets] = 0
        return np.asarray(self._inputs[rated, None] * products * self._outputs[targets], dtype=np.float64)

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Cosine of g_i and g_j times √(a_i a_j): a is small for items of which little is known."""
        lengths, weights = np.linalg.norm(self._factors, axis=1), np.sqrt(np.maximum(self._inputs, 0))
        alike = cosines(self._factors[items] @ self._factors[others].T, lengths[items], lengths[others])
        return np.asarray(alike * np.outer(weights[items], weights[others]), dtype=np.float64)
