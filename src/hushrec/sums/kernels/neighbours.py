"""Nearest neighbours among sparse rows: predictions for many users and values of K, and items' similarities.

A *query* is one user's ratings, in compressed rows, and a *target* is an item to predict for that query.
Distance is a 32-bit code, smaller for nearer rows; with a position in its lower half it is a word, so the
order of words is the order of neighbours with ties broken by position.

A row is a vector with 0 for unrated items. The target item is left out of all rows, since the querying user
has not rated it.

Inner products of a query with all rows are accumulated rating by rating, down the column of each item of the
query: memory holds one number per row, not a matrix. Similarities are rounded to 2^-23 and squared distances
to single precision, so that summation order does not break ties.

Each query is processed by one thread in a fixed order, so threads and tasks do not change a bit.

``similarities`` packs those of all items as an upper triangle. For each item in turn, the rows of its raters
are traversed. Each rating of a later item adds to the inner product with that item: memory holds one number
per item. Then the finished row of the triangle is written. Raters come in a fixed order and one thread
processes an item, so the number of threads does not change a bit. Its cost grows as Σ_u c_u², where c_u is
the number of ratings of a row.

Privacy: private, as the arrays that are given.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32, Words
from hushrec.kernels.compiled import TASKS, compiled, in_threads, spans
from hushrec.kernels.csr import check_rows, frozen, packed_size
from hushrec.kernels.transpose import transpose

LOW = 0xFFFFFFFF
"""The lower half of a word, which holds the position."""
_U = np.uint64


def check_queries(
    indptr: Ints, items: Ints32, values: Floats32, who: Ints, targets: Ints, k_values: Ints, n_items: int
) -> tuple[Any, ...]:
    """Check the arguments about queries and convert them to the types of the loops."""
    check_rows(indptr, items, n_items)
    if values.shape != items.shape or who.shape != targets.shape or (k_values < 1).any():
        raise ValueError("each rating must have a value, each target a query, and K must be 1 or more")
    if len(targets) and not (
        targets.min() >= 0 and targets.max() < n_items and who.min() >= 0 and who.max() < len(indptr) - 1
    ):
        raise ValueError("targets must lie among the queries and the items")
    return (
        frozen(indptr, np.int64),
        frozen(items, np.int32),
        frozen(values, np.float32),
        frozen(who, np.int64),
        frozen(targets, np.int64),
        frozen(k_values, np.int64),
    )


def each_query(
    kernel: Callable[..., bool], queries: tuple[Any, ...], common: tuple[Any, ...], threads: int
) -> Floats:
    """Run the kernel on targets sorted by query, in tasks that never split a query."""
    indptr, items, values, who, targets, k_values = queries
    if threads < 1:
        raise ValueError("use 1 thread or more")
    # Targets of one query come together: its products with all rows are computed once.
    order = np.argsort(who, kind="stable")
    who, targets = frozen(who[order], np.int64), frozen(targets[order], np.int64)
    predictions = np.empty((len(who), len(k_values)))
    ends = np.concatenate([[0], np.flatnonzero(np.diff(who, append=-1)) + 1])  # of each query's targets
    tasks = [(ends[begin], ends[end]) for begin, end in spans(ends, TASKS * threads)]
    arguments = indptr, items, values, who, targets, k_values, *common, predictions
    if not all(in_threads(kernel, tasks, *arguments, threads=threads)):
        raise ValueError("a query rates its target; leave that rating out of the query")
    result = np.empty_like(predictions)
    result[order] = predictions
    return result


@compiled(nogil=True, inline="always")
def _sift(heap: Words, at: int, size: int) -> None:
    """Sift ``heap[at]`` down among the first ``size``, with the largest on top."""
    code = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= code:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = code


@compiled(nogil=True, inline="always")
def offer(heap: Words, size: int, code: np.int64, position: np.int64) -> int:
    """Offer a code to a heap that holds the smallest, ties by position; return the heap's new size."""
    word = _U(code) << _U(32) | _U(position)
    if size < len(heap):
        heap[size] = word
        size += 1
        if size == len(heap):
            # Full for the first time: only now does anyone ask for the largest, so it is ordered at once.
            for at in range(size // 2 - 1, -1, -1):
                _sift(heap, at, size)
    elif word < heap[0]:
        heap[0] = word
        _sift(heap, 0, size)
    return size


SQUARED, COSINE, PEARSON = 0, 1, 2
"""Distances: ‖a − b‖²; 1 − cos(a, b); and 1 − cos after subtracting each row's mean rating."""
NEGLIGIBLE = 1e-10
"""Fraction of Σ r² below which the centred rest is rounding error: the row is constant, similar to none.

Chosen by hand, between the rounding of doubles, 1e-16, and the variance of any row that is not constant.
"""
_GRID = 1 << 23  # of similarities: as fine as single precision just above 1


def user_knn(
    rows_indptr: Ints,
    rows_items: Ints32,
    rows_values: Floats32,
    query_indptr: Ints,
    query_items: Ints32,
    query_values: Floats32,
    targets_query: Ints,
    targets_item: Ints,
    excluded: Ints,
    k_values: Ints,
    distance: int,
    *,
    threads: int = 2,
) -> Floats:
    """Predict each target by its mean rating over the K rows nearest to the query that rate it.

    Du, Leighton & Patel 2019, §IV.B. Ties in distance go to the earlier row. A query without ratings has
    no near rows: its neighbours are all rows that rate the target.

    Args:
        rows_indptr: where each row's ratings start, then where the last ones end, shape (n_rows + 1,).
        rows_items: item of each rating, distinct within a row.
        rows_values: value of each rating, shape of ``rows_items``.
        query_indptr, query_items, query_values: the same for the n_queries queries.
        targets_query: query of each target, shape (n_targets,).
        targets_item: item of each target, which its query must not rate.
        excluded: for each query, the row to exclude from its neighbours, −1 for none, shape (n_queries,).
        k_values: the values of K ≥ 1, shape (n_k,).
        distance: ``SQUARED``, ``COSINE`` or ``PEARSON``.
        threads: number of threads; the result does not depend on it.

    Returns:
        Shape (n_targets, n_k); NaN where no row rates the target.

    Privacy: private.
    """
    n_items = 1 + max((int(a.max()) for a in (rows_items, query_items, targets_item) if len(a)), default=-1)
    queries = check_queries(
        query_indptr, query_items, query_values, targets_query, targets_item, k_values, n_items
    )
    if rows_values.shape != rows_items.shape or distance not in (SQUARED, COSINE, PEARSON):
        raise ValueError("each rating must have a value, and distance must be one of the three")
    if excluded.shape != (len(query_indptr) - 1,) or not (excluded < len(rows_indptr) - 1).all():
        raise ValueError("excluded must name a row, or -1, for each query")
    starts, raters, order = transpose(rows_indptr, rows_items, n_items, threads=threads)
    columns = frozen(starts, np.int64), frozen(raters, np.int32), frozen(rows_values[order], np.float32)
    facts = _facts(frozen(rows_indptr, np.int64), frozen(rows_values, np.float32))
    common = *columns, facts, frozen(excluded, np.int64), distance
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
    """Predict from the K items of each query that are most similar to the target.

    mean_i + Σ_j s_ij (r_j − mean_j) / Σ_j s_ij over those with s_ij > 0 (Sarwar et al. 2001, §3.2.1, around
    the means); mean_i if there are none. Ties in similarity go to the earlier item of the query.

    Args:
        similarity: s ≤ 1, as a packed upper triangle, shape (n_items (n_items + 1) / 2,).
        item_means: shape (n_items,).
        query_indptr, query_items, query_values, targets_query, targets_item, k_values, threads: as in
            ``user_knn``.

    Returns:
        Shape (n_targets, n_k).

    Privacy: private.
    """
    n_items = len(item_means)
    queries = check_queries(
        query_indptr, query_items, query_values, targets_query, targets_item, k_values, n_items
    )
    if similarity.shape != (n_items * (n_items + 1) // 2,):
        raise ValueError("the similarities must be the packed upper triangle of the items")
    common = frozen(similarity, np.float32), frozen(item_means, np.float64)
    return each_query(_nearest_items, queries, common, threads)


@compiled(nogil=True)
def _facts(indptr: Ints, values: Floats32) -> Floats:
    """Return number, sum and sum of squares of every row's ratings, shape (n_rows, 3)."""
    facts = np.zeros((len(indptr) - 1, 3))
    for row in range(len(facts)):
        for p in range(indptr[row], indptr[row + 1]):
            value = np.float64(values[p])
            facts[row, 0] += 1
            facts[row, 1] += value
            facts[row, 2] += value * value
    return facts


@compiled(nogil=True, inline="always")
def _apart(
    distance: int, square: float, product: float, total: float, fact: Floats, rating: float
) -> np.int64:
    """Code the distance between a row and a query, leaving out the row's rating of the target.

    Args:
        distance: which distance.
        square: Σ q² of the query, centred if the distance requires it.
        product: Σ q r over the common items.
        total: Σ q over the common items.
        fact: number, sum and sum of squares of the row's ratings.
        rating: the row's rating of the target.
    """
    squares = fact[2] - rating * rating
    if distance == SQUARED:
        # ‖q − r‖² = Σ q² + Σ r² − 2 Σ q r. The bits of positive floats are in the order of the floats.
        return np.int64(np.float32(max(square + squares - 2 * product, 0.0)).view(np.uint32))
    if distance == PEARSON:
        # Mean and Σ (r − mean)² of the row without its rating of the target, from the three sums.
        mean = (fact[1] - rating) / max(fact[0] - 1, 1.0)
        centred = squares - (fact[1] - rating) * mean
        squares = centred if centred > NEGLIGIBLE * squares else 0.0
        # Σ q (r − mean) over common items; outside them q is 0.
        product -= mean * total
    bound = np.sqrt(square * squares)
    cosine = product / bound if bound > 0 else 0.0
    # 1 − cos lies in 0 to 2, so in steps of 2^-23 it fits the code's 32 bits.
    return np.int64(np.rint((1 - min(max(cosine, -1.0), 1.0)) * _GRID))


@compiled(nogil=True)
def _multiply(
    items: Ints32,
    values: Floats32,
    starts: Ints,
    raters: Ints32,
    ratings: Floats32,
    centred: bool,
    products: Floats,
    totals: Floats,
) -> float:
    """Multiply a query by all rows, and sum q over common items if it is centred; return Σ q²."""
    products[:] = 0
    totals[:] = 0
    mean, squares, square = 0.0, 0.0, 0.0
    for value in values:
        mean += value
        squares += np.float64(value) ** 2
    mean = mean / max(len(values), 1) if centred else 0.0
    for p in range(len(items)):
        q = values[p] - mean
        square += q * q
        item = _U(items[p])
        if centred:
            for c in range(_U(starts[item]), _U(starts[item + _U(1)])):
                products[_U(raters[c])] += q * ratings[c]
                totals[_U(raters[c])] += q
        else:
            for c in range(_U(starts[item]), _U(starts[item + _U(1)])):
                products[_U(raters[c])] += q * ratings[c]
    # A constant query has no direction left once it is centred: with 0 its cosine with any row is 0.
    return 0.0 if square <= NEGLIGIBLE * squares else square


@compiled(nogil=True)
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
    excluded: Ints,
    distance: int,
    predictions: Floats,
) -> bool:
    """Answer the targets ``begin`` to ``end`` in the order of their queries, into ``predictions``.

    Return whether no query rates its own target.
    """
    products, totals = np.zeros(len(facts)), np.zeros(len(facts) if distance == PEARSON else 1)
    heap = np.empty(min(k_values.max(), max(len(facts), 1)), np.uint64)
    square, last = 0.0, np.int64(-1)
    for t in range(begin, end):
        query = who[t]
        first, stop = indptr[query], indptr[query + 1]
        if query != last:
            last = query
            own_items, own_values = items[first:stop], values[first:stop]
            square = _multiply(
                own_items, own_values, starts, raters, ratings, distance == PEARSON, products, totals
            )
        for p in range(first, stop):
            if items[p] == targets[t]:
                return False
        # Count and sum of all raters: where K reaches them all, their mean is the answer.
        start, size, count, rating_sum = starts[targets[t]], 0, 0, 0.0
        for c in range(start, starts[targets[t] + 1]):
            row = raters[c]
            if row == excluded[query]:
                continue
            rating = np.float64(ratings[c])
            count += 1
            rating_sum += rating
            total = totals[row] if distance == PEARSON else 0.0
            code = _apart(distance, square, products[row], total, facts[row], rating)
            # The place among the item's raters ascends with the row: ties go to the earlier one.
            size = offer(heap, size, code, c - start)
        # Sorted once, for every K: the first K words are the K nearest.
        nearest = np.sort(heap[:size])
        for k in range(len(k_values)):
            if count == 0:
                predictions[t, k] = np.nan
            elif first == stop or k_values[k] >= count:
                predictions[t, k] = rating_sum / count
            else:
                mean = 0.0
                for n in range(k_values[k]):
                    mean += ratings[start + np.int64(nearest[n] & _U(LOW))]
                predictions[t, k] = mean / k_values[k]
    return True


@compiled(nogil=True)
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
    predictions: Floats,
) -> bool:
    """Answer the targets ``begin`` to ``end``, into ``predictions``.

    Return whether no query rates its own target.
    """
    n = len(means)
    heap = np.empty(min(k_values.max(), max(n, 1)), np.uint64)
    for t in range(begin, end):
        target, first, size = targets[t], indptr[who[t]], 0
        for p in range(first, indptr[who[t] + 1]):
            if items[p] == target:
                return False
            # Row ``low`` starts at low · n − low (low − 1)/2, as in ``diagonal_positions`` of csr.py.
            low, high = min(target, items[p]), max(target, items[p])
            similar = similarity[low * n - low * (low - 1) // 2 + high - low]
            if similar > 0:  # for positive floats, larger numbers have larger bits
                size = offer(heap, size, LOW - np.int64(np.float32(similar).view(np.uint32)), p - first)
        nearest = np.sort(heap[:size])
        for k in range(len(k_values)):
            # Sarwar et al. 2001, §3.2.1: Σ s (r − mean)/Σ s over the K nearest.
            weights, total = 0.0, 0.0
            for m in range(min(k_values[k], size)):
                place = first + np.int64(nearest[m] & _U(LOW))
                weight = np.float64(np.uint32(_U(LOW) - (nearest[m] >> _U(32))).view(np.float32))
                weights += weight
                total += weight * (values[place] - means[items[place]])
            predictions[t, k] = means[target] + (total / weights if weights > 0 else 0.0)
    return True


_TASKS = 64  # per thread, chosen by hand: the cost of an item is known only afterwards


def similarities(
    indptr: Ints, items: Ints32, values: Floats32, n_items: int, distance: int, *, threads: int = 2
) -> Floats32:
    """Compute the similarity of each pair of items' columns, 0 if an item is not rated.

    The cosine of their angle, for ``PEARSON`` after subtracting each item's mean rating; for ``SQUARED``
    1/(1 + ‖a − b‖²). Memory in addition to the arguments: 2 n² bytes for the result, 20 bytes per rating.

    Args:
        indptr: where each row's ratings start, then where the last ones end, shape (n_rows + 1,).
        items: item of each rating, ascending within a row.
        values: value of each rating, shape of ``items``.
        distance: ``SQUARED``, ``COSINE`` or ``PEARSON``.
        threads: number of threads; the result does not depend on it.

    Returns:
        The upper triangle, row by row, diagonal included, shape (n_items (n_items + 1) / 2,).

    Privacy: private.
    """
    if values.shape != items.shape or distance not in (SQUARED, COSINE, PEARSON):
        raise ValueError("each rating must have a value, and distance must be one of the three")
    starts, raters, order = transpose(indptr, items, n_items, threads=threads)
    entries = values.astype(np.float64)
    if distance == PEARSON:
        sums, counts = np.bincount(items, entries, n_items), np.diff(starts)
        entries -= (sums / np.maximum(counts, 1))[items]
    squares = np.bincount(items, entries**2, n_items)
    if distance == PEARSON:
        # A constant column has no direction left once it is centred: similar to none.
        squares[squares <= NEGLIGIBLE * np.bincount(items, values.astype(np.float64) ** 2, n_items)] = 0.0
    rows = frozen(indptr, np.int64), frozen(items, np.int32), frozen(entries, np.float64)
    columns = frozen(starts, np.int64), frozen(raters, np.int32), frozen(order, np.int64)
    packed = np.empty(packed_size(n_items), np.float32)
    common = *rows, *columns, frozen(squares, np.float64), distance, packed
    tasks = spans(np.arange(n_items + 1), _TASKS * threads)
    in_threads(_similar, tasks, *common, threads=threads)
    return packed


@compiled(nogil=True)
def _similar(
    begin: int,
    end: int,
    indptr: Ints,
    items: Ints32,
    entries: Floats,
    starts: Ints,
    raters: Ints32,
    order: Ints,
    squares: Floats,
    distance: int,
    packed: Floats32,
) -> None:
    """Write the rows ``begin`` to ``end`` of the triangle."""
    n = len(squares)
    products = np.empty(n)
    for item in range(begin, end):
        products[item:] = 0.0
        for c in range(_U(starts[item]), _U(starts[item + 1])):
            at = _U(order[c])
            entry = entries[at]
            for p in range(at, _U(indptr[_U(raters[c]) + _U(1)])):  # items ascend: start at this one
                products[_U(items[p])] += entry * entries[p]
        row = item * n - item * (item - 1) // 2
        for other in range(item, n):
            product, cell = products[other], row + other - item
            if distance == SQUARED:
                packed[cell] = 1 / (1 + max(squares[item] + squares[other] - 2 * product, 0.0))
            else:
                bound = np.sqrt(squares[item] * squares[other])
                packed[cell] = min(max(product / bound, -1.0), 1.0) if bound > 0 else 0.0
