"""Scales and rows of ratings on which sums are searched for neighbours that move them too far."""

SCALES = [(1, 5, 1), (0.5, 4, 0.5), (0, 98, 7), (0.1, 5, 0.1), (0, 3.7, 0.1)]
"""The last three lie off the grid."""


def person(rng, n_items, n_ratings, high=5):
    row = [None] * n_items
    for i in rng.permutation(n_items)[:n_ratings]:
        row[i] = int(rng.integers(0, high))
    return row
