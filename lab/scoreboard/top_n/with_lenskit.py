"""LensKit's scorers on rows of likes, as anybody trains them: from a data frame of ``user_id, item_id``."""

import numpy as np
import pandas as pd
from lenskit.als import ImplicitMFScorer
from lenskit.data import ItemList, RecQuery, from_interactions_df
from lenskit.knn import EASEScorer, ItemKNNScorer
from scipy.sparse import csr_matrix


def scorers(n_rows: int) -> dict[str, object]:
    """With the penalties that ``trained`` has for the same models; they grow with the number of rows."""
    return {
        "LensKit EASE": EASEScorer(regularization=n_rows / 10),
        "LensKit item-kNN": ItemKNNScorer(feedback="implicit", max_nbrs=200, min_sim=1e-6),
        "LensKit iALS": ImplicitMFScorer(embedding_size=32, weight=2.0, regularization=0.01, epochs=15),
    }


def scored(name: str, frame: pd.DataFrame, given: csr_matrix, items: list[str]) -> np.ndarray:
    """Scores of people by what they fold in, shape (n_people, n_items); items without one come last.

    Args:
        name: of the scorer.
        frame: the rows, as ``user_id, item_id``.
        given: what people fold in.
        items: ids, in the order of the columns.
    """
    scorer = scorers(frame["user_id"].nunique())[name]
    scorer.train(from_interactions_df(frame, items=items))
    every = ItemList(item_ids=items)
    found = np.full(given.shape, -np.inf)
    ids = np.array(items)
    for person, row in enumerate(found):
        own = ItemList(item_ids=ids[given[person].indices])
        row[:] = scorer(RecQuery(user_id=None, user_items=own, history_items=own), every).scores()
    return np.nan_to_num(found, nan=-1e9)
