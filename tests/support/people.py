"""People with random ratings, and factors on a sphere, for searches after the largest change of a sum."""

import numpy as np

SCALES = [(1, 5, 1), (0.5, 4, 0.5), (0, 98, 7), (0.1, 5, 0.1), (0, 3.7, 0.1)]
"""The last three lie off the grid."""
HEAVY = [0, 4] * 100


def on_sphere(n, rank, radius, seed):
    rows = np.random.default_rng(seed).standard_normal((n, rank))
    return radius * rows / np.linalg.norm(rows, axis=1, keepdims=True)


def person(rng, n_items, n_ratings, low=0, high=5):
    """Steps of random ratings of that many of the items; None for the others."""
    row = [None] * n_items
    for i in rng.permutation(n_items)[:n_ratings]:
        row[i] = int(rng.integers(low, high))
    return row
