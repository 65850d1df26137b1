"""Interactions of a few users, given as lists of items."""

from functools import lru_cache

import numpy as np

import hushrec as hr


@lru_cache(maxsize=20)
def domain_of(n_items, max_per_user=None):
    return hr.Domain(range(n_items), max_per_user=max_per_user or n_items, max_users=1000)


def interactions_of(n_items, rows, max_per_user=None):
    """Interactions with a catalogue of ``n_items``; a row without items is nobody."""
    rows = [np.sort(np.asarray(row, dtype=np.int32)) for row in rows if len(row)]
    return hr.People(
        domain_of(n_items, max_per_user),
        [f"u{number:07d}" for number in range(len(rows))],
        np.cumsum([0, *map(len, rows)]),
        np.concatenate([np.zeros(0, np.int32), *rows]),
    )


def people_of(n_items, rows):
    return interactions_of(n_items, rows)
