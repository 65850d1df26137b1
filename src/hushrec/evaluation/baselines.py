"""Non-private references for a model: averages, popularity, and nearest neighbours by compiled loops."""

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.people import People
from hushrec.release.artefact import Release
from hushrec.release.statement import placeholder_statement
from hushrec.sums.kernels.neighbours import item_knn, user_knn


def predict_many(release: Release, train: People, test: People, rows: Ints) -> Floats | None:
    """Predict all test ratings from a release of neighbours.

    Args:
        train: what each user folds in.
        test: the ratings to predict; no rating may be in both.
        rows: row in ``train`` of every user of ``test``, −1 if absent.

    Returns:
        Not clamped to the scale, shape (test.n_entries,); None for releases of other kinds, which predict one
        user at a time.

    Privacy: private.
    """
    if release.kind not in ("people's rows", "item neighbours"):
        return None
    tensors, k = release.tensors, np.array([int(release.constants["neighbours"])])
    indptr = np.append(train.indptr, train.n_entries)  # with an empty row for absent users
    who = np.where(rows >= 0, rows, train.n_users)[test.user_index()]
    values, targets = train.numbers(), test.items.astype(np.int64)
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


ITEM_STRENGTH = 10.0
"""β_m, fictitious ratings at the global average in each item's average.

Friedman et al. 2016 do not print their β_m and β_u. In ten-fold cross-validation on MovieLens 100K and 1M,
10 and 100 reproduce the RMSE of their Table 3: for global effects 0.9571 and 0.9161, within 0.0003, and for
item averages 1.0278 and 0.9795, within 0.004 and 0.0001. β_m = 3 and β_u = 5 would give lower errors, 0.9405
and 0.9077.
"""
USER_STRENGTH = 100.0
"""β_u, fictitious ratings at the mean residual in each user's average; chosen like ``ITEM_STRENGTH``."""


def global_average(train: People, test: People) -> Floats:
    """Predict the mean of all training ratings for every test rating; without any, the middle of the scale.

    Returns:
        Shape (test.n_entries,).

    Privacy: private.
    """
    return np.full(test.n_entries, _overall(train))


def item_average(train: People, test: People, *, item_reg: float = ITEM_STRENGTH) -> Floats:
    """Predict the item's mean training rating, (Σ_u r_ui + β_m G)/(c_i + β_m), with the global average G.

    Friedman et al. 2016, Alg. 1, without noise. Without β_m, the prediction for an item with one training
    rating would be that rating.

    Args:
        train: gives the averages.
        test: the ratings to predict.
        item_reg: β_m ≥ 0.

    Returns:
        Shape (test.n_entries,).

    Privacy: private.
    """
    return _item_averages(train, item_reg)[test.items]


def global_effects(
    train: People,
    test: People,
    *,
    item_reg: float = ITEM_STRENGTH,
    user_reg: float = USER_STRENGTH,
) -> Floats:
    """Predict item average plus the user's average residual, IAvg(i) + UAvg(u), clamped to the scale.

    Friedman et al. 2016, Alg. 1 and 2, without noise: with the mean G′ of all residuals r_ui − IAvg(i),
    UAvg(u) = (Σ_i (r_ui − IAvg(i)) + β_u G′)/(c_u + β_u), clamped to half the scale's width on either side of
    0. Users without training ratings get G′.

    Args:
        train: gives the averages.
        test: the ratings to predict.
        item_reg: β_m ≥ 0.
        user_reg: β_u ≥ 0.

    Returns:
        Shape (test.n_entries,).

    Privacy: private.
    """
    scale = train.domain.scale
    items = _item_averages(train, item_reg)
    residuals = train.numbers() - items[train.items]  # Alg. 2, line 1 (its input is printed under Alg. 1)
    # Alg. 2, line 2: GAvg′
    mean = float(residuals.mean()) if train.n_entries else 0.0
    # Alg. 2, lines 3–5: UAvg(u)
    averages = _averages(train.user_index(), residuals, train.n_users, user_reg, mean)
    biases = dict(zip(train.users.to_pylist(), averages.tolist(), strict=True))
    people = np.array([biases.get(user, mean) for user in test.users.to_pylist()], dtype=np.float64)
    # Alg. 2, line 6 clamps to [−2, 2], which is half the width of 1 to 5.
    people = np.clip(people, -scale.span / 2, scale.span / 2)
    return np.clip(items[test.items] + people[test.user_index()], scale.lo, scale.hi)


def popularity(train: People) -> Release:
    """Rank items by the number of training users who gave them, whatever they rated them.

    Args:
        train: gives the counts.

    Returns:
        A release for ``hushrec.evaluation.rankings.rank``. It is exact, so do not publish it.

    Privacy: private.
    """
    counts = np.bincount(train.items, minlength=train.domain.n_items)
    return Release(
        model="popularity",
        settings={},
        kind="item scores",
        items=train.domain.items,
        scale=None,
        constants={},
        tensors={"item_scores": counts.astype(np.float32)},
        statement=placeholder_statement(),
    )


def _overall(train: People) -> float:
    return float(train.numbers().mean()) if train.n_entries else train.domain.scale.mid


def _item_averages(train: People, reg: float) -> Floats:
    return _averages(train.items, train.numbers(), train.domain.n_items, reg, _overall(train))


def _averages(groups: Ints32, values: Floats, n: int, reg: float, centre: float) -> Floats:
    """Average each group with ``reg`` extra values at ``centre``; ``centre`` for empty groups."""
    sums = np.bincount(groups, values, minlength=n) + reg * centre
    counts = np.bincount(groups, minlength=n) + reg
    averages = np.full(n, centre)
    np.divide(sums, counts, out=averages, where=counts > 0)
    return averages
