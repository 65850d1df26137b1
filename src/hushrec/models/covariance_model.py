"""The base of models that measure item effects, then a covariance of what these leave."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.models.phases.covariance import CovarianceSettings
from hushrec.models.phases.item_effects import EffectSettings, ItemEffects, effects_footprint
from hushrec.models.private import Noise, PrivateModel
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.query import AnyQuery
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.footprint import Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.population import Population


class CovarianceModel(PrivateModel):
    """Noisy item effects, and Cov = Σ_u w_u z_u z_uᵀ + noise and Wgt = Σ_u w_u e_u e_uᵀ + noise.

    Privacy: unit ``record`` under both adjacencies; unit ``user`` under add-remove.
    """

    supports: ClassVar = frozenset({("record", "add-remove"), ("record", "replace"), ("user", "add-remove")})
    informed: ClassVar = True

    rank: int
    noise: Noise = "gaussian"
    """``gaussian`` (needs δ > 0) or ``laplace``."""
    effects: EffectSettings = EffectSettings()
    """how the item effects are measured."""
    covariance: CovarianceSettings = CovarianceSettings()
    """how the covariance is measured and cleaned."""

    @abstractmethod
    def _finished(self, baseline: ItemEffects, people: Population, run: Run) -> Release:
        """Measure the covariance and make the release. Privacy: charged (the events of the covariance)."""

    @property
    def noise_distribution(self) -> Noise:
        return self.noise

    @property
    def n_factors(self) -> int:
        """Number of factors that are made of the covariance."""
        return self.rank

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """List item sums and counts, covariance, co-rating weights."""
        return [*self._effects(domain, terms).queries(), *self._sums(domain, terms).queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        return self.covariance.budget_split(domain, budget, self.norm)

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Say how much of a large catalogue the covariance covers."""
        return self.covariance.prospects(domain, budget, self.norm)

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        covariance = self.covariance.footprint(domain, budget, self.norm, self.n_factors)
        return effects_footprint(domain, budget).then(covariance)

    def fit(self, feedback: People, run: Run) -> Release:
        """Measure item effects (§4.2), then the covariance of the residuals.

        Privacy: charged (the events of ``queries``).
        """
        people = Population(feedback)
        baseline = self.effects.measure(self._effects(feedback.domain, run.terms), people, run)
        return self._finished(baseline, people, run)

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return self.effects.sums(domain, terms, self.norm)

    def _sums(self, domain: Domain, terms: Terms) -> CovarianceSums:
        return self.covariance.sums(domain, terms, self.norm)
