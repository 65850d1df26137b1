"""Moments of a release's users: mean counts of items, and pairs of items, read from linear scores.

Privacy: post-processing.
"""

import math
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Bools, Floats
from hushrec.release.artefact import Release
from hushrec.release.synthesis.lengths import Lengths, lengths_with, lengths_with_root

RIDGE = 0.5
"""Of the mean of the diagonal, as ``hushrec.estimation.interactions.pair_factors`` adds it."""
FLOOR = 0.05
"""Smallest part of an item's own variance that factors leave, as there."""
MOST_ITEMS = 1 << 15
"""Most items with tastes: a release of ours has as many at most, and the start takes their square."""
_LEAST = 1e-12
"""Smallest divisor, so that nothing is divided by zero."""
_HALVINGS = 200
"""Steps in which the total is searched."""


class UserMoments(NamedTuple):
    """Moments of users' vectors y = d ∘ x, with z = y − ⟨v, y⟩ v, of a user who gave the items x.

    Attributes:
        unit: of the release: vectors count as z zᵀ/‖z‖² (``user``), or as z zᵀ/‖z‖ (``record``).
        contribution_cap: K: a user with c > K items counts √(K/c) for each; infinite for unit ``record``.
        counts: s/n̂, the mean weight with which a user counts for each item, shape (n,).
        weights: d, shape (n,).
        direction: v, of length 1, shape (n,).
        factors: L: off the diagonal, L Lᵀ is the mean of z zᵀ/‖z‖², or Σ z zᵀ/‖z‖ over Σ ‖y‖; shape (n, k).
        popular_part: how much of the squared vectors lies along v.
        lengths: numbers of items of the users.
    """

    unit: str
    contribution_cap: float
    counts: Floats
    weights: Floats
    direction: Floats
    factors: Floats
    popular_part: float
    lengths: Lengths


def user_moments(release: Release) -> UserMoments:
    """Invert the closed form of EASE (``pair_factors.ease``): from released weights to the covariance.

    The inverse of the covariance W Wᵀ + A is 1/A − g gᵀ, with 1/A_j = 1/(a_j b_j) + |g_j|². So
    W = A g (I − gᵀ A g)^(−1/2), and of W Wᵀ the part along v is ℓ v vᵀ.

    Args:
        release: of linear scores.
    """
    names = "item_factors", "input_weights", "output_weights", "item_scores"
    factors, inputs, outputs, scores = (release.tensors[name].astype(np.float64) for name in names)
    inputs, scores = np.maximum(inputs, _LEAST), np.maximum(scores, _LEAST)
    diagonal = 1 / (1 / np.maximum(inputs * outputs, _LEAST) + (factors**2).sum(axis=1))
    inner = np.eye(factors.shape[1]) - factors.T @ (diagonal[:, None] * factors)
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    loaded = diagonal[:, None] * factors @ (vectors / np.sqrt(np.maximum(values, _LEAST)))
    direction = scores * inputs
    variance = direction * inputs
    direction /= np.linalg.norm(direction)
    total = _total(diagonal.sum(), variance / variance.sum(), (loaded**2).sum(axis=1))
    along = loaded.T @ direction
    popular = min(float(along @ along) / total, 1 - FLOOR)
    # Of W, what is along v is taken out; the rest is (1 − ℓ) T times the mean of z zᵀ/‖z‖².
    taste = (loaded - np.outer(direction, along)) / math.sqrt(total * (1 - popular))
    taste[~_measured(factors, variance)] = 0
    unit, most = release.statement.unit, math.inf
    if unit == "user":
        n_users = total
        most = float(release.settings.get("contribution_cap") or most)
        lengths = lengths_with(scores.sum() / n_users, most, len(scores))
    else:
        square = (scores @ inputs**2) / scores.sum()  # of one item of a vector, on average
        lengths = lengths_with_root(total / (scores.sum() * math.sqrt(square)), len(scores))
        n_users = scores.sum() / lengths.mean
    return UserMoments(unit, most, scores / n_users, inputs, direction, _trimmed(taste), popular, lengths)


def _measured(factors: Floats, variance: Floats) -> Bools:
    """Return which items had their pairs measured, shape (n,): those with factors, at most ``MOST_ITEMS``."""
    measured = (factors != 0).any(axis=1)
    if measured.sum() > MOST_ITEMS:
        measured[np.argsort(-np.where(measured, variance, -1), kind="stable")[MOST_ITEMS:]] = False
    return np.asarray(measured, dtype=np.bool_)


def popularity_moments(popularity: Floats, lengths: Lengths) -> UserMoments:
    """Return the moments of people who choose by popularity alone.

    Args:
        popularity: of each item, in any unit, shape (n,).
        lengths: their numbers of items.
    """
    n = len(popularity)
    positive = np.maximum(popularity.astype(np.float64), _LEAST)
    counts = lengths.mean * positive / positive.sum()
    nothing = np.zeros((n, 0))
    return UserMoments("record", math.inf, counts, np.ones(n), np.zeros(n), nothing, 0.0, lengths)


def _total(diagonal: float, variance: Floats, explained: Floats) -> float:
    """Return T with Σ A = Σ_j max(T t_j − |W_j|², T t_j/20) + T/2, by halving."""
    low, high = 0.0, diagonal / RIDGE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        each = middle * variance
        if np.maximum(each - explained, FLOOR * each).sum() + RIDGE * middle < diagonal:
            low = middle
        else:
            high = middle
    return max(high, 1.0)


def _trimmed(factors: Floats) -> Floats:
    """Turn factors to their axes, and leave out those without length."""
    squares, axes = np.linalg.eigh(factors.T @ factors)
    long = squares > 1e-9 * max(float(squares.max(initial=0.0)), _LEAST)
    return np.asarray(factors @ axes[:, long], dtype=np.float64)
