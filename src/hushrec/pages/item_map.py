"""A map of items: two coordinates for each, from the factors of a release.

Privacy: post-processing of a release.
"""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.release.artefact import Release

SIDE = 1000
"""Coordinates are whole numbers from 0 to this."""

__all__ = ["SIDE", "item_map"]


def item_map(release: Release) -> Ints | None:
    """Where to draw each item, so that items near each other appeal to the same people.

    The first two principal components of the items' factors, each item with the weight of its popularity, so
    that the map shows what tells the well-known items apart. Along both axes, equal distances then hold equal
    fractions of the popularity, so that no part is crowded with well-known items.

    Args:
        release: of any kind.

    Returns:
        Coordinates, shape (n_items, 2), from 0 to ``SIDE``; None if the release has no factors of items, or
        fewer than two directions in them.
    """
    factors = release.tensors.get("item_factors")
    if factors is None or min(factors.shape) < 2:
        return None
    places = factors.astype(np.float64)
    places /= np.abs(places).max() or 1.0
    weights = _popularity(release)
    centred = places - weights @ places
    spread, axes = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    if not spread[-2] > 1e-12 * spread[-1]:
        return None
    drawn = centred @ axes[:, [-1, -2]]
    drawn *= np.where(drawn[np.abs(drawn).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # eigh leaves signs open
    return np.column_stack([_fractions(drawn[:, axis], weights) for axis in (0, 1)])


def _fractions(along: Floats, weights: Floats) -> Ints:
    """How much weight lies below each place, half its own included, drawn out to 0 to ``SIDE``."""
    order = np.argsort(along, kind="stable")
    below = np.empty(len(along))
    below[order] = np.cumsum(weights[order]) - weights[order] / 2
    drawn = (below - below.min()) / (below.max() - below.min()) * SIDE
    return np.asarray(np.rint(drawn), dtype=np.int64)


def _popularity(release: Release) -> Floats:
    """Weights of the items, which sum to one; shape (n_items,)."""
    popularity = next(
        (release.tensors[n] for n in ("item_popularity", "input_weights") if n in release.tensors), None
    )
    if popularity is None:
        popularity = np.ones(len(release.items))
    weights = np.maximum(popularity.astype(np.float64), 0)
    total = weights.sum()
    return np.asarray(weights / total if total > 0 else np.full(len(weights), 1 / len(weights)))
