"""What all models share: a frozen configuration, a plan made from public facts, and a release."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import (
    Part,
    gaussian,
    gaussians,
    laplace,
    posterior_sample,
    split_gaussian,
    split_laplace,
)
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace, PosteriorSample, Spherical
from hushrec.privacy.accounting.plan import Analysis, Measurement, Plan
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.settings import Settings
from hushrec.statistics.footprint import Footprint
from hushrec.statistics.query import Query
from hushrec.statistics.sensitivity import Norm

Noise = Literal["gaussian", "laplace"]


class Model(Settings):
    """A recommender's settings.

    Args:
        analysis: ``corrected`` states what holds; ``published`` reproduces the paper's noise, whose claim may
            not hold.
        noise: ``gaussian`` (needs δ > 0) or ``laplace``; by default the model's own.
        shares: parts of the budget by name of measurement, in place of the model's own; they are scaled to
            sum to one.

    Privacy: public.
    """

    analysis: Analysis = "corrected"
    noise: Noise | None = None
    shares: Mapping[str, float] = {}

    supports: ClassVar[frozenset[tuple[str, str]]] = frozenset()
    personal: ClassVar[bool] = False
    """Whether the model weights users so that each loses at most the ε that they ask for."""
    blockwise: ClassVar[bool] = False
    """Whether the model reads ratings block by block, so that they may exceed memory."""

    @property
    def noise_distribution(self) -> Noise:
        """The noise distribution that is used."""
        return self.noise or "gaussian"

    @property
    def only_seeded(self) -> str:
        """Why only seeded experiments may use these settings, and what to set instead; empty by default."""
        return ""

    @property
    def published(self) -> bool:
        """Whether the analysis is ``published``."""
        return self.analysis == "published"

    @property
    def norm(self) -> Norm:
        """The norm in which the noise requires sensitivities."""
        return "l1" if self.noise_distribution == "laplace" else "l2"

    def settings(self) -> dict[str, Any]:
        """All settings that affect the release, as JSON values."""
        return self.model_dump(mode="json", exclude={"covariance": {"threads"}})

    @abstractmethod
    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """What will be measured, in order, each with its share of the budget."""

    @abstractmethod
    def default_split(self, budget: Budget) -> Mapping[str, float]:
        """Parts of the budget by name of measurement, where ``shares`` does not override them."""

    @abstractmethod
    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Measure through the grant and make the release; the curator writes its statement later."""

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Memory and time of a fit, from public facts alone; by default, what all queries take."""
        return Footprint.of(query for query, _ in self.queries(domain, budget))

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Everything that a fit will measure, with its noise and cost, from public facts alone.

        Raises:
            BudgetUnsupported: The model does not support this unit, adjacency or noise.
            BudgetError: δ is too large for the domain, or a share is too small.

        Privacy: public.
        """
        self._require(budget)
        queries = [query for query, _ in self.queries(domain, budget) if not query.is_exact]
        shares = self.split(domain, budget)
        price = _published if self.published else _corrected
        events = price(queries, shares, budget, self.noise_distribution)
        return Plan(
            model=type(self).__name__,
            config=self.settings(),
            domain_digest=domain.digest,
            max_users=domain.max_users,
            budget=budget,
            analysis=self.analysis,
            measurements=tuple(Measurement(event, shares[event.name]) for event in events),
            claimed_epsilon=budget.epsilon if self.published else None,
            asked=(domain.privacy_classes or {}) if self.personal else {},
            needs=str(self.footprint(domain, budget)),
            only_seeded=self.only_seeded,
        )

    def split(self, domain: Domain, budget: Budget) -> dict[str, float]:
        """The share of the budget of each measurement that costs anything; shares sum to one."""
        parts = {query.name: part for query, part in self.queries(domain, budget) if not query.is_exact}
        total = sum(parts.values())
        return {name: part / total for name, part in parts.items()}

    def allocate(self, queries: Iterable[Query], budget: Budget) -> list[tuple[Query, float]]:
        """Each query with its part of the budget.

        Raises:
            ConfigError: ``shares`` names an unknown measurement, or a part is missing or not positive.
        """
        asked = list(queries)
        if unknown := set(self.shares) - {query.name for query in asked}:
            names = ", ".join(query.name for query in asked)
            raise ConfigError(f"shares: {sorted(unknown)[0]!r} is not measured here; name one of {names}")
        parts = {**self.default_split(budget), **self.shares}
        if missing := {query.name for query in asked} - set(parts):
            raise ConfigError(f"{type(self).__name__}.default_split has no share for {sorted(missing)[0]!r}")
        if not all(0 < part < math.inf for part in parts.values()):
            raise ConfigError("shares: every part of the budget must be a positive, finite number")
        return [(query, parts[query.name]) for query in asked]

    def require_personal_budgets(self, budget: Budget | None, *, asks: bool) -> None:
        """Refuse ratings with per-user ε if the model, unit or adjacency does not support them.

        Args:
            budget: what may be spent; None for the non-private baseline.
            asks: whether the ratings carry per-user ε.

        Raises:
            BudgetUnsupported: The model has no per-user ε, or not under this unit and adjacency.
        """
        kind = None if budget is None else (budget.unit, budget.adjacency)
        if asks and not (self.personal and kind in (None, ("user", "add-remove"))):
            raise BudgetUnsupported(
                f"these ratings carry per-user ε, which {type(self).__name__} does not support; use "
                'PosteriorMF with unit "user" and adjacency "add-remove", or drop the column epsilon'
            )

    def _require(self, budget: Budget) -> None:
        if (budget.unit, budget.adjacency) not in self.supports:
            offered = ", ".join(f"{unit} under {adjacency}" for unit, adjacency in sorted(self.supports))
            raise BudgetUnsupported(
                f"{type(self).__name__} protects {offered}; change the budget's unit or adjacency"
            )
        if self.noise not in (None, self.noise_distribution):
            raise BudgetUnsupported(
                f"{type(self).__name__} uses {self.noise_distribution} noise in its {self.analysis} form; "
                "leave out noise"
            )
        if self.noise_distribution == "gaussian" and budget.delta == 0:
            free = self.model_copy(update={"noise": "laplace"}).noise_distribution == "laplace"
            other = ', or set noise="laplace"' if free else ""
            raise BudgetUnsupported(f"Gaussian noise needs delta > 0; set delta{other}")


def _corrected(queries: list[Query], shares: dict[str, float], budget: Budget, noise: Noise) -> list[Event]:
    """Noise from the exact composition of all measurements; a posterior sample gets its share of ε itself."""
    samples = {
        q.name: posterior_sample(
            q.name,
            epsilon=math.floor(budget.epsilon_units * Fraction(shares[q.name])),
            sensitivity=q.sensitivity,
            step=q.step,
            size=q.size,
        )
        for q in queries
        if q.posterior
    }
    sums = [q for q in queries if not q.posterior]
    if samples and sums:
        left = budget.epsilon_units - spent_of(samples.values()).epsilon_sum
        budget = budget.model_copy(
            update={"epsilon": fixed_point.float_below(Fraction(left, fixed_point.PER_ONE))}
        )
        rest = math.fsum(shares[q.name] for q in sums)
        shares = {q.name: shares[q.name] / rest for q in sums}
    noisy = {event.name: event for event in (_noisy(sums, shares, budget, noise) if sums else [])}
    return [samples.get(q.name) or noisy[q.name] for q in queries]


def _noisy(queries: list[Query], shares: dict[str, float], budget: Budget, noise: Noise) -> list[Event]:
    """Noise for sums that together cost the whole budget."""
    if noise == "laplace":
        epsilons = split_laplace(budget, shares)
        return [
            laplace(q.name, epsilon=epsilons[q.name], sensitivity=q.sensitivity, step=q.step, size=q.size)
            for q in queries
        ]
    if any(q.rate < 1 for q in queries):
        targets = (Part(q.name, q.sensitivity, q.step, q.size, shares[q.name], q.rate) for q in queries)
        return [*gaussians(budget, targets)]
    rhos = split_gaussian(budget, shares)
    return [
        gaussian(q.name, rho=rhos[q.name], sensitivity=q.sensitivity, step=q.step, size=q.size)
        for q in queries
    ]


def _published(queries: list[Query], shares: dict[str, float], budget: Budget, noise: Noise) -> list[Event]:
    """Noise as the papers print it: ε and δ add up, b = Δ/ε, σ = Δ √(2 ln(2/δ))/ε.

    McSherry & Mironov 2009, Theorems 1 and 3; Friedman, Berkovsky & Kaafar 2016, Theorems 1 and 2. The events
    carry the true sensitivities, so the ledger is charged the true cost of the noise.
    """
    events: list[Event] = []
    whole = sum(map(Fraction, shares.values()))
    for query in queries:
        epsilon = budget.epsilon * shares[query.name]
        if query.spherical:
            events.append(Spherical(query.name, query.sensitivity * epsilon, 1.0, query.step, query.size))
        elif query.posterior:
            temperature = query.printed / epsilon
            events.append(PosteriorSample(query.name, query.sensitivity, temperature, query.step, query.size))
        elif noise == "laplace" and query.claimed in (None, query.sensitivity):
            part = math.floor(budget.epsilon_units * Fraction(shares[query.name]) / whole)
            events.append(
                laplace(
                    query.name,
                    epsilon=part,
                    sensitivity=query.sensitivity,
                    step=query.step,
                    size=query.size,
                )
            )
        elif noise == "laplace":
            scale = query.printed / epsilon
            events.append(Laplace(query.name, query.sensitivity, scale, query.step, query.size))
        else:
            sigma = query.printed * math.sqrt(2 * math.log(2 * len(queries) / budget.delta)) / epsilon
            events.append(Gaussian(query.name, query.sensitivity, sigma, query.step, query.size))
    return events
