"""Global effects: a mean for every item, a level for every person (McSherry & Mironov 2009, §4.2–4.3)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.models.base import Model
from hushrec.models.effects import EffectSettings
from hushrec.models.predictors import factor_release
from hushrec.privacy.budget import Budget
from hushrec.privacy.mechanisms import Grant
from hushrec.release.artefact import Release
from hushrec.statistics.effects import EffectSums
from hushrec.statistics.query import Query


class GlobalEffects(Model):
    """Item effects under noise; each person adds his own level at home.

    Prediction: μ_i + b_u, with b_u the posterior mean of the person's level given his ratings.

    Args:
        effects: how the item effects are measured.

    Privacy: unit ``rating`` under both adjacencies; unit ``user`` under add-remove.
    """

    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")})

    effects: EffectSettings = EffectSettings()

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """Sums and counts of ratings by item; for unit ``user`` also the people's overall level."""
        return self.with_shares(self._sums(domain, budget).queries(), budget)

    def own_shares(self, budget: Budget) -> Mapping[str, float]:
        """Mostly sums; as published, 0.02 for the global mean and the rest in halves."""
        if self.analysis == "published":
            return {"global sum": 0.01, "global count": 0.01, "item sums": 0.49, "item counts": 0.49}
        return {"global sum": 0.01, "global count": 0.01, "item sums": 0.83, "item counts": 0.15}

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Measure, shrink, publish.

        Privacy: charged (the events of ``queries``).
        """
        baseline = self.effects.measure(self._sums(ratings.domain, budget), ratings, grant)
        return factor_release(self, ratings.domain, baseline, np.zeros((ratings.domain.n_items, 0)))

    def _sums(self, domain: Domain, budget: Budget) -> EffectSums:
        return self.effects.sums(domain, budget, self.norm, published=self.analysis == "published")
