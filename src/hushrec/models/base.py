"""What every model has in common: a frozen configuration, a plan made from public facts, and a fit."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported, ConfigError, LedgerError
from hushrec.privacy.budget import Budget
from hushrec.privacy.entropy import Entropy
from hushrec.privacy.events import Event, Gaussian, Laplace
from hushrec.privacy.ledger import Ledger
from hushrec.privacy.mechanisms import Grant, unprotected
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
            raise ConfigError(f"{type(self).__name__} cannot be set up so: {'; '.join(parts)}") from None

    @property
    def norm(self) -> Norm:
        """The norm that the noise asks for."""
        return "l1" if self.noise == "laplace" else "l2"

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
            config=self.model_dump(mode="json"),
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
        return [(query, parts[query.name]) for query in asked]

    def _require(self, budget: Budget) -> None:
        if (budget.unit, budget.adjacency) not in self.supports:
            offered = ", ".join(f"{unit} under {adjacency}" for unit, adjacency in sorted(self.supports))
            raise BudgetUnsupported(
                f"{type(self).__name__} protects {offered}; change the budget's unit or adjacency"
            )
        if self.noise == "gaussian" and budget.delta == 0:
            raise BudgetUnsupported('Gaussian noise needs delta > 0; give one, or set noise="laplace"')


def plan(config: Model, domain: Domain, budget: Budget) -> Plan:
    """What a fit will measure, with how much noise, and what that costs. Sees no data.

    Args:
        config: a model's settings.
        domain: the public frame.
        budget: what may be spent.

    Privacy: public.
    """
    return config.plan(domain, budget)


def fit(
    ratings: Ratings,
    config: Model,
    budget: Budget | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    slot: int | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """Charge the ledger, measure under noise, and make a release.

    Args:
        ratings: private ratings.
        config: a model's settings.
        budget: what may be spent; None gives the non-private baseline, whose statement says so.
        ledger: the population's ledger, or its path. One that never existed is started with this budget as its
            whole total. Only seeded experiments and baselines do without.
        slot: release slot. None always charges for the next free one; a slot that was released before gives
            back the same bytes and charges nothing.
        entropy: the operating system's by default; ``hushrec.testing.Seeded`` for experiments and tests, whose
            releases are not private.

    Returns:
        The release.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        LedgerError: There is no ledger, or it cannot be relied on.
        BudgetUnsupported: The model states no such guarantee.

    Privacy: charged (every event of the plan).
    """
    from hushrec.models.statements import describe, not_private

    if budget is None:
        stand_in = Budget(epsilon=1.0, delta=1e-9, unit="rating", adjacency="add-remove")
        release = config.release(ratings, stand_in, unprotected())
        return not_private(release, config, stand_in)
    planned = config.plan(ratings.domain, budget)
    account = _account(ledger, planned, entropy)
    if slot is not None and (stored := account.stored(planned, slot)) is not None:
        return Release.from_bytes(stored)
    grant = account.charge(planned, slot, entropy)
    population = ratings.capped(ratings.domain.cap) if budget.unit == "user" else ratings
    release = describe(config.release(population, budget, grant), config, planned, grant, ratings.domain)
    account.sampled(grant, release.to_bytes())
    account.published(grant)
    return release


def _account(ledger: Ledger | str | Path | None, planned: Plan, entropy: Entropy | None) -> Ledger:
    if isinstance(ledger, Ledger):
        return ledger
    if ledger is not None:
        return Ledger.for_fit(ledger, planned.budget)
    if entropy is None or entropy.private:
        raise LedgerError(
            'a private release is charged to a ledger: pass ledger="ledger.db" (it is created if new)'
        )
    # A seeded experiment claims nothing, so a published plan may cost more than its budget here.
    epsilon = max(planned.budget.epsilon, planned.epsilon)
    return Ledger.ephemeral(planned.budget.model_copy(update={"epsilon": epsilon}))


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
