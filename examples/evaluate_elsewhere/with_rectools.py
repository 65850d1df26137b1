"""Measure the lists with RecTools, in an environment of its own.

python with_rectools.py FOLDER
"""

import sys
from pathlib import Path

import pandas as pd
from rectools.metrics import NDCG, Recall, calc_metrics

folder = Path(sys.argv[1])
test, lists = (pd.read_parquet(folder / f"{name}.parquet") for name in ("test", "lists"))
metrics = {
    "Recall@20": Recall(20),
    "Recall@50": Recall(50),
    "NDCG@100": NDCG(100),
    "NDCG@100, achievable": NDCG(100, divide_by_achievable=True),
}
print(pd.Series(calc_metrics(metrics, reco=lists, interactions=test)).round(4).to_string())
