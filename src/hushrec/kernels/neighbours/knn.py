"""Prediction from nearest neighbours among sparse rows: many people, targets and K in one pass.

A row is a vector with 0 where nothing is rated. The item that is asked about is left out of all rows, as the
person who asks has not rated it.

Inner products of a query with every row are added up rating by rating, down the column of each item of the
query: one number a row is kept, no matrix. Similarities are rounded to 2^-23 and squared distances to single
precision, so that the order of a sum does not break a tie.

A query is worked on by one thread and in one order: neither threads nor tasks can change a bit.
"""

import numba
import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.kernels.csr import frozen
from hushrec.kernels.neighbours.nearest import LOW, checked, each_query, offer
from hushrec.kernels.transpose import transpose

SQUARED, COSINE, PEARSON = 0, 1, 2
"""Distances: ‖a − b‖²; 1 − cos(a, b); the same after subtracting from a row's ratings their mean."""
NEGLIGIBLE = 1e-10
"""Part of Σ r² below which what is left after centring is rounding: the row is constant, similar to none."""
_GRID = 1 << 23  # of similarities
_U = np.uint64

__all__ = ["COSINE", "NEGLIGIBLE", "PEARSON", "SQUARED", "item_knn", "user_knn"]


def user_knn(
    rows_indptr: Ints,
    rows_items: Ints32,
    rows_values: Floats32,
    query_indptr: Ints,
    query_items: Ints32,
    query_values: Floats32,
    targets_query: Ints,
    targets_item: Ints,
    own: Ints,
    k_values: Ints,
    distance: int,
    *,
    threads: int = 2,
) -> Floats:
    """Mean rating of each target among the K rows nearest to the query of those that rate it.

    Du, Leighton & Patel 2019, §IV.B. Rows at the same distance count in their order. A query without ratings
    is near to nobody: its neighbours are all who rate the target.

    Args:
        rows_indptr: where each row's ratings start, and the last ones end, shape (n_rows + 1,).
        rows_items: item of each rating, distinct within a row.
        rows_values: each rating, shape of ``rows_items``.
        query_indptr, query_items, query_values: the same of the queries; n_queries of them.
        targets_query: query of each target, shape (n_targets,).
        targets_item: its item, which the query does not rate.
        own: row of each query that is not to be its neighbour, −1 for none, shape (n_queries,).
        k_values: K ≥ 1, as many as are wanted, shape (n_k,).
        distance: ``SQUARED``, ``COSINE`` or ``PEARSON``.
        threads: how many to use; the result does not depend on it.

    Returns:
        Shape (n_targets, n_k); not a number where no row rates the target.

    Raises:
        ValueError: the arrays do not fit together.

    Privacy: private.
    """
    n_items = 1 + max((int(a.max()) for a in (rows_items, query_items, targets_item) if len(a)), default=-1)
    queries = checked(query_indptr, query_items, query_values, targets_query, targets_item, k_values, n_items)
    if rows_values.shape != rows_items.shape or distance not in (SQUARED, COSINE, PEARSON):
        raise ValueError("there must be a value for each rating, and the distance one of the three")
    if own.shape != (len(query_indptr) - 1,) or not (own < len(rows_indptr) - 1).all():
        raise ValueError("own must name a row, or -1, for each query")
    starts, raters, order = transpose(rows_indptr, rows_items, n_items, threads=threads)
    columns = frozen(starts, np.int64), frozen(raters, np.int32), frozen(rows_values[order], np.float32)
    facts = _facts(frozen(rows_indptr, np.int64), frozen(rows_values, np.float32))
    common = *columns, facts, frozen(own, np.int64), distance
    return each_query(_nearest_rows, queries, common, threads)


def item_knn(
    similarity: Floats32,
    item_means: Floats,
    query_indptr: Ints,
    query_items: Ints32,
    query_values: Floats32,
    targets_query: Ints,
    targets_item: Ints,
    k_values: Ints,
    *,
    threads: int = 2,
) -> Floats:
    """Prediction from the K items of each query that are most similar to the target.

    mean_i + Σ_j s_ij (r_j − mean_j) / Σ_j s_ij over those with s_ij > 0 (Sarwar et al. 2001, §3.2.1, around
    the means); mean_i where there are none. Items as similar count in the query's order.

    Args:
        similarity: s ≤ 1, as a packed upper triangle, shape (n_items (n_items + 1) / 2,).
        item_means: shape (n_items,).
        query_indptr, query_items, query_values, targets_query, targets_item, k_values, threads: as in
            ``user_knn``.

    Returns:
        Shape (n_targets, n_k).

    Raises:
        ValueError: the arrays do not fit together.

    Privacy: private.
    """
    n_items = len(item_means)
    queries = checked(query_indptr, query_items, query_values, targets_query, targets_item, k_values, n_items)
    if similarity.shape != (n_items * (n_items + 1) // 2,):
        raise ValueError("the similarities must be the packed upper triangle of the items")
    common = frozen(similarity, np.float32), frozen(item_means, np.float64)
    return each_query(_nearest_items, queries, common, threads)


@numba.njit(cache=True, nogil=True)
def _facts(indptr: Ints, values: Floats32) -> Floats:
    """Number, sum and sum of squares of every row's ratings, shape (n_rows, 3)."""
    facts = np.zeros((len(indptr) - 1, 3))
    for row in range(len(facts)):
        for p in range(indptr[row], indptr[row + 1]):
            value = np.float64(values[p])
            facts[row, 0] += 1
            facts[row, 1] += value
            facts[row, 2] += value * value
    return facts


@numba.njit(cache=True, nogil=True, inline="always")
def _apart(
    distance: int, square: float, product: float, total: float, fact: Floats, rating: float
) -> np.int64:
    """Code of how far a row lies from a query, its rating of the target left out of it.

    Args:
        distance: which.
        square: Σ q² of the query, centred if the distance asks for it.
        product: Σ q r over the items of both.
        total: Σ q over the same.
        fact: number, sum and sum of squares of the row's ratings.
        rating: the row's rating of the target.
    """
    squares = fact[2] - rating * rating
    if distance == SQUARED:
        return np.int64(np.float32(max(square + squares - 2 * product, 0.0)).view(np.uint32))
    if distance == PEARSON:
        mean = (fact[1] - rating) / max(fact[0] - 1, 1.0)
        centred = squares - (fact[1] - rating) * mean
        squares = centred if centred > NEGLIGIBLE * squares else 0.0
        product -= mean * total
    bound = np.sqrt(square * squares)
    cosine = product / bound if bound > 0 else 0.0
    return np.int64(np.rint((1 - min(max(cosine, -1.0), 1.0)) * _GRID))


@numba.njit(cache=True, nogil=True)
def _nearest_rows(
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    who: Ints,
    targets: Ints,
    k_values: Ints,
    starts: Ints,
    raters: Ints32,
    ratings: Floats32,
    facts: Floats,
    own: Ints,
    distance: int,
    found: Floats,
) -> bool:
    """Answer the targets ``begin`` to ``end``, in the order of their queries; whether no query rates its own.

    ``found`` is written.
    """
    products, totals = np.zeros(len(facts)), np.zeros(len(facts) if distance == PEARSON else 1)
    heap = np.empty(min(k_values.max(), max(len(facts), 1)), np.uint64)
    square, last = 0.0, np.int64(-1)
    for t in range(begin, end):
        query = who[t]
        first, stop = indptr[query], indptr[query + 1]
        if query != last:
            last, square = query, 0.0
            products[:] = 0
            totals[:] = 0
            mean, squares = 0.0, 0.0
            for p in range(first, stop):
                mean += values[p]
                squares += np.float64(values[p]) ** 2
            mean /= max(stop - first, 1)
            for p in range(_U(first), _U(stop)):
                q = values[p] - mean if distance == PEARSON else np.float64(values[p])
                square += q * q
                item = _U(items[p])
                if distance == PEARSON:
                    for c in range(_U(starts[item]), _U(starts[item + _U(1)])):
                        products[_U(raters[c])] += q * ratings[c]
                        totals[_U(raters[c])] += q
                else:
                    for c in range(_U(starts[item]), _U(starts[item + _U(1)])):
                        products[_U(raters[c])] += q * ratings[c]
            if square <= NEGLIGIBLE * squares:
                square = 0.0
        for p in range(first, stop):
            if items[p] == targets[t]:
                return False
        start, size, count, everybody = starts[targets[t]], 0, 0, 0.0
        for c in range(start, starts[targets[t] + 1]):
            row = raters[c]
            if row == own[query]:
                continue
            rating = np.float64(ratings[c])
            count += 1
            everybody += rating
            total = totals[row] if distance == PEARSON else 0.0
            code = _apart(distance, square, products[row], total, facts[row], rating)
            size = offer(heap, size, code, c - start)
        nearest = np.sort(heap[:size])
        for k in range(len(k_values)):
            if count == 0:
                found[t, k] = np.nan
            elif first == stop or k_values[k] >= count:
                found[t, k] = everybody / count
            else:
                mean = 0.0
                for n in range(k_values[k]):
                    mean += ratings[start + np.int64(nearest[n] & _U(LOW))]
                found[t, k] = mean / k_values[k]
    return True


@numba.njit(cache=True, nogil=True)
def _nearest_items(
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    who: Ints,
    targets: Ints,
    k_values: Ints,
    similarity: Floats32,
    means: Floats,
    found: Floats,
) -> bool:
    """Answer the targets ``begin`` to ``end``; whether no query rates its own. ``found`` is written."""
    n = len(means)
    heap = np.empty(min(k_values.max(), max(n, 1)), np.uint64)
    for t in range(begin, end):
        target, first, size = targets[t], indptr[who[t]], 0
        for p in range(first, indptr[who[t] + 1]):
            if items[p] == target:
                return False
            low, high = min(target, items[p]), max(target, items[p])
            similar = similarity[low * n - low * (low - 1) // 2 + high - low]
            if similar > 0:  # of positive numbers in single precision the larger has the larger bits
                size = offer(heap, size, LOW - np.int64(np.float32(similar).view(np.uint32)), p - first)
        nearest = np.sort(heap[:size])
        for k in range(len(k_values)):
            weights, total = 0.0, 0.0
            for m in range(min(k_values[k], size)):
                place = first + np.int64(nearest[m] & _U(LOW))
                weight = np.float64(np.uint32(_U(LOW) - (nearest[m] >> _U(32))).view(np.float32))
                weights += weight
                total += weight * (values[place] - means[items[place]])
            found[t, k] = means[target] + (total / weights if weights > 0 else 0.0)
    return True
