"""Global effects: a mean for every item, a bias for every user (McSherry & Mironov 2009, §4.2–4.3)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.models.base import Model, Noise
from hushrec.models.phases.biases import BiasSettings, average_shares, biases_footprint
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import factor_release, people_release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.statistics.footprint import Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.query import Query


class GlobalEffects(Model):
    """Noisy item effects; each user adds their own bias on their device, or takes it from the release.

    Prediction: μ_i + b_u, where b_u is the posterior mean of the user's bias given their ratings.

    Args:
        user_biases: ``client``, or ``released`` for a bias of every user on the roster, which costs a part of
            the budget (Friedman, Berkovsky & Kaafar 2016, §4.1, "private global effects").
        effects: how the item effects are measured (``client``).
        biases: how item effects and user biases are measured (``released``).

    Privacy: unit ``rating`` under both adjacencies; unit ``user`` under add-remove, with user biases
    on the device.
    """

    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")})

    user_biases: Literal["client", "released"] = "client"
    effects: EffectSettings = EffectSettings()
    biases: BiasSettings = BiasSettings()

    @property
    def noise_distribution(self) -> Noise:
        """Laplace by default if user biases are released: it is smaller for two small sums per rating."""
        return self.noise or ("laplace" if self.user_biases == "released" else "gaussian")

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """Sums and counts by item; then by user, or for unit ``user`` the overall level of all users."""
        if self.user_biases == "client":
            return self.allocate(self._sums(domain, budget).queries(), budget)
        if budget.unit == "user":
            raise BudgetUnsupported('unit user does not support released biases; set user_biases="client"')
        biases = self.biases.queries(domain, budget, self.norm, published=self.published)
        return self.allocate(biases, budget)

    def default_split(self, budget: Budget) -> Mapping[str, float]:
        """Mostly sums; as published, 0.02 for the global mean and the rest in halves.

        With released biases: as published 0.02, 0.54 and 0.44; else users get more than items.
        """
        if self.user_biases == "released":
            items, users = (0.54, 0.44) if self.published else (0.3, 0.7)
            return average_shares(budget, published=self.published, items=items, users=users)
        if self.published:
            return {"global sum": 0.01, "global count": 0.01, "item sums": 0.49, "item counts": 0.49}
        return {"global sum": 0.01, "global count": 0.01, "item sums": 0.83, "item counts": 0.15}

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """That of the item effects, or of all biases."""
        of = biases_footprint if self.user_biases == "released" else effects_footprint
        return of(domain, budget, published=self.published)

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Measure, shrink, publish.

        Privacy: charged (the events of ``queries``).
        """
        domain = ratings.domain
        if self.user_biases == "released":
            biases = self.biases.measure(ratings, budget, self.norm, grant, published=self.published)
            none = np.zeros((domain.n_users, 0)), np.zeros((domain.n_items, 0))
            return people_release(self, domain, biases, *none)
        sums = self._sums(domain, budget)
        baseline = self.effects.measure(sums, sums.measure(ratings), grant)
        return factor_release(self, domain, baseline, np.zeros((domain.n_items, 0)))

    def _sums(self, domain: Domain, budget: Budget) -> EffectSums:
        return self.effects.sums(domain, budget, self.norm, published=self.published)
