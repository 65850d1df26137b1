"""Scores that are the same for everybody."""

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.fold_in import predictor


def test_item_scores_are_the_same_for_everybody(ranker):
    """Negative ones and ties too; what somebody gave changes nothing but what is asked for."""
    rank = predictor(ranker(scores=[2, -1, 2, 0]))
    targets = np.array([3, 1, 0])
    for rated in ([], [0], [2, 1]):
        assert rank.predict(np.array(rated, dtype=np.int64), np.ones(len(rated)), targets).tolist() == [
            0,
            -1,
            2,
        ]


def test_scores_have_neither_reasons_nor_similar_items(ranker):
    one = np.array([0])
    with pytest.raises(ReleaseError, match="the same scores; no item of yours changes them"):
        predictor(ranker()).contributions(one, np.ones(1), one)
    with pytest.raises(ReleaseError, match="does not tell which items are alike"):
        predictor(ranker()).similarity(one, one)
