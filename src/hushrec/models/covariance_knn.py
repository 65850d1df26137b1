"""Nearest neighbours from a private covariance (McSherry & Mironov 2009, §4 and §5, "kNN")."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import ConfigError
from hushrec.models.base import Model
from hushrec.models.phases.covariance import CovarianceSettings
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import neighbour_release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.footprint import Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.query import Query

_LARGEST_DENSE = 10_000


class CovarianceKNN(Model):
    """Noisy item effects and covariance; each user weights their own ratings of similar items.

    Args:
        n_neighbours: k, number of a user's ratings that a prediction uses: those with the largest Wgt.
        rank: rank of the cleaned covariance.
        effects: how the item effects are measured.
        covariance: how the covariance is measured and cleaned.

    Privacy: unit ``rating`` under both adjacencies; unit ``user`` under add-remove.
    """

    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")})

    n_neighbours: int = Field(default=40, ge=1, le=1000)
    rank: int = Field(default=20, ge=1, le=1024)
    effects: EffectSettings = EffectSettings()
    covariance: CovarianceSettings = CovarianceSettings()

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """Item sums and counts, covariance, co-rating weights.

        Raises:
            ConfigError: The catalogue is too large to release its matrices without cleaning.
        """
        if self._dense and domain.n_items > _LARGEST_DENSE:
            raise ConfigError(
                f"without cleaning, a release holds at most {_LARGEST_DENSE:,} items; set a cleaning"
            )
        effects, covariance = self._sums(domain, budget)
        return self.allocate([*effects.queries(), *covariance.queries()], budget)

    def default_split(self, budget: Budget) -> Mapping[str, float]:
        """As in ``CovarianceSettings``."""
        return self.covariance.shares(budget, published=self.published)

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The item effects, then the covariance."""
        effects = effects_footprint(domain, budget, published=self.published)
        rank = 0 if self._dense else self.rank
        return effects.then(self.covariance.footprint(domain, rank, published=self.published))

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Measure item effects (§4.2), centre by user (§4.3), measure covariance (§4.4), clean (§4.6).

        Privacy: charged (the events of ``queries``).
        """
        effects, covariance = self._sums(ratings.domain, budget)
        baseline = self.effects.measure(effects, effects.measure(ratings), grant)
        matrices = self.covariance.measure(covariance, baseline, ratings, grant)
        domain = ratings.domain
        if self._dense:
            average, weights = self.covariance.dense(matrices, domain.n_items)
            return neighbour_release(
                self, domain, baseline, self.n_neighbours, {"covariance": average, "similarity": weights}
            )
        factors = self.covariance.factors(matrices, covariance, baseline.counts, self.rank)
        similarity = self.covariance.similarity(matrices, domain.n_items)
        return neighbour_release(
            self,
            domain,
            baseline,
            self.n_neighbours,
            {"item_factors": factors, "similarity_factors": similarity},
        )

    @property
    def _dense(self) -> bool:
        return self.covariance.way(published=self.published) == "none"

    def _sums(self, domain: Domain, budget: Budget) -> tuple[EffectSums, CovarianceSums]:
        published = self.published
        effects = self.effects.sums(domain, budget, self.norm, published=published)
        return effects, self.covariance.sums(domain, budget, self.norm, published=published)
