"""How many people gave each item, and how many people there are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushrec.arrays import Ints
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback
from hushrec.kernels.sums.centring import weighted_item_sums
from hushrec.privacy.query import Sum
from hushrec.statistics.integer_grid import Weights
from hushrec.statistics.population import Population
from hushrec.statistics.sensitivity import vector_user

_WEIGHT_BITS = 28  # steps in a weight of 1: 2^28
_SIZE_BITS = 10  # steps in a size of 1: 2^10


@dataclass(frozen=True)
class ItemCounts:
    """How many people gave each item: N_i = Σ_u w_u [u gave i].

    Unit ``user``: w_u = min(1, √(K/c_u)) for a user with c_u items, so the norm of a user's whole
    contribution is at most √K. Unit ``record``: w_u = 1, so one rating or interaction moves one count by 1.

    Args:
        unit: unit of the guarantee, under add-remove.
        contribution_cap: K (unit ``user``).

    Privacy: public.
    """

    domain: Domain
    unit: str
    contribution_cap: float

    @cached_property
    def weights(self) -> Weights:
        """A user's weight by number of items."""
        n = self.domain.n_items
        if self.unit == "record":
            return Weights(n, _WEIGHT_BITS, 0.5, n)
        return Weights(min(self.domain.max_per_user, n), _WEIGHT_BITS, 0.5, self.contribution_cap)

    @property
    def query(self) -> Sum:
        change = 1.0 if self.unit == "record" else vector_user(self.weights.values, 1.0, 0.0, "l2")
        return Sum("item counts", change, "l2", self.weights.step, self.domain.n_items)

    def measure(self, people: Population) -> Ints:
        """The counts in steps of the weights' grid, shape (n_items,).

        Args:
            people: people with private interactions or ratings, who all count in full.

        Privacy: bounded (``query.sensitivity``); unit ``user`` needs feedback capped to the domain's cap.
        """
        (counts,) = people.in_full.total(self._add, self.domain.n_items)
        return counts

    def _add(self, block: Feedback, counts: Ints) -> None:
        ones = np.ones(len(block.items), dtype=np.int32)
        weights = self.weights.steps[block.counts]
        counts += weighted_item_sums(block.indptr, block.items, ones, weights, 0, self.domain.n_items)


@dataclass(frozen=True)
class CrowdSize:
    """How large the population is: Σ_u 1 for unit ``user``, Σ_u √c_u for unit ``record``.

    One interaction moves √c by at most 1, which the grid rounds down.

    Args:
        unit: unit of the guarantee, under add-remove.

    Privacy: public.
    """

    unit: str

    @property
    def query(self) -> Sum:
        step = 2.0**-_SIZE_BITS
        return Sum("crowd size", 1.0 if self.unit == "user" else 1 + step, "l2", step, 1)

    def measure(self, people: Population) -> Ints:
        """The size in steps of 2^-10, shape (1,). Privacy: bounded (``query.sensitivity``)."""
        (size,) = people.in_full.total(self._add, 1)
        return size

    def _add(self, block: Feedback, size: Ints) -> None:
        if self.unit == "user":
            size += block.n_users << _SIZE_BITS
        else:
            size += int(np.floor(np.sqrt(block.counts) * 2**_SIZE_BITS).astype(np.int64).sum())
