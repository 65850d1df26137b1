"""The error that no private release can be expected to beat: Bayesian factor models without privacy.

    python -m lab bench ceiling [--data DATASETS] [--sweeps 200] [--splits 0 1 2 3 4]

Gibbs samples of factorisation machines (Freudenthaler, Schmidt-Thieme & Rendle 2011; myfm) of rank 32 on
MovieLens 1M: of users and items, and with *which* items a user rated as further features, scaled to length
one. The splits are those of ``lab reproduce movielens-1m``, which shows the mean beside private releases.
The rows go to lab/scoreboard/ceiling.csv; a split that is there is not run again.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import polars as pl
from myfm import MyFMGibbsRegressor, RelationBlock
from scipy.sparse import csr_matrix, eye_array, hstack

import hushrec as hr
from hushrec.data.split import holdout
from lab.scoreboard.named_sets import NamedSet

RESULTS = Path(__file__).resolve().with_name("ceiling.csv")
RANK = 32
PLAIN, WHICH = "myfm", "myfm, and which items"


def error(train: hr.People, test: hr.People, method: str, sweeps: int, seed: int) -> float:
    """RMSE of the mean prediction over the second half of the sweeps, clipped to the scale."""
    positions = {user: at for at, user in enumerate(train.users.to_pylist())}
    places = np.array([positions.get(user, -1) for user in test.users.to_pylist()])
    parts = []
    for part, users in ((train, np.arange(train.n_users)), (test, places)):
        user = users[np.repeat(np.arange(part.n_users), part.counts)]
        parts.append((user, part.items, part.numbers()))
    (user, item, rating), (test_user, test_item, truth) = parts
    known = test_user >= 0  # nobody is new at these sizes; if somebody were, they would be left out here
    users = csr_matrix(eye_array(train.n_users))
    if method == WHICH:
        weights = np.repeat(1 / np.sqrt(train.counts), train.counts)
        given = csr_matrix((weights, (user, item)), shape=(train.n_users, train.domain.n_items))
        users = csr_matrix(hstack([users, given]))
    items = csr_matrix(eye_array(train.domain.n_items))
    groups = [train.n_users] + [train.domain.n_items] * (1 + (method == WHICH))
    model = MyFMGibbsRegressor(rank=RANK, random_seed=seed)
    blocks = [RelationBlock(user, users), RelationBlock(item, items)]
    model.fit(
        None, rating, X_rel=blocks, group_shapes=groups, n_iter=sweeps, n_kept_samples=sweeps - sweeps // 2
    )
    asked = [RelationBlock(test_user[known], users), RelationBlock(test_item[known], items)]
    predicted = np.clip(model.predict(None, asked), train.domain.scale.lo, train.domain.scale.hi)
    return float(np.sqrt(np.mean((predicted - truth[known]) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    rows = pl.read_csv(asked.out).rows() if asked.out.exists() else []
    ratings = NamedSet("ml-1m", asked.data).ratings()
    for split in asked.splits:
        for method in (PLAIN, WHICH):
            if (method, split) in {row[:2] for row in rows}:
                continue
            start = time.process_time()
            found = error(*holdout(ratings, 0.1, seed=split), method, asked.sweeps, split)
            rows.append((method, split, asked.sweeps, round(found, 5), round(time.process_time() - start)))
            print(*rows[-1], flush=True)
            schema = ["method", "split", "sweeps", "rmse", "seconds"]
            pl.DataFrame(sorted(rows), schema=schema, orient="row").write_csv(asked.out)


if __name__ == "__main__":
    main()
