"""A data set in which each item is kept or replaced by another one, mostly a near one."""

import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_serializer

from hushrec.data.capping import chosen_slots
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents.fact import Fact
from hushrec.documents.measured import Local
from hushrec.documents.sentences import Assumes, Beside
from hushrec.documents.sentences import Groups as Uncovered
from hushrec.errors import BudgetExceeded, BudgetUnsupported, ConfigError
from hushrec.models.du_leighton_patel.features import ItemFeatures
from hushrec.models.du_leighton_patel.groups import Distance, Groups
from hushrec.models.du_leighton_patel.method import SLOTS, Method
from hushrec.models.du_leighton_patel.substitution import SubstitutionRandomizer, drawn, worst_per_slot
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Substitutions
from hushrec.privacy.accounting.plan import Plan
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement
from hushrec.sums.footprint import LISTED, Footprint
from hushrec.text import above

_PAIRS = 2e9
"""Limit on Σ g_i² over all items' groups. Beyond it D2P's own figure is left out, as it would take minutes;
chosen by hand.
"""


class DistanceBased(Method):
    """AlterEgo profiles after D2P (Guerraoui et al. 2015; Du, Leighton & Patel 2019, §III.C).

    Each rating of a user keeps its item i with ``keep_probability`` (p*, the profiler). Otherwise the item is
    replaced: with ``group_probability`` (p, the selector) by one of its group G_i, the other items within
    ``threshold``, else by any of all m items; also by any if G_i is empty. So, with g_i items in G_i,

        P(j | i) = p* [j = i] + (1 − p*)(p [j ∈ G_i]/g_i + (1 − p)/m),

    and a slot loses ε = max_j ln(max_i P(j | i)/min_i P(j | i)) about which item it holds. The stars stay.

    Privacy: charged (one ``Substitutions``), unit ``user``, adjacency ``replace-items``: which items a
    user's ratings are of is protected; their number and their stars are published.
    """

    glance: ClassVar = {
        "releases": "every rating, possibly with another item",
        "protects": "`user`, replace-items: which items, and nothing else",
        "mechanism": "substitution",
        "paper": "Guerraoui et al. 2015; Du, Leighton & Patel 2019, §III.C",
    }
    supports: ClassVar = frozenset({("user", "replace-items")})
    keep_probability: float = Field(gt=0, lt=1)
    """p*, the probability that an item is kept."""
    group_probability: float = Field(ge=0, lt=1)
    """p, the probability that a replacement comes from the item's group."""
    threshold: float = Field(gt=0, allow_inf_nan=False)
    """λ; items nearer than this are in each other's groups."""
    distance: Distance = "squared"
    """``squared``, ``cosine`` (1 − cos), ``pearson`` (1 − correlation) or ``d2p`` (1/cos − 1)."""
    groups: Literal["ratings"] | ItemFeatures | Release
    """the source of the distances: public features of items (``read`` in ``features.py``); a release of a
    covariance model, which was charged when it was made; or, as published, everybody's ``"ratings"``, for
    which nothing is charged, so the statement does not cover the groups.
    """

    @field_serializer("groups")
    def _named(self, groups: str | ItemFeatures | Release) -> str:
        """Name the source of the groups, so that other groups are another setting."""
        if isinstance(groups, Release):
            return f"release {hashlib.sha256(groups.to_bytes()).hexdigest()}"
        return groups if isinstance(groups, str) else f"features {groups.digest}"

    def plan(self, domain: Domain, budget: Budget | None = None) -> Plan:
        """Plan the settings' cost; a budget, if given, is a limit.

        With public groups the plan has the exact ε of a slot. With groups made from ratings it has the
        largest ε that any groups could have, because the exact one would reveal something about the ratings.
        """
        self.require_items(budget)
        if uncovered := self._uncovered():
            per_slot = worst_per_slot(self.keep_probability, self.group_probability, domain.n_items)
        else:
            per_slot = self._randomizer(self._groups(domain)).per_slot
        cells = min(domain.max_per_user, domain.n_items)
        event = Substitutions.of(SLOTS, per_slot, 1 - drawn(self.keep_probability), cells, domain.n_items)
        cost = event.spent()
        if budget is None:
            epsilon = cost.epsilon_at(0.0)
            budget = Budget(epsilon=epsilon, delta=0.0, unit="user", adjacency="replace-items")
        if cost.units(budget.delta) > largest_cost(budget):
            asked = cost.epsilon_at(budget.delta)
            raise BudgetExceeded(asked, budget.epsilon, budget.unit, started=False)
        return self.planned(domain, budget, event, uncovered=uncovered)

    def require_items(self, budget: Budget | None) -> None:
        """Refuse a budget of anything but the items of a user's ratings.

        Raises:
            BudgetUnsupported: It has another unit or adjacency.
        """
        if budget is not None and (budget.unit, budget.adjacency) not in self.supports:
            raise BudgetUnsupported(
                f"{type(self).__name__} replaces the items of a user's ratings: leave out the budget, or "
                'give it unit "user" and adjacency "replace-items"'
            )

    def footprint(self, plan: Plan, domain: Domain) -> Footprint:
        """Estimate memory and time of replacing ratings, without the groups: their sizes are not known yet.

        Groups are made before the charge.
        """
        return Footprint(4e7 + LISTED * domain.n_users, 120, 200, 0.0, 2.0)

    def randomizer(self, plan: Plan, ratings: People) -> SubstitutionRandomizer:
        """Return the law of the groups, which are made from the ratings if the settings say so."""
        return self.replacements(ratings)

    def replacements(self, ratings: People) -> SubstitutionRandomizer:
        """Return the same law, without a plan. Privacy: public, except for groups made from ratings."""
        if self.groups == "ratings":
            return self._randomizer(Groups.of_ratings(ratings, self.distance, self.threshold))
        return self._randomizer(self._groups(ratings.domain))

    def cap_contributions(self, ratings: People) -> People:
        """Keep at most ``max_per_user`` ratings per user, chosen so that stars reveal nothing about items."""
        users, indptr, items, values = ratings.users, ratings.indptr, ratings.items, ratings.values
        assert values is not None
        mask = chosen_slots(users, indptr, items, values, ratings.domain.max_per_user)
        return ratings if mask is None else ratings.select(mask)

    def local(self, plan: Plan, domain: Domain) -> Local | None:
        """Return a slot's losses. The mean loss and D2P's own figure are given only for public groups."""
        (event,) = plan.noisy
        assert isinstance(event, Substitutions)
        randomizer = None if self._uncovered() else self._randomizer(self._groups(domain))
        is_quick = (
            randomizer is not None and float((np.diff(randomizer.indptr).astype(float) ** 2).sum()) < _PAIRS
        )
        return Local(
            what="slot",
            epsilon=event.per_slot,
            expected=randomizer.expected if randomizer else event.per_slot,
            claimed=randomizer.distance_epsilon if randomizer and is_quick else None,
            count=int(event.sensitivity),
            changed=event.noise,
        )

    def facts(self, plan: Plan, domain: Domain) -> Mapping[str, Any]:
        return self.settings()

    def assumes(self, plan: Plan) -> tuple[Fact, ...]:
        """List assumptions: the source of the groups, and the cost of groups and rows together."""
        lines = (*super().assumes(plan), self._near())
        if isinstance(self.groups, ItemFeatures):
            lines += (Assumes.features(),)
        if self.beside():
            assert isinstance(self.groups, Release)
            lines += (_together(self.groups.statement, plan.epsilon),)
        return lines

    def beside(self) -> Fact | None:
        """Name the release that the groups were made from, if it is private."""
        if not isinstance(self.groups, Release) or not self.groups.statement.private:
            return None
        statement = self.groups.statement
        at = {"epsilon": float(above(statement.epsilon)), "delta": float(above(statement.delta))}
        model, unit, adjacency = self.groups.model, statement.unit, statement.adjacency
        return Beside.release(model=model, **at, unit=unit, adjacency=adjacency)

    def _near(self) -> Fact:
        """Say which items are in each other's groups: the threshold and the distance."""
        if isinstance(self.groups, Release):
            model = self.groups.model
            return Assumes.near_release(threshold=self.threshold, distance=self.distance, model=model)
        near = Assumes.near_ratings if isinstance(self.groups, str) else Assumes.near_features
        return near(threshold=self.threshold, distance=self.distance)

    def groups_in(self, domain: Domain) -> str:
        """Describe the sizes of the groups; empty if the groups are made from ratings."""
        return "" if isinstance(self.groups, str) else self._groups(domain).summary

    def _uncovered(self) -> Fact | None:
        """Say why no ε covers the groups; None if they are public or were charged."""
        if isinstance(self.groups, str):
            return Uncovered.exact()
        protected = isinstance(self.groups, ItemFeatures) or self.groups.statement.private
        return None if protected else Uncovered.release()

    def _groups(self, domain: Domain) -> Groups:
        assert not isinstance(self.groups, str)
        return _make_groups(self.groups, domain, self.distance, self.threshold)

    def _randomizer(self, groups: Groups) -> SubstitutionRandomizer:
        return SubstitutionRandomizer(
            self.keep_probability, self.group_probability, groups.indptr, groups.members
        )


def _together(statement: Statement, epsilon: float) -> Fact:
    """Add the costs of the rows and of the release that grouped their items."""
    if statement.unit == "record":
        return Assumes.groups_of_ratings()
    # Replacing a row is removing one and adding another: two steps of an add-remove guarantee. Group privacy
    # of two steps gives 2ε and (1 + e^ε)δ. The cap at 700 keeps e^ε a float; δ is cut to 1 below.
    twice = statement.adjacency == "add-remove"
    delta = statement.delta * (1 + math.exp(min(statement.epsilon, 700.0))) if twice else statement.delta
    total = epsilon + statement.epsilon * (2 if twice else 1)
    figures = {"epsilon": float(above(total)), "delta": float(above(min(delta, 1.0), 3))}
    return Assumes.groups_together(**figures)


@lru_cache(maxsize=4)
def _make_groups(
    source: ItemFeatures | Release, domain: Domain, distance: Distance, threshold: float
) -> Groups:
    if isinstance(source, Release):
        if source.items != domain.items:
            raise ConfigError(
                "groups: the release has another catalogue than the domain; make it with this domain"
            )
        return Groups.of_release(source, distance, threshold)
    return Groups.of_features(source, domain, distance, threshold)
