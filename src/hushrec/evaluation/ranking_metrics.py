"""Metrics of ranked lists: a value for every user with items to be found.

User u has h_u items to be found; y_r = 1 if the item at rank r of their list is one of them, otherwise 0. In
each metric except precision and novelty, an ideal list of k items has value 1.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats
from hushrec.errors import ConfigError
from hushrec.evaluation.compare import Score, mean_score
from hushrec.evaluation.metrics import METRICS
from hushrec.evaluation.rankings import Lists

__all__ = [
    "COVERAGE",
    "PER_USER",
    "AtK",
    "coverage",
    "mean_average_precision",
    "named",
    "ndcg",
    "novelty",
    "precision",
    "recall",
    "reciprocal_rank",
]


def recall(lists: Lists, k: int) -> Floats:
    """Compute the found fraction of the items that k places can hold, Σ_{r≤k} y_r / min(k, h_u).

    Liang et al. 2018, §4.2.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    return np.asarray(lists.first(k)[1].sum(axis=1) / np.minimum(k, lists.n_held_out))


def precision(lists: Lists, k: int) -> Floats:
    """Compute the fraction of the k places that are hits, Σ_{r≤k} y_r / k, even if fewer than k are filled.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    return np.asarray(lists.first(k)[1].sum(axis=1) / k)


def ndcg(lists: Lists, k: int) -> Floats:
    """Compute Σ_{r≤k} y_r / log₂(r + 1), divided by its largest value, Σ_{r≤min(k, h_u)} 1 / log₂(r + 1).

    Järvelin & Kekäläinen 2002, §3.2, with binary relevance.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    discounts = 1 / np.log2(np.arange(2, k + 2))
    largest = np.cumsum(discounts)[np.minimum(k, lists.n_held_out) - 1]
    return np.asarray(lists.first(k)[1] @ discounts / largest)


def reciprocal_rank(lists: Lists, k: int) -> Floats:
    """Compute 1 / r of the first hit, or 0 without a hit in k places; the mean is the MRR.

    Voorhees 1999, §3.1.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    hits = lists.first(k)[1]
    return np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0.0)


def mean_average_precision(lists: Lists, k: int) -> Floats:
    """Compute the average precision, Σ_{r≤k} y_r · precision@r / min(k, h_u); the mean is the MAP.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    hits = lists.first(k)[1]
    precisions = np.cumsum(hits, axis=1) / np.arange(1, k + 1)
    return np.asarray((precisions * hits).sum(axis=1) / np.minimum(k, lists.n_held_out))


def novelty(lists: Lists, k: int) -> Floats:
    """Average −log₂ p_i over the listed items, with the fraction p_i of users who gave item i, in bits.

    Zhou et al. 2010, *surprisal*. The users are those whom the release was fitted to. An item that none of
    them gave counts as given by one.

    Returns:
        Shape (n_users,).

    Privacy: private.
    """
    items = lists.first(k)[0]
    fractions = np.maximum(lists.popularity, 1) / max(lists.n_fitted, 1)
    listed = items >= 0
    bits = np.where(listed, -np.log2(fractions)[items], 0.0)
    return np.asarray(bits.sum(axis=1) / np.maximum(listed.sum(axis=1), 1))


def coverage(lists: Lists, k: int) -> float:
    """Compute the fraction of the catalogue in at least one list of k items; more lists make it larger.

    Privacy: private.
    """
    items = lists.first(k)[0]
    return len(np.unique(items[items >= 0])) / len(lists.popularity)


PER_USER: Mapping[str, Callable[[Lists, int], Floats]] = {
    "recall": recall,
    "precision": precision,
    "ndcg": ndcg,
    "mrr": reciprocal_rank,
    "map": mean_average_precision,
    "novelty": novelty,
}
"""Name of a metric → its values per user, which are averaged."""
COVERAGE = "coverage"
"""The metric of all lists together, which has no value per user."""
_NAME = re.compile(rf"({'|'.join([*PER_USER, COVERAGE])})@([1-9]\d{{0,5}})", re.ASCII)


class AtK(NamedTuple):
    """A metric of the first k places, such as recall@20. Privacy: public."""

    name: str
    k: int

    def score(self, lists: Lists) -> Score:
        """Compute the metric over all lists; coverage has no standard error. Privacy: private."""
        if self.name == COVERAGE:
            return Score(coverage(lists, self.k), lists.users, None)
        return mean_score(lists.users, PER_USER[self.name](lists, self.k))


def named(names: Iterable[str]) -> dict[str, AtK | None]:
    """Parse names of metrics, in their order; None for those of ``hushrec.evaluation.metrics``.

    Args:
        names: such as ``rmse`` or ``recall@20``.

    Privacy: public.
    """
    metrics: dict[str, AtK | None] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if not match and name not in METRICS:
            valid = ", ".join([*METRICS, *(f"{ranked}@K" for ranked in (*PER_USER, COVERAGE))])
            raise ConfigError(f"unknown metric {name!r}; choose from {valid}, with a number for K: recall@20")
        metrics[name] = AtK(match[1], int(match[2])) if match else None
    return metrics
