"""A data set in which randomized response answers every cell of every row."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents.measured import Local
from hushrec.errors import BudgetError, BudgetUnsupported, ConfigError
from hushrec.models.du_leighton_patel.method import CELLS, Method
from hushrec.models.du_leighton_patel.response import ResponseRandomizer
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import responses
from hushrec.privacy.accounting.measurement import Responses
from hushrec.privacy.accounting.plan import Plan
from hushrec.sums.footprint import Footprint


class RandomizedResponse(Method):
    """k-ary randomized response on every cell of a user's row (Du, Leighton & Patel 2019, §III.B).

    A cell holds one of k symbols, "not rated" or a rating of the scale, and is answered

        truly with probability e^ε_k/(e^ε_k + k − 1), else by one of the others, each equally likely,

    which loses exactly ε_k. Two rows of at most ``max_per_user`` ratings of m items differ in at most
    d = min(m, 2 · max_per_user) cells, so ε_k = ε/d; at δ > 0 it is larger, by the composition of d losses.

    With ``sample`` = s, each user answers only s cells, drawn without looking, and the others are reported as
    not rated. All s may be among those that differ, so ε_k = ε/min(s, d).

    Privacy: charged (one ``Responses``), unit ``user``, adjacency ``replace``: who took part is public,
    and so is the number of rows; what they rated is protected.
    """

    glance: ClassVar = {
        "releases": "every cell of every row, kept or flipped",
        "protects": "`user`, replace",
        "mechanism": "randomized response",
        "paper": "Du, Leighton & Patel 2019, §III.B; Warner 1965",
    }
    supports: ClassVar = frozenset({("user", "replace")})
    sample: int | None = Field(default=None, ge=1)
    """how many cells of each row are answered; None for all of them."""

    def plan(self, domain: Domain, budget: Budget | None = None) -> Plan:
        """Plan the probability of a true answer that the budget buys."""
        if budget is None:
            raise BudgetError(
                'RandomizedResponse needs a budget: Budget(epsilon=…, delta=0, unit="user", '
                'adjacency="replace"), or --epsilon, --delta 0, --unit user and --adjacency replace'
            )
        return self.planned(domain, budget, responses(CELLS, budget, **self.answered(domain, budget)))

    def answered(self, domain: Domain, budget: Budget) -> dict[str, int]:
        """Count the symbols of a cell, the cells of a row that are answered, and those that may differ.

        Raises:
            BudgetUnsupported: The budget has another unit or adjacency.
            ConfigError: More cells are to be answered than there are items.
        """
        if (budget.unit, budget.adjacency) not in self.supports:
            raise BudgetUnsupported(
                "RandomizedResponse protects user under replace: every user sends a row, so who takes part "
                "is known; change the budget's unit or adjacency"
            )
        answered = self.sample or domain.n_items
        if answered > domain.n_items:
            raise ConfigError(
                f"sample = {answered:,} cells is more than the {domain.n_items:,} items; lower it"
            )
        return {
            "symbols": domain.scale.n_values + 1,
            "cells": min(answered, 2 * domain.max_per_user),
            "size": answered,
        }

    def footprint(self, plan: Plan, domain: Domain) -> Footprint:
        """Estimate the cells that are reported as rated, of all users on the roster or in the ratings."""
        event = _event(plan)
        invented = event.size * event.noise  # an upper bound: some false answers are "not rated"
        people, each = domain.n_users, 20 * invented + 400
        seconds = 4e-8 * event.size
        return Footprint(1e7 + people * each, 40, 0 if people else each, people * seconds, 2.0)

    def randomizer(self, plan: Plan, ratings: People) -> ResponseRandomizer:
        """Return the planned law."""
        event = _event(plan)
        return ResponseRandomizer(event.symbols, event.exponent, self.sample)

    def cap_contributions(self, ratings: People) -> People:
        """Keep at most ``max_per_user`` ratings per user, chosen by the user's own id and items alone."""
        return ratings.capped(ratings.domain.max_per_user)

    def local(self, plan: Plan, domain: Domain) -> Local:
        event = _event(plan)
        differing = min(domain.n_items, 2 * domain.max_per_user)
        return Local(
            what="cell",
            epsilon=fixed_point.written_above(event.loss),
            expected=event.expected,
            claimed=None,
            count=int(event.sensitivity),
            changed=event.noise,
            drawn=event.size * differing / (domain.n_items * int(event.sensitivity)),
        )

    def facts(self, plan: Plan, domain: Domain) -> Mapping[str, Any]:
        """Return symbols, exponent, answered cells and row width: all that unbiased estimates need."""
        return self.event_facts(_event(plan), domain)

    def event_facts(self, event: Responses, domain: Domain) -> dict[str, Any]:
        """Return the same facts of an event."""
        return {
            **self.settings(),
            "symbols": event.symbols,
            "exponent": event.exponent,
            "answered": self.sample,
            "cells": domain.n_items,
        }


def _event(plan: Plan) -> Responses:
    (event,) = plan.noisy
    assert isinstance(event, Responses)
    return event
