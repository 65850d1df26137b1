"""Matrix factorisation without privacy: what the private models are measured against."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.models.averages import Averages
from hushrec.models.base import Model
from hushrec.models.factorizers import Sparse, gradient_descent, least_squares
from hushrec.models.predictors import people_release
from hushrec.privacy.budget import Budget
from hushrec.privacy.mechanisms import Grant
from hushrec.privacy.plan import Plan
from hushrec.release.artefact import Release
from hushrec.statistics.query import Query


class MatrixFactorization(Model):
    """Factors and effects of exact ratings, by alternating least squares or by gradient descent.

    Koren, Bell & Volinsky 2009; for ALS, weighted-λ-regularisation after Zhou et al. 2008 with any power of
    the counts. Friedman, Berkovsky & Kaafar's "clean MF" is ``effects=False, power=1``.

    Args:
        rank: number of factors.
        solver: ``als`` or ``sgd``.
        epochs: how often the solver goes over the ratings.
        reg: λ.
        power: γ; a person or item with n ratings is penalised by λ n^γ.
        effects: whether people and items have effects beside their factors.
        learning_rate: of the first epoch of ``sgd``; it falls by ``decay`` from one to the next.
        decay: see there.

    Privacy: private. It takes no budget, adds no noise, and its statement says so.
    """

    supports: ClassVar = frozenset()

    rank: int = Field(default=16, ge=1, le=120)
    solver: Literal["als", "sgd"] = "als"
    epochs: int = Field(default=20, ge=1, le=1000)
    reg: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    power: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    effects: bool = True
    learning_rate: float = Field(default=0.02, gt=0, le=1, allow_inf_nan=False)
    decay: float = Field(default=0.93, gt=0, le=1, allow_inf_nan=False)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """There is none.

        Raises:
            BudgetUnsupported: Always.
        """
        raise BudgetUnsupported(
            "MatrixFactorization adds no noise, so it takes no budget; with one, take InputPerturbationMF, "
            "PrivateSGD or PrivateALS"
        )

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """None: everything is exact."""
        return []

    def own_shares(self, budget: Budget) -> Mapping[str, float]:
        """None."""
        return {}

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """The mean, then factors and effects of what is left.

        Privacy: private.
        """
        domain = ratings.domain
        listed = domain.users is not None
        indptr = ratings.roster_indptr() if listed else ratings.indptr
        values = ratings.values()
        level = float(values.mean()) if len(values) else domain.scale.mid
        unit = domain.scale.span / 4  # the settings are for one to five stars
        known = Sparse(indptr, ratings.items, ((values - level) / unit).astype(np.float32), domain.n_items)
        if self.solver == "als":
            scale = 1.0 if self.effects else 0.0
            found = least_squares(
                known,
                self.rank,
                self.epochs,
                reg=self.reg,
                power=self.power,
                row_scale=scale,
                column_scale=scale,
            )
        else:
            found = gradient_descent(
                known,
                self.rank,
                self.epochs,
                rate=self.learning_rate,
                reg=self.reg,
                power=self.power,
                effects=self.effects,
                decay=self.decay,
            )
        found = found.times(unit)
        counts = np.bincount(ratings.items, minlength=domain.n_items).astype(np.float64)
        averages = Averages(
            level + found.column_effects,
            np.zeros(domain.n_items),
            counts,
            found.row_effects,
            np.zeros(len(found.rows)),
            known.counts.astype(np.float64),
        )
        users = () if listed else tuple(ratings.users.to_list())
        return people_release(self, domain, averages, found.rows, found.columns, users)
