"""A model's run: the plan that was charged, or no plan for the non-private baseline."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.documents.words import Clause
from hushrec.errors import GrantError
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.weights import GRID, weights
from hushrec.privacy.grant import Grant
from hushrec.privacy.query import AnyQuery, Query
from hushrec.progress import advance

if TYPE_CHECKING:
    from hushrec.privacy.noise.poisson_sampling import Sample

MEASURING = "measuring"
"""The stage of a fit whose steps are the queries of its plan."""
Values = TypeVar("Values")
Released = TypeVar("Released")


class Run(Protocol):
    """One fit. ``measure`` is the only way from private values to public ones.

    Attributes:
        terms: unit, adjacency and ε of the fit.
        prior: what is publicly known about the items.

    Privacy: public itself.
    """

    @property
    def terms(self) -> Terms: ...
    @property
    def prior(self) -> ItemPrior: ...

    def measure(self, query: Query[Values, Released], values: Values) -> Released:
        """Publish the values of a query, with the noise that was charged for it.

        Privacy: charged (the event booked under the query's name); public where the query is exact.
        """
        ...

    def take(self, branch: str, reason: Clause) -> None:
        """Take a branch of the plan, because of what was released.

        Args:
            branch: the branch, whose queries alone may be measured from here on, and those of none.
            reason: why, for the statement; its figures are released ones.

        Privacy: public.
        """
        ...

    def decide(self, reason: Clause) -> None:
        """Note a decision that follows from what was released, for the statement. Privacy: public."""
        ...

    def noise(self, query: AnyQuery) -> float:
        """Noise parameter of the query's event; 0 without noise."""
        ...

    def sample(self, query: AnyQuery) -> "Sample | None":
        """Who takes part in a query of a random sample; None for everybody. Privacy: private."""
        ...

    @property
    def weights(self) -> Callable[[Floats], Ints]:
        """A function from the ε that users ask for to their weights, in steps of 1/GRID.

        It holds nothing of the run, so that it may be sent to where the ratings are.

        Privacy: private in, private out; a user's weight depends only on the ε that they ask for.
        """
        ...


@dataclass(frozen=True)
class ChargedRun:
    """A run under a charge: the grant adds exactly the noise of the charged plan.

    Args:
        queries: the queries that the plan was made from, which alone may be measured.
        prior: what is publicly known about the items.
        reasons: why a branch of the plan was taken; empty before, and without branches.

    Privacy: public itself; ``measure`` is charged.
    """

    plan: Plan
    queries: Iterable[AnyQuery]
    grant: Grant
    prior: ItemPrior = NOTHING_KNOWN
    reasons: list[Clause] = field(default_factory=list)

    @property
    def terms(self) -> Terms:
        return self.plan.budget

    def measure(self, query: Query[Values, Released], values: Values) -> Released:
        """Publish the values through the grant.

        Privacy: charged (the event booked under the query's name); public where the query is exact.
        """
        if self._planned.get(query.name) != query:
            raise GrantError(
                f"{query.name}: the charged plan does not have this query; measure only what queries() lists"
            )
        released = query.exact(values) if query.is_exact else query.measure(self.grant, values)
        advance(MEASURING)
        return released

    def take(self, branch: str, reason: Clause) -> None:
        """Take a branch; the grant drops the others. Privacy: public."""
        self.grant.take(branch)
        self.decide(reason)

    def decide(self, reason: Clause) -> None:
        """Note a decision. Privacy: public."""
        self.reasons.append(reason)

    def noise(self, query: AnyQuery) -> float:
        """Noise parameter of the booked event. Privacy: public."""
        return next(event.noise for event in self.plan.events if event.name == query.name)

    def sample(self, query: AnyQuery) -> "Sample | None":
        """The sample that the grant draws. Privacy: private."""
        return None if query.rate == 1 else self.grant.sample(query.name)

    @property
    def weights(self) -> Callable[[Floats], Ints]:
        """The largest weights at which the plan costs each user at most the ε that they ask for.

        Privacy: private in, private out.
        """
        return partial(_weights, tuple(self.plan.events), self.plan.budget.delta)

    @cached_property
    def _planned(self) -> dict[str, AnyQuery]:
        return {query.name: query for query in self.queries}


@dataclass(frozen=True)
class ExactRun:
    """The run of the non-private baseline: nothing is charged, no noise is added, nothing is claimed.

    Args:
        terms: unit and adjacency whose sums are computed, with ε = ∞.
        prior: what is publicly known about the items.

    Privacy: private; whatever is made with it is not private, and its statement says so.
    """

    terms: Terms
    prior: ItemPrior = NOTHING_KNOWN

    def measure(self, query: Query[Values, Released], values: Values) -> Released:
        """The exact values. Privacy: private."""
        exact = query.exact(values)
        advance(MEASURING)
        return exact

    def take(self, branch: str, reason: Clause) -> None:
        """Nothing is booked, so nothing is dropped. Privacy: public."""

    def decide(self, reason: Clause) -> None:
        """A baseline states no decisions. Privacy: public."""

    def noise(self, query: AnyQuery) -> float:
        """None: 0. Privacy: public."""
        return 0.0

    def sample(self, query: AnyQuery) -> "Sample | None":
        """Everybody takes part. Privacy: public."""
        return None

    @property
    def weights(self) -> Callable[[Floats], Ints]:
        """Full weight, and none for users who ask for 0. Privacy: private in, private out."""
        return _full_or_none


def _weights(events: tuple[Event, ...], delta: float, personal_epsilon: Floats) -> Ints:
    return np.rint(weights(events, delta, personal_epsilon) * GRID).astype(np.int64)


def _full_or_none(personal_epsilon: Floats) -> Ints:
    return np.where(personal_epsilon > 0, GRID, 0)
