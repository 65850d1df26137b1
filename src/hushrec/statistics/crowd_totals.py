"""How many people there are, and how much they give in all."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Ints
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback
from hushrec.privacy.bounded import Norm
from hushrec.privacy.query import Sum
from hushrec.statistics.population import Population

MOST = 200
"""Ratings or interactions of one person that count, for unit ``user``: most people have fewer."""


@dataclass(frozen=True)
class CrowdTotals:
    """The number of users, Σ_u 1, and of what they give, Σ_u min(c_u, K) for users with c_u ratings.

    Unit ``user``: one user moves the first by 1 and the second by K = min(200, cap, items). Unit ``record``:
    K = items, and one rating, which may be its user's only one, moves each by 1.

    Args:
        unit: unit of the guarantee, under add-remove.
        norm: norm in which the noise requires sensitivities.

    Privacy: public.
    """

    domain: Domain
    unit: str
    norm: Norm = "l2"

    @property
    def most(self) -> int:
        """K, the most of one user that counts."""
        n = self.domain.n_items
        return n if self.unit == "record" else min(MOST, self.domain.max_per_user, n)

    @property
    def users(self) -> Sum:
        """Description of the number of users, without any data."""
        return Sum("number of users", 1.0, self.norm, 1.0, 1)

    @property
    def records(self) -> Sum:
        """Description of the number of ratings, or interactions, without any data."""
        change = 1.0 if self.unit == "record" else float(self.most)
        return Sum(f"number of {self.domain.feedback}", change, self.norm, 1.0, 1)

    def measure(self, people: Population) -> Iterator[tuple[Sum, Ints]]:
        """Each query with its value, shape (1,).

        Args:
            people: people with private ratings or interactions, who all count in full.

        Privacy: bounded (each query's sensitivity); unit ``user`` needs feedback capped to the domain's cap.
        """
        (totals,) = people.in_full.total(self._add, 2)
        yield self.users, totals[:1]
        yield self.records, totals[1:]

    def _add(self, block: Feedback, totals: Ints) -> None:
        totals += block.n_users, int(np.minimum(block.counts, self.most).sum())
