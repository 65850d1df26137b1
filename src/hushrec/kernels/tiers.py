"""The order of items' rows in memory, chosen so that frequently used rows share caches and pages."""

import numpy as np

from hushrec.arrays import Ints32

__all__ = ["by_popularity"]


def by_popularity(items: Ints32, n_items: int) -> Ints32:
    """The rank of each item by number of ratings, most rated first; ties go to the first item.

    Liu, Wang & Smola 2015, §5, divide items into tiers of popularity: the top 500, the next 4,000 and the
    others. In this order each tier is contiguous, whatever its size. The ranks are as private as the counts
    of ratings; they determine where a result is computed, not its value.

    Args:
        items: item of each rating, shape (n_ratings,).
        n_items: number of items.

    Returns:
        The rank of each item, shape (n_items,); an item's ratings are relabelled ``places[items]``.

    Privacy: private.
    """
    counts = np.bincount(items, minlength=n_items)
    places = np.empty(n_items, np.int32)
    places[np.argsort(-counts, kind="stable")] = np.arange(n_items, dtype=np.int32)
    return places
