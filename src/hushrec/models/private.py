"""The base of all models with noise: queries, their split of the budget, and the plan made from them."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal, Self

from hushrec.data.domain import Domain
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.models.base import Model
from hushrec.models.phases.repeated import Repeated
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.bounded import Norm
from hushrec.privacy.query import AnyQuery
from hushrec.statistics.footprint import Footprint

Noise = Literal["gaussian", "laplace"]


class PrivateModel(Model):
    """The settings of a model that adds noise.

    Privacy: public.
    """

    split: Mapping[str, float] = {}
    """parts of the budget by name of measurement, in place of the model's own; they are scaled to sum to
    one.
    """

    @abstractmethod
    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """List all measurements, in order, from public facts alone."""

    @abstractmethod
    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Return parts of the budget by name of measurement, where ``split`` does not override them."""

    @property
    def noise_distribution(self) -> Noise:
        return "gaussian"

    @property
    def norm(self) -> Norm:
        """The norm in which the noise requires sensitivities."""
        return "l1" if self.noise_distribution == "laplace" else "l2"

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate memory and time of a fit, from public facts alone; by default, those of all queries."""
        return Footprint.of(query.size for query in self.queries(domain, budget))

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Say which data the release needs to use all its measurements; empty if any data do."""
        return ""

    def settled(self, domain: Domain, budget: Budget) -> Self:
        """Write out the settings that otherwise follow from the domain and the budget."""
        return self

    def repeated(self, domain: Domain, budget: Budget, releases: int) -> Repeated:
        """Return the model's measurements for a series of ``releases`` under one bound."""
        raise ConfigError(
            f"{type(self).__name__} has no series of releases under one bound; choose GlobalEffects, or "
            "Popularity for interactions, or release it each time from a share of the ledger"
        )

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Plan as ``Model.plan`` does.

        Raises:
            DataError: The model learns from another kind of feedback than the domain declares.
            BudgetUnsupported: The model does not support this unit, adjacency or noise.
            BudgetError: δ is too large for the domain, or a measurement's part of the budget is too small.
            ConfigError: A setting has no effect under this budget.
        """
        queries, split = self.noisy_queries(domain, budget), self.budget_split(domain, budget)
        return self.plan_of(calibrated(queries, split, budget), split, domain, budget)

    def noisy_queries(self, domain: Domain, budget: Budget) -> list[AnyQuery]:
        """List the queries that need noise, in order.

        Raises:
            DataError: The model learns from another kind of feedback than the domain declares.
            BudgetUnsupported: The model does not support this unit, adjacency or noise.
            ConfigError: A setting has no effect under this budget.
        """
        self.require_feedback(domain)
        self._require(budget)
        queries = [query for query in self.queries(domain, budget) if not query.is_exact]
        if budget.delta == 0 and any(query.norm == "l2" for query in queries):
            other = ', or set noise="laplace"' if "noise" in type(self).model_fields else ""
            raise BudgetUnsupported(f"Gaussian noise needs delta > 0; set delta{other}")
        return queries

    def plan_of(
        self, events: Sequence[Event], split: Mapping[str, float], domain: Domain, budget: Budget
    ) -> Plan:
        """Make the plan of these measurements, with the memory and time that the model needs.

        Args:
            events: the measurements with their noise, which costs the budget.
            split: parts of the budget by name of measurement.
            domain: the public domain.
            budget: what may be spent.
        """
        return Plan(
            model=type(self).__name__,
            settings=self.settings(),
            domain_digest=domain.digest,
            max_users=domain.max_users,
            budget=budget,
            measurements=tuple(Measurement(event, split[event.name]) for event in events),
            personal_epsilon=(domain.personal_epsilon or {}) if self.personal_epsilon else {},
            needs=self.footprint(domain, budget).in_words(domain.crowd),
        )

    def budget_split(self, domain: Domain, budget: Budget) -> dict[str, float]:
        """Return the part of the budget of each measurement that costs anything.

        Parts sum to one along each branch; the branch whose parts are largest decides what is left for one.
        """
        queries = self.queries(domain, budget)
        if unknown := set(self.split) - {query.name for query in queries}:
            names = ", ".join(query.name for query in queries)
            raise ConfigError(f"split: {sorted(unknown)[0]!r} is not measured here; name one of {names}")
        parts = {**self.default_split(domain, budget), **self.split}
        if missing := {query.name for query in queries} - set(parts):
            raise ConfigError(f"{type(self).__name__}.default_split has no part for {sorted(missing)[0]!r}")
        if not all(0 < part < math.inf for part in parts.values()):
            raise ConfigError("split: every part of the budget must be a positive, finite number")
        charged = {query.name: parts[query.name] for query in queries if not query.is_exact}
        if self.split and len(charged) == 1:
            raise ConfigError(
                f"{type(self).__name__}: split has no effect where only {next(iter(charged))!r} costs "
                "anything; leave it out"
            )
        branch_of, sums = {query.name: query.branch for query in queries}, dict[str, float]()
        for name, part in charged.items():
            sums[branch_of[name]] = sums.get(branch_of[name], 0.0) + part
        always, rest = sums.pop("", 0.0), max(sums.values(), default=0.0)
        scales = {"": 1.0, **{branch: rest / total for branch, total in sums.items()}}
        return {name: part * scales[branch_of[name]] / (always + rest) for name, part in charged.items()}

    def _require(self, budget: Budget) -> None:
        if (budget.unit, budget.adjacency) not in self.supports:
            offered = ", ".join(f"{unit} under {adjacency}" for unit, adjacency in sorted(self.supports))
            raise BudgetUnsupported(
                f"{type(self).__name__} protects {offered}; change the budget's unit or adjacency"
            )
        self.require_effect(unit=budget.unit, adjacency=budget.adjacency)
