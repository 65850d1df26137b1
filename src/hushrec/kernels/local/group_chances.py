"""The probability to land near an item, one row of an item-by-item matrix at a time."""

import numpy as np

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.kernels.compiled import compiled

__all__ = ["landing"]


@compiled(nogil=True)
def landing(
    first: int,
    last: int,
    starts: Ints,
    members: Ints32,
    holding: Ints,
    holders: Ints32,
    keep: float,
    group: float,
    most: Floats,
    least: Floats,
) -> None:
    """Find the largest and smallest probability, over all items, to land inside GRP_j = G_j ∪ {j}.

    P(out ∈ GRP_j | i) = p* [i ∈ GRP_j] + (1 − p*)(p |G_i ∩ GRP_j|/|G_i| + (1 − p)|GRP_j|/m), with p = 0 for
    an i whose group is empty. Overlaps are counted through the groups that contain members of GRP_j.

    Args:
        first, last: process the items j from ``first`` up to but excluding ``last``.
        starts, members: the groups, in compressed rows.
        holding, holders: for each item, the items whose groups contain it, in compressed rows.
        keep: p*.
        group: p.
        most, least: receive the probabilities, shape (n_items,).

    Privacy: as the groups.
    """
    m = most.size
    overlaps, inside = np.zeros(m, np.int64), np.zeros(m, np.bool_)
    for j in range(first, last):
        size = starts[j + 1] - starts[j] + 1
        for number in range(size):
            near = j if number == 0 else members[starts[j] + number - 1]
            inside[near] = True
            for place in range(holding[near], holding[near + 1]):
                overlaps[holders[place]] += 1
        most[j], least[j] = 0.0, np.inf
        for i in range(m):
            chance, n = size / m, starts[i + 1] - starts[i]
            if n > 0:
                chance = group * (overlaps[i] / n) + (1 - group) * chance
            chance *= 1 - keep
            if inside[i]:
                chance += keep
            most[j], least[j] = max(most[j], chance), min(least[j], chance)
            overlaps[i], inside[i] = 0, False
