"""What every way to release a data set has in common: settings, a plan from public facts, a law for rows."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.local_events import Responses, Substitutions
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.local.response import ResponseLaw
from hushrec.privacy.local.substitution import SubstitutionLaw
from hushrec.release.statement_lines import Local
from hushrec.settings import Settings
from hushrec.statistics.footprint import Footprint

CELLS, SLOTS = "cells", "slots"
"""Names of the one measurement of a data set: every person's row, or profile."""


class Method(Settings):
    """How every person's row is randomized, by itself, before anybody else sees it.

    Privacy: public.
    """

    @abstractmethod
    def plan(self, domain: Domain, budget: Budget | None = None) -> Plan:
        """What a release of a data set costs, from public facts alone.

        Raises:
            BudgetUnsupported: The method states no guarantee in this unit or adjacency.
            BudgetError: A budget is missing, or none that this method takes.

        Privacy: public.
        """

    def planned(
        self,
        domain: Domain,
        budget: Budget,
        event: Responses | Substitutions,
        *,
        claimed: float | None = None,
        uncovered: str = "",
    ) -> Plan:
        """A plan of one event.

        Args:
            domain: the public frame.
            budget: what may be spent.
            event: what every person's row is randomized by.
            claimed: the paper's ε, of a published analysis.
            uncovered: what the event does not cover.

        Privacy: public.
        """
        plan = Plan(
            model=type(self).__name__,
            config=self.settings(),
            domain_digest=domain.digest,
            max_users=domain.max_users,
            budget=budget,
            analysis="corrected" if claimed is None else "published",
            measurements=(Measurement(event, 1.0),),
            claimed_epsilon=claimed,
            uncovered=uncovered,
        )
        return replace(plan, needs=str(self.footprint(plan, domain)))

    @abstractmethod
    def footprint(self, plan: Plan, domain: Domain) -> Footprint:
        """Memory and time that randomizing takes, from public facts alone. Privacy: public."""

    @abstractmethod
    def law(self, plan: Plan, ratings: Ratings) -> ResponseLaw | SubstitutionLaw:
        """The law of a row.

        Args:
            plan: what is charged.
            ratings: those that count, read only where the method makes groups of items from them.

        Privacy: public, but for groups made from ratings.
        """

    @abstractmethod
    def kept(self, ratings: Ratings) -> Ratings:
        """The ratings that count: at most the domain's cap of each person, and neighbours stay neighbours.

        Privacy: private.
        """

    @abstractmethod
    def local(self, plan: Plan, domain: Domain) -> Local:
        """What one cell or slot of a row loses, for the statement. Privacy: public."""

    @abstractmethod
    def facts(self, plan: Plan, domain: Domain) -> Mapping[str, Any]:
        """What a reader of the data set needs to know of its law, as JSON values. Privacy: public."""

    def assumes(self, plan: Plan) -> tuple[str, ...]:
        """What its guarantee rests on beside what every statement says. Privacy: public."""
        return ("every row is randomized by itself, with randomness that nobody else knows",)

    def groups_in(self, domain: Domain) -> str:
        """How large the groups of items are, where there are public ones. Privacy: public."""
        return ""

    def beside(self) -> str:
        """Another release that can be told from this one, and has an ε of its own. Privacy: public."""
        return ""
