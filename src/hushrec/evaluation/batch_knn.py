"""Nearest-neighbour predictions for many users at once, by compiled loops, equal to those for one user."""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.ratings import Ratings
from hushrec.kernels.neighbours.knn import item_knn, user_knn
from hushrec.release.artefact import Release

__all__ = ["predict_many"]


def predict_many(release: Release, train: Ratings, test: Ratings, rows: Ints) -> Floats | None:
    """Predict all test ratings from a release of neighbours.

    Args:
        train: what each user folds in.
        test: the ratings to predict; no rating may be in both.
        rows: row in ``train`` of every user of ``test``, −1 if absent.

    Returns:
        Not clamped to the scale, shape (test.n_ratings,); None for releases of other kinds, which predict one
        user at a time.

    Privacy: private.
    """
    if release.kind not in ("people's rows", "item neighbours"):
        return None
    tensors, k = release.tensors, np.array([int(release.constants["neighbours"])])
    indptr = np.append(train.indptr, train.n_ratings)  # with an empty row for absent users
    who = np.where(rows >= 0, rows, train.n_users)[test.user_index()]
    values, targets = train.values(), test.items.astype(np.int64)
    queries = indptr, train.items, values.astype(np.float32)
    if release.kind == "item neighbours":
        means = tensors["item_means"].astype(np.float64)
        return item_knn(tensors["similarity"], means, *queries, who, targets, k)[:, 0]
    lo, hi, step = release.require_scale()
    ratings = lo + step * tensors["row_steps"].astype(np.float64)
    predicted = user_knn(
        tensors["row_starts"],
        tensors["row_items"],
        ratings.astype(np.float32),
        *queries,
        who,
        targets,
        np.full(train.n_users + 1, -1),
        k,
        int(release.constants["distance"]),
    )[:, 0]
    overall = float(ratings.mean()) if len(ratings) else (lo + hi) / 2
    sums = np.append(np.add.reduceat(values, train.indptr[:-1]) if train.n_users else [], overall)
    means = sums / np.append(train.counts, 1)
    return np.where(np.isnan(predicted), means[who], predicted)
