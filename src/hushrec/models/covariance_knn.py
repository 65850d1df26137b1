"""Nearest neighbours from a private covariance (McSherry & Mironov 2009, §4 and §5, "kNN")."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.models.phases.covariance import (
    CovarianceSettings,
    dense,
    measured,
    require_dense,
    similarity,
)
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import neighbour_release
from hushrec.models.private import Noise, PrivateModel
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.query import AnyQuery
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.settings import only
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.footprint import Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.population import Population


class CovarianceKNN(PrivateModel):
    """Noisy item effects and covariance; each user weights their own ratings of similar items.

    Cov = Σ_u w_u z_u z_uᵀ + noise and Wgt = Σ_u w_u e_u e_uᵀ + noise, as in ``CovarianceSVD``, are cleaned to
    C = Q Qᵀ. The device takes the user's k ratings z of the items N with the largest Wgt_ij and predicts
    r̂_ui = μ_i + b_u + C_iN (C_NN + diag σ²)⁻¹ (z − b_u).

    Privacy: unit ``rating`` under both adjacencies; unit ``user`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, and an item × item covariance",
        "predicts by": "the user's own ratings of the nearest items",
        "noise": "Gaussian or Laplace",
        "lists users": "no",
        "paper": "McSherry & Mironov 2009, §4–5, after Bell & Koren 2007",
    }
    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")})
    informed: ClassVar = True

    n_neighbours: int = Field(default=40, ge=1, le=1000)
    """k, number of a user's ratings that a prediction uses: those with the largest Wgt."""
    rank: Annotated[int, only(covariance__cleaning=("weighted", "shrink"))] = Field(default=20, ge=1, le=1024)
    """rank of the cleaned covariance."""
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
        """Item sums and counts, covariance, co-rating weights.

        Raises:
            ConfigError: The catalogue is too large to release its matrices without cleaning.
        """
        if self._dense:
            require_dense(domain)
        effects, covariance = self._sums(domain, terms)
        return [*effects.queries(), *covariance.queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        return self.covariance.shares(domain, budget, self.norm)

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Which part of a large catalogue the covariance is of."""
        return self.covariance.prospects(domain, budget, self.norm)

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The item effects, then the covariance."""
        rank = 0 if self._dense else self.rank
        return effects_footprint(domain, budget).then(
            self.covariance.footprint(domain, budget, self.norm, rank)
        )

    def release(self, feedback: Ratings | Blocks, run: Run) -> Release:
        """Measure item effects (§4.2), centre by user (§4.3), measure covariance (§4.4), clean (§4.6).

        Privacy: charged (the events of ``queries``).
        """
        domain, people = feedback.domain, Population(feedback)
        effects, covariance = self._sums(domain, run.terms)
        baseline = self.effects.measure(effects, people, run)
        matrices = [measured(covariance, baseline, people, run)]
        if self._dense:
            return neighbour_release(self, domain, baseline, self.n_neighbours, dense(matrices.pop()))
        alike = similarity(matrices[0])
        known = run.prior.factors if run.prior.factors.size else None
        factors = self.covariance.factors(matrices.pop(), covariance, baseline.counts, self.rank, known)
        cleaned = {"item_factors": factors, "similarity_factors": alike}
        return neighbour_release(self, domain, baseline, self.n_neighbours, cleaned)

    @property
    def _dense(self) -> bool:
        return self.covariance.cleaning == "none"

    def _sums(self, domain: Domain, terms: Terms) -> tuple[EffectSums, CovarianceSums]:
        effects = self.effects.sums(domain, terms, self.norm)
        return effects, self.covariance.sums(domain, terms, self.norm)
