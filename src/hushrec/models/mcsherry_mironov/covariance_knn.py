"""Nearest neighbours from a private covariance (McSherry & Mironov 2009, §4 and §5, "kNN")."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.item_prior import ItemPrior
from hushrec.models.effects import ItemEffects
from hushrec.models.mcsherry_mironov.covariance_model import (
    CovarianceModel,
    Matrices,
    dense,
    require_dense,
    similarity,
)
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.models.outputs import neighbour_release
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.release.artefact import Release
from hushrec.settings import only


class CovarianceKNN(CovarianceModel):
    """Noisy item effects and covariance; each user weights their own ratings of similar items.

    Cov = Σ_u w_u z_u z_uᵀ + noise and Wgt = Σ_u w_u e_u e_uᵀ + noise, as in ``CovarianceSVD``, are cleaned to
    C = Q Qᵀ. The device takes the user's k ratings z of the items N with the largest Wgt_ij and predicts
    r̂_ui = μ_i + b_u + C_iN (C_NN + diag σ²)⁻¹ (z − b_u).

    Privacy: unit ``record`` under both adjacencies; unit ``user`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, and an item × item covariance",
        "predicts by": "the user's own ratings of the nearest items",
        "noise": "Gaussian or Laplace",
        "lists users": "no",
        "paper": "McSherry & Mironov 2009, §4–5, after Bell & Koren 2007",
        "page": "covariance_svd",
    }
    n_neighbours: int = Field(default=40, ge=1, le=1000)
    """k, number of a user's ratings that a prediction uses: those with the largest Wgt."""
    rank: Annotated[int, only(covariance__cleaning=("weighted", "shrink"))] = Field(default=20, ge=1, le=1024)
    """rank of the cleaned covariance."""

    @property
    def n_factors(self) -> int:
        return 0 if self.covariance.cleaning == "none" else self.rank

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List item sums and counts, covariance, co-rating weights.

        Raises:
            ConfigError: The catalogue is too large to release its matrices without cleaning.
        """
        if not self.n_factors:
            require_dense(domain)
        return super().queries(domain, terms)

    def _make_release(
        self, baseline: ItemEffects, matrices: list[Matrices], sums: CovarianceSums, prior: ItemPrior
    ) -> Release:
        domain = sums.domain
        if not self.n_factors:
            return neighbour_release(self, domain, baseline, self.n_neighbours, dense(matrices.pop()))
        alike = similarity(matrices[0])
        factors = self.covariance.factors(matrices.pop(), sums, baseline.counts, self.rank, prior)
        cleaned = {"item_factors": factors, "similarity_factors": alike}
        return neighbour_release(self, domain, baseline, self.n_neighbours, cleaned)
