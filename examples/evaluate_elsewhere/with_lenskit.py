"""Measure the lists with LensKit, next to those of a LensKit model trained on the same split.

python with_lenskit.py FOLDER
"""

import sys
from pathlib import Path

import pandas as pd
from lenskit.batch import recommend
from lenskit.data import ItemList, ItemListCollection, RecQuery, UserIDKey, from_interactions_df
from lenskit.knn import EASEScorer
from lenskit.metrics import NDCG, Recall, RunAnalysis
from lenskit.metrics.ranking import LogRankWeight
from lenskit.pipeline import topn_pipeline

folder = Path(sys.argv[1])
train, fold_in, test, lists = (
    pd.read_parquet(folder / f"{name}.parquet") for name in ("train", "fold_in", "test", "lists")
)

ease = topn_pipeline(EASEScorer(regularization=300), n=100)
ease.train(from_interactions_df(train))
queries = [
    RecQuery(user_id=user, history_items=ItemList.from_df(own[["item_id"]]))
    for user, own in fold_in.groupby("user_id")
]
runs = {
    "PrivateEASE": ItemListCollection.from_df(lists, UserIDKey),
    "EASEScorer": recommend(ease, queries, n_jobs=1),
}

sought = ItemListCollection.from_df(test, UserIDKey)


def mean(run):
    """The mean of every metric: an analysis adds up all that it measures, so each run has its own."""
    metrics = RunAnalysis(Recall(20), Recall(50), NDCG(100))
    metrics.add_metric(NDCG(100, weight=LogRankWeight(offset=1)), label="NDCG@100, offset 1")
    return metrics.measure(run, sought).list_summary()["mean"]


print(pd.DataFrame({name: mean(run) for name, run in runs.items()}).round(4).rename_axis(None))
