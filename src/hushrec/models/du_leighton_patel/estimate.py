"""Unbiased estimates of items' counts, and of their means, from answers of randomized response.

A cell holds one of k symbols: 0 for "not rated", and b ≥ 1 for the rating r_b. Each of n people's cells is
answered with probability q: truly with keep = 1 − e^−x, and by each other symbol with other = e^−x/(k − 1).
So, with N_b answers b for an item,

    E[N_b] = q·(keep·T_b + other·(n − T_b)),    T_b = (N_b/q − other·n)/(keep − other),

and count = Σ T_b, mean = Σ r_b T_b / count. Given the true cells, the answers are independent multinomial
draws, one per person, whose probabilities depend only on their symbol. So for any weights v_b (v_0 = 0)

    Var[Σ v_b N_b] = Σ v_b² E[N_b] − Σ_{c ≥ 0} T_c s_c²,    s_c = q·(other·Σ v_b + (keep − other)·v_c),

which N_b and the estimates of T_c estimate. A standard error is its root over q·(keep − other), with v = 1
for the count and v = (r − mean)/count for the mean (to first order in the errors). It covers only the
randomness of the answers, with the people fixed.

Privacy: post-processing.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from hushrec.arrays import Floats
from hushrec.data.people import People
from hushrec.errors import ReleaseError

METHOD = "RandomizedResponse"
_CELLS = 1 << 24  # counted at once; chosen by hand, does not change the result
_CLEAR = 2.0
"""A mean is reported only if its count is above this many standard errors; chosen by hand, as usual."""


def estimates(ratings: People, n_people: int, method: str, settings: Mapping[str, Any]) -> pa.Table:
    """Estimate how many people rated each item, and their mean rating, with standard errors.

    Args:
        ratings: the answers.
        n_people: number of people who answered.
        method: the method by which they answered.
        settings: the law of the answers: ``symbols``, ``exponent``, ``answered`` (cells of a row; None
            for all) and ``cells`` (of a row).

    Returns:
        ``item_id, count, count_error, mean, mean_error``, one row per item; mean and its error are null if
        the count is not above two standard errors. A count may be negative: clamping would bias it.
    """
    if method != METHOD:
        raise ReleaseError(
            f"counts are estimated only from {METHOD}; use data made by {method} as they are: read them with "
            ".ratings or .table"
        )
    scale = ratings.domain.scale
    q, keep, other = _law(settings, scale.n_values)
    answers = _answers(ratings)
    gain = q * (keep - other)
    # T_b = (N_b/q − other · n)/(keep − other).
    true = (answers - q * other * n_people) / gain
    count = true.sum(axis=1)
    count_error = _error(answers, true, n_people, np.ones_like(answers), (q, keep, other))
    clear = count > _CLEAR * count_error
    whole = np.where(clear, count, np.nan)
    stars = scale.lo + scale.step * np.arange(scale.n_values)
    mean = true @ stars / whole
    # ∂ mean/∂ T_b, since mean = Σ r_b T_b/Σ T_b.
    weights = (stars - mean[:, None]) / whole[:, None]
    mean_error = _error(answers, true, n_people, weights, (q, keep, other))
    return pa.table(
        {
            "item_id": pa.array(ratings.domain.items, pa.string()),
            "count": count,
            "count_error": count_error,
            "mean": pa.array(mean, from_pandas=True),
            "mean_error": pa.array(mean_error, from_pandas=True),
        }
    )


def _law(settings: Mapping[str, Any], n_values: int) -> tuple[float, float, float]:
    try:
        symbols, flip = int(settings["symbols"]), math.exp(-float(settings["exponent"]))
        answered, cells = settings["answered"], int(settings["cells"])
        # The part of a row's cells that is answered at all.
        q = 1.0 if answered is None else int(answered) / cells
        keep, other = -math.expm1(-float(settings["exponent"])), flip / (symbols - 1)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        q = keep = other = math.nan
        symbols = 0
    if not (symbols == n_values + 1 and 0 < q <= 1 and 0 < other < keep <= 1):
        raise ReleaseError(
            "the settings do not describe randomized response on this scale; make the data again"
        )
    return q, keep, other


def _answers(ratings: People) -> Floats:
    """Count answers N_b by item and symbol, shape (n_items, n_values)."""
    n_items, n_values = ratings.domain.n_items, ratings.domain.scale.n_values
    total = np.zeros(n_items * n_values, dtype=np.int64)
    assert ratings.values is not None
    for start in range(0, ratings.n_entries, _CELLS):
        cells = slice(start, start + _CELLS)
        # Item and symbol in one number, so that one pass counts all pairs of them.
        cell = ratings.items[cells].astype(np.int64) * n_values + ratings.values[cells]
        total += np.bincount(cell, minlength=len(total))
    return total.reshape(n_items, n_values).astype(np.float64)


def _error(
    answers: Floats, true: Floats, n_people: int, v: Floats, law: tuple[float, float, float]
) -> Floats:
    """Return the standard error of Σ_b v_b T_b, by item."""
    q, keep, other = law
    gain = q * (keep - other)
    # s_c = base + gain · v_c; for the symbol 0, which has no v, it is base alone.
    base = q * other * v.sum(axis=1)
    nothing = n_people - true.sum(axis=1)
    variance = (v**2 * answers).sum(axis=1) - nothing * base**2
    variance -= (true * (base[:, None] + gain * v) ** 2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(variance, 0)) / gain)
