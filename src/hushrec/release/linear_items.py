"""Scores that are linear in a user's own items, as those of EASE (Steck 2019) are."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.release.artefact import Release


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
