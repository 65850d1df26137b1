"""Find the published row that best fits what is known of a user, and how far it stands out."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.kernels.compiled import compiled
from hushrec.kernels.csr import check_rows, frozen

__all__ = ["standings"]

_TASKS = 8  # per thread: popular items make some targets slower than others


def standings(
    indptr: Ints,
    rows: Ints32,
    steps: Bytes,
    kinds: Bytes,
    items: Ints32,
    tables: Floats,
    own: Ints,
    *,
    threads: int = 2,
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Score every published row against each target's known items, and summarise the scores.

    Narayanan & Shmatikov 2008, §4: with the symbol y_ri of item i in row r, 0 where it holds nothing and its
    step + 1 otherwise, and the row's kind c_r,

        S_r = Σ_k table_k[c_r, y_ri(k)],    eccentricity = (max S − max₂ S)/σ(S).

    If scores are log-likelihood ratios and all rows are equally likely a priori, the best row is the target's
    with probability 1/Σ_r e^(S_r − max S). Only rows that rate a known item are visited for it. Memory in
    addition to the arguments: 8 bytes per published row and thread.

    Args:
        indptr: where each item's published ratings start, then where the last ones end, shape (n_items + 1,).
        rows: published row of each rating, shape (n_ratings,).
        steps: steps of each rating, shape of ``rows``.
        kinds: kind of each published row, shape (n_rows,), n_rows ≥ 2.
        items: known items of each target, shape (targets, known).
        tables: what each known item adds to the score of a row, by kind and symbol, finite, shape
            (targets, known, kinds, symbols).
        own: row of each target, −1 if there is none, shape (targets,).
        threads: number of threads; the result does not depend on it.

    Returns:
        for each target: a row of the highest score; the number of rows with that score; the eccentricity, 0
        if there are several; the probability that the row is the target's; the score of the target's own row,
        −∞ if there is none, minus the highest score.

    Raises:
        ValueError: the arrays do not fit together.

    Privacy: private.
    """
    n_targets, n_rows = len(items), len(kinds)
    check_rows(indptr, rows, n_rows)
    fits = (
        threads >= 1
        and n_rows >= 2
        and steps.shape == rows.shape
        and tables.ndim == 4
        and tables.shape[:2] == items.shape
        and own.shape == (n_targets,)
        and items.min(initial=0) >= 0
        and items.max(initial=0) < len(indptr) - 1
        and own.min(initial=-1) >= -1
        and own.max(initial=-1) < n_rows
        and kinds.max(initial=0) < tables.shape[2]
        and int(steps.max(initial=0)) + 1 < tables.shape[3]
        and bool(np.isfinite(tables).all())
    )
    if not fits:
        raise ValueError("each known item must have a finite table with all kinds and symbols")
    best, ties = np.empty(n_targets, np.int64), np.empty(n_targets, np.int64)
    eccentricity, chance, behind = np.empty((3, n_targets))
    published = frozen(indptr, np.int64), frozen(rows, np.int32), frozen(steps, np.uint8)
    known = frozen(items, np.int32), frozen(tables, np.float64), frozen(own, np.int64)
    common = *published, frozen(kinds, np.uint8), *known, best, ties, eccentricity, chance, behind
    cuts = np.unique(np.linspace(0, n_targets, _TASKS * threads + 1).astype(np.int64)).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda task: _standings(*task, *common), pairwise(cuts)))
    return best, ties, eccentricity, chance, behind


@compiled(nogil=True)
def _standings(
    begin: int,
    end: int,
    indptr: Ints,
    rows: Ints32,
    steps: Bytes,
    kinds: Bytes,
    items: Ints32,
    tables: Floats,
    own: Ints,
    best: Ints,
    ties: Ints,
    eccentricity: Floats,
    chance: Floats,
    behind: Floats,
) -> None:
    """What ``standings`` returns, for the targets ``begin`` to ``end``."""
    n_rows = len(kinds)
    scores, nothing = np.empty(n_rows), np.empty(tables.shape[2])
    for t in range(begin, end):
        for kind in range(len(nothing)):
            nothing[kind] = 0.0
            for k in range(items.shape[1]):
                nothing[kind] += tables[t, k, kind, 0]
        for r in range(n_rows):
            scores[r] = nothing[kinds[r]]
        for k in range(items.shape[1]):
            for p in range(indptr[items[t, k]], indptr[items[t, k] + 1]):
                table = tables[t, k, kinds[rows[p]]]
                scores[rows[p]] += table[np.int64(steps[p]) + 1] - table[0]
        top, second, where, shared, total = -np.inf, -np.inf, 0, 0, 0.0
        for r in range(n_rows):
            score = scores[r]
            total += score
            if score > top:
                top, second, where, shared = score, top, r, 1
            else:
                second = max(second, score)
                shared += score == top
        squares, likely = 0.0, 0.0
        for r in range(n_rows):
            likely += np.exp(scores[r] - top)
            squares += (scores[r] - total / n_rows) ** 2
        spread = np.sqrt(squares / n_rows)
        best[t], ties[t] = where, shared
        eccentricity[t] = (top - second) / spread if shared == 1 and spread > 0 else 0.0
        chance[t] = 1 / likely
        behind[t] = scores[own[t]] - top if own[t] >= 0 else -np.inf
