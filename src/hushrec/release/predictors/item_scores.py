"""Scores that do not depend on who asks."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.lists import unlike
from hushrec.release.predictors.block_scores import BlockScores, InnerProducts, Rows


class ItemScores:
    """The same scores for everybody, such as popularity: a user's own items leave the list, and no more.

    Privacy: post-processing of a release.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        self._products = InnerProducts(release.tensors["item_scores"].astype(np.float64)[:, None])

    def predict(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Scores of ``targets``, which are not ratings."""
        return self._products.of(np.ones(1), targets)

    rank = predict

    def scores(self, rows: Rows) -> BlockScores:
        return self._products.scores(np.ones((rows.n_users, 1)))

    def contributions(self, rated: Ints, ratings: Floats, targets: Ints) -> Floats:
        """Refused: a user's items change nothing."""
        raise ReleaseError("this release gives everybody the same scores; no item of yours changes them")

    def similarity(self, items: Ints, others: Ints) -> Floats:
        """Refused: scores say nothing about pairs of items."""
        raise ReleaseError(unlike(self._release.why_same))
