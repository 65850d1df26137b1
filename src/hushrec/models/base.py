"""What every model has in common: a frozen configuration, a plan made from public facts, and a fit."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.privacy.budget import Budget
from hushrec.privacy.events import Event, Gaussian, Laplace
from hushrec.privacy.mechanisms import Grant
from hushrec.privacy.plan import Measurement, Plan, gaussian, laplace, split_gaussian, split_laplace
from hushrec.release.artefact import Release
from hushrec.statistics.query import Query
from hushrec.statistics.sensitivity import Norm

Analysis = Literal["corrected", "published"]
Noise = Literal["gaussian", "laplace"]


class Model(BaseModel):
    """A recommender's settings.

    Args:
        analysis: ``corrected`` states what holds; ``published`` reproduces the paper's noise, whose claim may
            not hold.
        noise: ``gaussian`` (needs δ > 0) or ``laplace``.
        shares: parts of the budget by name of measurement, in place of the model's own; they are scaled to
            add to one.

    Privacy: public.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    analysis: Analysis = "corrected"
    noise: Noise = "gaussian"
    shares: Mapping[str, float] = {}

    supports: ClassVar[frozenset[tuple[str, str]]] = frozenset()

    def __init__(self, **settings: object) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            parts = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            known = ", ".join(type(self).model_fields)
            raise ConfigError(
                f"{type(self).__name__} cannot be set up so: {'; '.join(parts)}; its settings are {known}"
            ) from None

    @property
    def norm(self) -> Norm:
        """The norm that the noise asks for."""
        return "l1" if self.noise == "laplace" else "l2"

    def settings(self) -> dict[str, Any]:
        """All settings that bear on the release, as JSON values."""
        return self.model_dump(mode="json", exclude={"covariance": {"threads"}})

    @abstractmethod
    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """What will be measured, in order, each with its share of the budget."""

    @abstractmethod
    def own_shares(self, budget: Budget) -> Mapping[str, float]:
        """Parts of the budget by name of measurement, as far as ``shares`` does not say otherwise."""

    @abstractmethod
    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Measure through the grant and make the release; its statement is still to be written."""

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Everything that a fit will measure, with its noise and its price, from public facts alone.

        Raises:
            BudgetUnsupported: The model states no guarantee in this unit, adjacency or noise.
            BudgetError: δ is too large for the domain, or a share too small.

        Privacy: public.
        """
        self._require(budget)
        asked = [(query, share) for query, share in self.queries(domain, budget) if not query.agreed]
        total = sum(share for _, share in asked)
        shares = {query.name: share / total for query, share in asked}
        queries = [query for query, _ in asked]
        price = _published if self.analysis == "published" else _corrected
        events = price(queries, shares, budget, self.noise)
        return Plan(
            model=type(self).__name__,
            config=self.settings(),
            domain_digest=domain.digest,
            max_users=domain.max_users,
            budget=budget,
            analysis=self.analysis,
            measurements=tuple(Measurement(event, shares[event.name]) for event in events),
            claimed_epsilon=budget.epsilon if self.analysis == "published" else None,
        )

    def with_shares(self, queries: Iterable[Query], budget: Budget) -> list[tuple[Query, float]]:
        """Each query with its part of the budget.

        Raises:
            ConfigError: ``shares`` names a measurement that is not made.
        """
        asked = list(queries)
        if unknown := set(self.shares) - {query.name for query in asked}:
            names = ", ".join(query.name for query in asked)
            raise ConfigError(f"shares: {sorted(unknown)[0]!r} is not measured here; there are {names}")
        parts = {**self.own_shares(budget), **self.shares}
        if not all(0 < part < math.inf for part in parts.values()):
            raise ConfigError("shares: every part of the budget is a positive number")
        return [(query, parts[query.name]) for query in asked]

    def _require(self, budget: Budget) -> None:
        if (budget.unit, budget.adjacency) not in self.supports:
            offered = ", ".join(f"{unit} under {adjacency}" for unit, adjacency in sorted(self.supports))
            raise BudgetUnsupported(
                f"{type(self).__name__} protects {offered}; change the budget's unit or adjacency"
            )
        if self.noise == "gaussian" and budget.delta == 0:
            raise BudgetUnsupported('Gaussian noise needs delta > 0; give one, or set noise="laplace"')


def _corrected(queries: list[Query], shares: dict[str, float], budget: Budget, noise: Noise) -> list[Event]:
    """Noise from the exact composition of all measurements."""
    if noise == "laplace":
        epsilons = split_laplace(budget, shares)
        return [
            laplace(q.name, epsilon=epsilons[q.name], sensitivity=q.sensitivity, step=q.step, size=q.size)
            for q in queries
        ]
    rhos = split_gaussian(budget, shares)
    return [
        gaussian(q.name, rho=rhos[q.name], sensitivity=q.sensitivity, step=q.step, size=q.size)
        for q in queries
    ]


def _published(queries: list[Query], shares: dict[str, float], budget: Budget, noise: Noise) -> list[Event]:
    """Noise as McSherry & Mironov print it: ε's and δ's add (Theorem 1), σ = Δ √(2 ln(2/δ))/ε (Theorem 3).

    The events carry the true sensitivities, so that what is booked is what the noise is worth.
    """
    events: list[Event] = []
    for query in queries:
        epsilon = budget.epsilon * shares[query.name]
        if noise == "laplace":
            scale = query.printed / epsilon
            events.append(Laplace(query.name, query.sensitivity, scale, query.step, query.size))
        else:
            sigma = query.printed * math.sqrt(2 * math.log(2 * len(queries) / budget.delta)) / epsilon
            events.append(Gaussian(query.name, query.sensitivity, sigma, query.step, query.size))
    return events
