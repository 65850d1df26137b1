"""Global effects: a mean for every item, a level for every user (McSherry & Mironov 2009, §4.2–4.3)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.models.base import Model, Noise
from hushrec.models.phases.biases import AverageSettings, average_shares, averages_footprint
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import factor_release, people_release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.statistics.footprint import Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.query import Query


class GlobalEffects(Model):
    """Noisy item effects; each user adds their own level on their device, or takes it from the release.

    Prediction: μ_i + b_u, where b_u is the posterior mean of the user's level given their ratings.

    Args:
        levels: ``home``, or ``released`` for a level of every user on the roster, which costs a part of the
            budget (Friedman, Berkovsky & Kaafar 2016, §4.1, "private global effects").
        effects: how the item effects are measured (``home``).
        averages: how item effects and levels are measured (``released``).

    Privacy: unit ``rating`` under both adjacencies; unit ``user`` under add-remove, with levels at home.
    """

    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")})

    levels: Literal["home", "released"] = "home"
    effects: EffectSettings = EffectSettings()
    averages: AverageSettings = AverageSettings()

    @property
    def law(self) -> Noise:
        """Laplace by default if levels are released: it is smaller for two small sums per rating."""
        return self.noise or ("laplace" if self.levels == "released" else "gaussian")

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """Sums and counts by item; then by user, or for unit ``user`` the overall level of all users."""
        if self.levels == "home":
            return self.with_shares(self._sums(domain, budget).queries(), budget)
        if budget.unit == "user":
            raise BudgetUnsupported('unit user does not support released levels; set levels="home"')
        averages = self.averages.queries(domain, budget, self.norm, published=self.published)
        return self.with_shares(averages, budget)

    def own_shares(self, budget: Budget) -> Mapping[str, float]:
        """Mostly sums; as published, 0.02 for the global mean and the rest in halves.

        With released levels: as published 0.02, 0.54 and 0.44; else users get more than items.
        """
        if self.levels == "released":
            items, users = (0.54, 0.44) if self.published else (0.3, 0.7)
            return average_shares(budget, published=self.published, items=items, users=users)
        if self.published:
            return {"global sum": 0.01, "global count": 0.01, "item sums": 0.49, "item counts": 0.49}
        return {"global sum": 0.01, "global count": 0.01, "item sums": 0.83, "item counts": 0.15}

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The averages."""
        of = averages_footprint if self.levels == "released" else effects_footprint
        return of(domain, budget, published=self.published)

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Measure, shrink, publish.

        Privacy: charged (the events of ``queries``).
        """
        domain = ratings.domain
        if self.levels == "released":
            averages = self.averages.measure(ratings, budget, self.norm, grant, published=self.published)
            none = np.zeros((domain.n_users, 0)), np.zeros((domain.n_items, 0))
            return people_release(self, domain, averages, *none)
        sums = self._sums(domain, budget)
        baseline = self.effects.measure(sums, sums.measure(ratings), grant)
        return factor_release(self, domain, baseline, np.zeros((domain.n_items, 0)))

    def _sums(self, domain: Domain, budget: Budget) -> EffectSums:
        return self.effects.sums(domain, budget, self.norm, published=self.published)
