"""A vote of the people: whether lists by their own items find more than the list by popularity."""

from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.feedback import Feedback
from hushrec.estimation.interactions.pair_factors import LinearWeights
from hushrec.kernels.list_gains import list_gains
from hushrec.privacy.query import Sum
from hushrec.statistics.population import Population

_STEP_BITS = 20  # a step of the votes is 2^-20
MARGIN = 0.01
"""What a list by own items must gain in nDCG, because the model has seen these items in training: chosen by
hand; docs/models/private_ease.md says on which sets."""
LARGEST = 0.25
"""Bound on one user's vote: chosen by hand."""
MOST_VOTERS = 3_000
"""About as many users vote, at most: a list for each takes time. Chosen by hand."""


@dataclass(frozen=True)
class Votes:
    """Σ_u clamp(nDCG(own list) − nDCG(list by popularity) − margin, ±1/4), over users with items enough.

    A fifth of a user's items is hidden from both lists, and to be found. Whether a user votes, and which of
    their items are hidden, depends on what they have alone. One user moves the sum by at most 1/4; one
    interaction, which may change all of a user's vote, by 1/2.

    Args:
        unit: unit of the guarantee, under add-remove.

    Privacy: public.
    """

    unit: str

    @property
    def query(self) -> Sum:
        return Sum("votes", LARGEST if self.unit == "user" else 2 * LARGEST, "l2", 2.0**-_STEP_BITS, 1)

    def measure(self, people: Population, linear: LinearWeights, popularity: Floats, size: float) -> Ints:
        """The sum in steps of 2^-20, shape (1,).

        Args:
            people: people with private interactions, who all count in full.
            linear: released scores by own items.
            popularity: released scores by popularity, shape (n_items,).
            size: about how many users there are, as released.

        Privacy: bounded (``query.sensitivity``).
        """
        places = np.empty(len(popularity), dtype=np.int64)
        places[np.argsort(-popularity, kind="stable")] = np.arange(len(popularity))
        below = np.uint64(min(int(min(MOST_VOTERS / max(size, 1.0), 1.0) * 2.0**64), 2**64 - 1))
        factors, inputs, outputs, intercept = linear

        def add(block: Feedback, total: Ints) -> None:
            rows = block.indptr, block.items
            gains = list_gains(*rows, factors, inputs, outputs, intercept, places, below)
            votes = np.clip(np.nan_to_num(gains - MARGIN, nan=0.0), -LARGEST, LARGEST)
            total += int(np.rint(votes * 2.0**_STEP_BITS).astype(np.int64).sum())

        (total,) = people.in_full.total(add, 1)
        return total
