"""Item factors from a private covariance (McSherry & Mironov 2009, §4 and §5, "SVD")."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.models.phases.covariance import CovarianceSettings, measured
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import factor_release
from hushrec.models.private import Noise, PrivateModel
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.query import AnyQuery
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.footprint import Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.population import Population


class CovarianceSVD(PrivateModel):
    """Noisy item effects and covariance; each user regresses their own ratings on the item factors.

    Cov = Σ_u w_u z_u z_uᵀ + noise and Wgt = Σ_u w_u e_u e_uᵀ + noise, with z_u the user's centred, clamped
    ratings and e_u what they rated. Item factors Q of rank k: the best fit Q Qᵀ ≈ Cov/Wgt under Wgt and the
    noise. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩, with b_u and p_u regressed on the device.

    Privacy: unit ``rating`` under both adjacencies; unit ``user`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, and an item × item covariance",
        "predicts by": "regression of the user's own ratings on item factors",
        "noise": "Gaussian or Laplace",
        "lists users": "no",
        "paper": "McSherry & Mironov 2009, §4–5",
    }
    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")})
    informed: ClassVar = True

    rank: int = Field(default=20, ge=1, le=1024)
    """k, number of factors."""
    noise: Noise = "gaussian"
    """``gaussian`` (needs δ > 0) or ``laplace``."""
    effects: EffectSettings = EffectSettings()
    """how the item effects are measured."""
    covariance: CovarianceSettings = CovarianceSettings()
    """how the covariance is measured and cleaned."""

    @property
    def noise_distribution(self) -> Noise:
        return self.noise

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """Item sums and counts, covariance, co-rating weights."""
        effects, covariance = self._sums(domain, terms)
        return [*effects.queries(), *covariance.queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        return self.covariance.shares(domain, budget, self.norm)

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Which part of a large catalogue the covariance is of."""
        return self.covariance.prospects(domain, budget, self.norm)

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The item effects, then the covariance."""
        return effects_footprint(domain, budget).then(
            self.covariance.footprint(domain, budget, self.norm, self.rank)
        )

    def release(self, feedback: Ratings | Blocks, run: Run) -> Release:
        """Measure item effects (§4.2), centre by user (§4.3), measure covariance (§4.4), clean (§4.6).

        Privacy: charged (the events of ``queries``).
        """
        domain, people = feedback.domain, Population(feedback)
        effects, covariance = self._sums(domain, run.terms)
        baseline = self.effects.measure(effects, people, run)
        factors = self.covariance.factors(
            measured(covariance, baseline, people, run),
            covariance,
            baseline.counts,
            self.rank,
            run.prior.factors if run.prior.factors.size else None,
        )
        return factor_release(self, domain, baseline, factors)

    def _sums(self, domain: Domain, terms: Terms) -> tuple[EffectSums, CovarianceSums]:
        effects = self.effects.sums(domain, terms, self.norm)
        return effects, self.covariance.sums(domain, terms, self.norm)
