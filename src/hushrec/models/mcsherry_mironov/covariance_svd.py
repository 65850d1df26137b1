"""Item factors from a private covariance (McSherry & Mironov 2009, §4 and §5, "SVD")."""

from typing import ClassVar

from pydantic import Field

from hushrec.item_prior import ItemPrior
from hushrec.models.effects import ItemEffects
from hushrec.models.mcsherry_mironov.covariance_model import CovarianceModel, Matrices
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.models.outputs import factor_release
from hushrec.release.artefact import Release


class CovarianceSVD(CovarianceModel):
    """Noisy item effects and covariance; each user regresses their own ratings on the item factors.

    Cov = Σ_u w_u z_u z_uᵀ + noise and Wgt = Σ_u w_u e_u e_uᵀ + noise, with z_u the user's centred, clamped
    ratings and e_u what they rated. Item factors Q of rank k: the best fit Q Qᵀ ≈ Cov/Wgt under Wgt and the
    noise. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩, with b_u and p_u regressed on the device.

    Privacy: unit ``record`` under both adjacencies; unit ``user`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, and an item × item covariance",
        "predicts by": "regression of the user's own ratings on item factors",
        "noise": "Gaussian or Laplace",
        "lists users": "no",
        "paper": "McSherry & Mironov 2009, §4–5",
    }

    rank: int = Field(default=40, ge=1, le=1024)
    """k, number of factors."""

    def _make_release(
        self, baseline: ItemEffects, matrices: list[Matrices], sums: CovarianceSums, prior: ItemPrior
    ) -> Release:
        factors = self.covariance.factors(matrices.pop(), sums, baseline.counts, self.rank, prior)
        return factor_release(self, sums.domain, baseline, factors)
