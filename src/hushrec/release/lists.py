"""Lists of items: what a row holds, how alike two items are, and how a list becomes a varied one.

Privacy: post-processing of a release and what the user who asks gave.
"""

from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints

POOL = 10
"""Candidates for each place of a varied list."""


class Similar(NamedTuple):
    """One item that is like another.

    Attributes:
        score: its similarity to the other, as the release measures it.
        rank: 1 for the most similar.
    """

    item_id: str
    score: float
    rank: int


class Reason(NamedTuple):
    """The contribution of one of the user's own items, or of a feature of them, to another item's prediction.

    Attributes:
        item_id: the own item; None of a feature.
        contribution: what it adds to the predicted rating, in stars; of interactions, to the score. That of
            an item is without those of its features.
        feature: name of the feature, such as genres; "" of an item.
        value: its value, such as Comedy; "" of an item.
        items: own items that have the value, those with which it adds or takes away most first.
    """

    item_id: str | None
    contribution: float
    feature: str = ""
    value: str = ""
    items: tuple[str, ...] = ()


def unlike(reason: str) -> str:
    """Why there are no similar items.

    Args:
        reason: why everybody gets the same list, as ``Release.why_same`` says it.
    """
    return f"this release does not tell which items are alike: {reason}; use one that holds people's tastes"


def cosines(products: Floats, lengths: Floats, other_lengths: Floats) -> Floats:
    """Inner products divided by both lengths; 0 where a length is 0, at most 1 where noise exceeds it.

    Args:
        products: shape (n_items, n_others).
        lengths, other_lengths: lengths of the rows and of the columns, at least 0.
    """
    bounds = np.outer(lengths, other_lengths)
    ratios = np.divide(products, bounds, out=np.zeros_like(bounds), where=bounds > 0)
    return np.asarray(np.clip(ratios, -1, 1), dtype=np.float64)


def noisy_cosines(products: Floats, lengths: Floats, noise: Floats, items: Ints, others: Ints) -> Floats:
    """The cosine of two items times p_i p_j, with p_i = min τ²/τ_i².

    The noise τ_i² is least for items with many ratings; cosines alone list many items with few.

    Args:
        products: inner products of items and others, shape (n_items, n_others).
        lengths: length of every item of the catalogue.
        noise: τ² of every item of the catalogue.
        items, others: the rows and the columns.
    """
    weights = noise.min(initial=np.inf) / noise
    return cosines(products, lengths[items], lengths[others]) * np.outer(weights[items], weights[others])


def diversify(scores: Floats, similarity: Floats, n: int, diversity: float) -> Ints:
    """Choose ``n`` candidates by maximal marginal relevance (Carbonell & Goldstein 1998, §2).

    The next one has the largest (1 − d) score − d · max similarity to those chosen before. Scores are scaled
    to lie between 0 and 1, similarities to cosines, s_ij/√(s_ii s_jj); negative ones count as 0. The
    first one is the first candidate.

    Args:
        scores: scores of the candidates, descending, shape (n_candidates,).
        similarity: how alike they are, shape (n_candidates, n_candidates).
        diversity: d, from 0 to 1.

    Returns:
        Places of the chosen among the candidates, in the order of choice, shape (min(n, n_candidates),).
        Ties go to the earlier candidate.
    """
    if not len(scores) or n < 1:
        return np.zeros(0, dtype=np.int64)
    # Scores to 0 … 1 over the candidates, so that d weighs them against cosines.
    width = scores[0] - scores[-1]
    relevance = (scores - scores[-1]) / width if width > 0 else np.zeros(len(scores))
    lengths = np.sqrt(np.maximum(np.diagonal(similarity), 0))
    alike = cosines(similarity, lengths, lengths)
    left = np.ones(len(scores), dtype=bool)
    closest, chosen = np.zeros(len(scores)), [0]
    while len(chosen) < min(n, len(scores)):
        left[chosen[-1]] = False
        closest = np.maximum(closest, alike[chosen[-1]])
        marginal = (1 - diversity) * relevance - diversity * closest
        chosen.append(int(np.argmax(np.where(left, marginal, -np.inf))))
    return np.array(chosen, dtype=np.int64)
