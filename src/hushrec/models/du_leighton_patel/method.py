"""The base of all methods that release data: settings, a plan from public facts, a law for rows."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from hushrec.arrays import Bytes, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents.fact import Fact
from hushrec.documents.measured import Local
from hushrec.documents.sentences import Assumes
from hushrec.errors import GrantError
from hushrec.models.du_leighton_patel.response import ResponseRandomizer
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.models.du_leighton_patel.substitution import SubstitutionRandomizer
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import RowMeasurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.settings import Settings
from hushrec.sums.footprint import Footprint

Law = ResponseRandomizer | SubstitutionRandomizer
"""What randomizes each row on its own."""
CELLS, SLOTS = "cells", "slots"
"""Names of a data set's one measurement: all users' rows, or profiles."""


class Method(Settings):
    """Base class of methods that randomize each user's row alone, before anyone else sees it.

    Privacy: public.
    """

    glance: ClassVar[Mapping[str, str]] = {}
    """Facts for the tables of all methods: what it releases, what it protects, and so on."""
    supports: ClassVar[frozenset[tuple[str, str]]] = frozenset()
    """The pairs of unit and adjacency that it protects."""

    @abstractmethod
    def plan(self, domain: Domain, budget: Budget | None = None) -> Plan:
        """Plan a data set and its cost from public facts alone.

        Raises:
            BudgetUnsupported: The method does not support this unit or adjacency.
            BudgetError: The budget is missing, or this method cannot use it.
        """

    def planned(
        self,
        domain: Domain,
        budget: Budget,
        event: RowMeasurement,
        *,
        uncovered: Fact | None = None,
    ) -> Plan:
        """Return a plan of one measurement.

        Args:
            domain: the public domain.
            budget: what may be spent.
            event: how each user's row is randomized.
            uncovered: what the measurement does not cover.
        """
        plan = Plan(
            model=type(self).__name__,
            settings=self.settings(),
            domain_digest=domain.digest,
            max_users=domain.max_users,
            budget=budget,
            measurements=(event,),
            uncovered=uncovered,
        )
        return replace(plan, needs=self.footprint(plan, domain).in_words(domain.crowd))

    @abstractmethod
    def footprint(self, plan: Plan, domain: Domain) -> Footprint:
        """Estimate memory and time of randomizing, from public facts alone."""

    @abstractmethod
    def randomizer(self, plan: Plan, ratings: People) -> Law:
        """Return the law of a row.

        Args:
            plan: what is charged.
            ratings: the ratings that count; read only if the method groups items by them.

        Privacy: public, except for groups made from ratings.
        """

    @abstractmethod
    def cap_contributions(self, ratings: People) -> People:
        """Keep at most ``max_per_user`` ratings of each user; neighbouring data stay neighbours.

        Privacy: private.
        """

    @abstractmethod
    def local(self, plan: Plan, domain: Domain) -> Local | None:
        """Return the loss of one cell or slot of a row, for the statement; None if no ε is known."""

    @abstractmethod
    def facts(self, plan: Plan, domain: Domain) -> Mapping[str, Any]:
        """Return the facts of the law that a reader of the data set needs, as JSON values."""

    def assumes(self, plan: Plan) -> tuple[Fact, ...]:
        """List the guarantee's assumptions beyond those of every statement."""
        return (Assumes.rows(),)

    def groups_in(self, domain: Domain) -> str:
        """Describe the sizes of the groups of items, if they are public."""
        return ""

    def beside(self) -> Fact | None:
        """Name another release that this one reveals, which has its own ε."""
        return None


def randomize_rows(grant: Grant, rows: Rows, law: Law) -> tuple[Ints, Ints32, Bytes]:
    """Randomize every row independently by the booked law, once.

    Args:
        rows: named like a measurement of the charged plan, in random order (``Grant.order``).
        law: its loss is at most the booked one.

    Returns:
        indptr, columns and marks of what is reported.

    Raises:
        GrantError: Nothing is booked under that name, it was already made, the law loses more than was
            booked, a row has more cells, or the rows have another width.

    Privacy: charged (the measurement booked under ``rows.name``).
    """
    booked = next((one for one in grant.plan.noisy if one.name == rows.name), None)
    if booked is None:
        raise GrantError(f"{rows.name}: not booked; charge a plan that lists it")
    law.require_booked(rows, booked)
    parts = "indptr", "columns", "marks"
    drawn = grant.sample(
        booked, lambda key: dict(zip(parts, law.draw(rows, key), strict=True)), law.entries(rows)
    )
    return drawn["indptr"], drawn["columns"], drawn["marks"]
