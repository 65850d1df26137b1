"""Matrix factorisation without privacy: the baseline of the private models."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from hushrec.arrays import Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.estimation.shrinkage import known_popularity
from hushrec.models.base import Noiseless
from hushrec.models.biases import Biases, require_rank
from hushrec.models.effects import ItemEffects
from hushrec.models.factorization.descent import (
    DescentData,
    Factored,
    Schedule,
    epoch_values,
    gradient_descent,
    survey,
)
from hushrec.models.factorization.factorizers import Factors, Sparse, least_squares
from hushrec.models.factorization.kernels.visits import LARGEST_RANK
from hushrec.models.outputs import factor_release, people_release, second_moment_root
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.settings import only

_ALS_RANK = 120  # chosen by hand: the kernel takes 128, of which an effect takes one
_ROWS = 1 << 16  # users processed at once: bounds the memory
_SGD = only(solver="sgd")


class MatrixFactorization(Noiseless):
    """Factors and effects of exact ratings, by alternating least squares or by gradient descent.

    min Σ (r_ui − μ − b_u − b_i − ⟨p_u, q_i⟩)² + λ (Σ_u n_u^γ ‖p_u‖² + Σ_i n_i^γ ‖q_i‖²), with the effects
    penalised alike (Koren, Bell & Volinsky 2009; for ALS, weighted-λ-regularisation after Zhou et al. 2008
    with any power γ of the counts n). The "clean MF" of Friedman, Berkovsky & Kaafar 2016 is
    ``effects=False, power=1``.

    ``sgd`` takes blocks one by one; ``als`` reads them into memory.

    Privacy: private. It takes no budget, adds no noise, and its statement says so.
    """

    glance: ClassVar = {
        "measures": "everything exactly: not private",
        "predicts by": "user and item factors, fitted without noise: not private",
        "noise": "none",
        "lists users": "with a roster",
        "paper": "Koren, Bell & Volinsky 2009",
        "page": "not_private",
    }
    instead: ClassVar = "with a budget, use InputPerturbationMF, PrivateSGD or PrivateALS"

    rank: int = Field(default=16, ge=1, le=LARGEST_RANK)
    """number of factors; at most 120 with ``als`` and 2,048 with ``sgd``."""
    solver: Literal["als", "sgd"] = "als"
    """``als`` or ``sgd``."""
    epochs: int = Field(default=20, ge=1, le=1000)
    """number of passes over the ratings."""
    reg: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """λ."""
    power: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    """γ; a user or item with n ratings is penalised by λ n^γ: 1 is weighted-λ-regularisation."""
    effects: bool = True
    """whether users and items have effects in addition to their factors."""
    learning_rate: Annotated[float, _SGD] = Field(default=0.02, gt=0, le=1, allow_inf_nan=False)
    """learning rate of the first epoch."""
    decay: Annotated[float, _SGD] = Field(default=0.93, gt=0, le=1, allow_inf_nan=False)
    """factor by which the learning rate falls from one epoch to the next."""
    reg_decay: Annotated[float, _SGD] = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    """the same for λ."""
    schedule: Annotated[Schedule, _SGD] = "geometric"
    """how they fall: ``geometric``, rate · decay^t in epoch t; or ``inverse``, rate/(1 + (1/decay − 1) t)."""
    threads: Annotated[int, _SGD] = Field(default=1, ge=1, le=256)
    """number of threads; with more than one, runs are not reproducible."""

    @model_validator(mode="after")
    def _solvable(self) -> Self:
        if self.solver == "als" and self.rank > _ALS_RANK:
            raise ValueError(f'solver="als" takes a rank of at most {_ALS_RANK}; set solver="sgd"')
        return self

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Fit the mean, then factors and effects of the residuals.

        Lists the users on the domain's roster, or else those who rated. For ``sgd`` on blocks without a
        roster it lists no one, and every user folds in.

        Raises:
            ConfigError: There are fewer items than factors.

        Privacy: private.
        """
        require_rank(self.rank, people.domain)
        if self.solver == "als":
            return self._fit_alternating(people.gathered())
        return self._fit_descending(people)

    def _fit_alternating(self, ratings: People) -> Release:
        domain, values = ratings.domain, ratings.numbers()
        indptr = ratings.indptr if domain.users is None else ratings.roster_indptr()
        global_mean = float(values.mean()) if len(values) else domain.scale.mid
        residuals = ((values - global_mean) / domain.scale.star).astype(np.float32)
        sparse = Sparse(indptr, ratings.items, residuals, domain.n_items)
        scale = 1.0 if self.effects else 0.0
        effects = {"row_scale": scale, "column_scale": scale}
        factors = least_squares(sparse, self.rank, self.epochs, reg=self.reg, power=self.power, **effects)
        item_counts = np.bincount(ratings.items, minlength=domain.n_items)
        users = ratings.users.to_pylist()
        return self._release_listed(domain, users, global_mean, sparse.counts, item_counts, factors)

    def _fit_descending(self, people: AnyPeople) -> Release:
        global_mean, source = survey(people, people.domain.scale.star)
        learned = gradient_descent(
            source,
            self.rank,
            rates=epoch_values(self.learning_rate, self.decay, self.epochs, self.schedule),
            regs=epoch_values(self.reg, self.reg_decay, self.epochs, self.schedule),
            power=self.power,
            effects=self.effects,
            threads=self.threads,
        )
        domain = people.domain
        if domain.users is None and not people.in_memory:
            return self._release_unlisted(domain, global_mean, source, learned)
        users = people.users.to_pylist() if isinstance(people, People) and people.in_memory else ()
        counts = source.person_counts, source.item_counts
        return self._release_listed(domain, users, global_mean, *counts, Factors.of(learned))

    def _release_listed(
        self,
        domain: Domain,
        users: Iterable[str],
        mean: float,
        person_counts: Ints,
        item_counts: Ints,
        factors: Factors,
    ) -> Release:
        """Release the items, and the users of the roster or the ratings."""
        factors = factors.times(domain.scale.star)
        counts = item_counts.astype(np.float64)
        biases = Biases(
            mean + factors.column_effects,
            np.zeros(domain.n_items),
            counts,
            known_popularity(counts, factors.column_effects, domain.scale.span),
            factors.row_effects,
            np.zeros(len(factors.rows)),
            person_counts.astype(np.float64),
        )
        listed = () if domain.users else tuple(users)
        return people_release(self, domain, biases, factors.rows, factors.columns, listed)

    def _release_unlisted(
        self, domain: Domain, mean: float, source: DescentData, learned: Factored
    ) -> Release:
        """Release only items, rotated as in ``people_release``: the users' factors are too many to copy."""
        star, weights = domain.scale.star, source.person_counts + 1e-9
        effects = learned.person_effects if self.effects else np.zeros(len(weights))
        user_mean = star * float(np.average(effects, weights=weights)) if len(weights) else 0.0
        parts = (learned.people[at : at + _ROWS].astype(np.float64) for at in range(0, len(weights), _ROWS))
        squares = sum((part.T @ part for part in parts), np.zeros((self.rank, self.rank)))
        squares *= star**2 / max(len(weights), 1)
        root = second_moment_root(squares, star)
        effects = star * (learned.item_effects if self.effects else np.zeros(domain.n_items))
        counts = source.item_counts.astype(np.float64)
        baseline = ItemEffects(
            (mean + effects).astype(np.float64),
            np.zeros(domain.n_items),
            counts,
            user_mean,
            known_popularity(counts, effects.astype(np.float64), domain.scale.span),
        )
        return factor_release(self, domain, baseline, learned.items.astype(np.float64) @ root)
