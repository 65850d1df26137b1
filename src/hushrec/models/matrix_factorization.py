"""Matrix factorisation without privacy: the baseline of the private models."""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from hushrec.arrays import Ints
from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.errors import ConfigError
from hushrec.kernels.solvers.sgd import LARGEST_RANK
from hushrec.models.noiseless import Noiseless
from hushrec.models.phases.biases import Biases, require_rank
from hushrec.models.phases.item_effects import ItemEffects
from hushrec.models.phases.outputs import factor_release, people_release, second_moment_root
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.solvers.descent import DescentData, Factored, Schedule, gradient_descent, scheduled, survey
from hushrec.solvers.factorizers import Factors, Sparse, least_squares

_ALS_RANK = 120
_ROWS = 1 << 16  # users processed at once: bounds the memory


class MatrixFactorization(Noiseless):
    """Factors and effects of exact ratings, by alternating least squares or by gradient descent.

    Koren, Bell & Volinsky 2009; for ALS, weighted-λ-regularisation after Zhou et al. 2008 with any power of
    the counts. Friedman, Berkovsky & Kaafar's "clean MF" is ``effects=False, power=1``.

    ``sgd`` also takes ratings in blocks, and resumes from a checkpoint's last snapshot.

    Args:
        rank: number of factors; at most 120 for ``als``.
        solver: ``als`` or ``sgd``.
        epochs: number of passes over the ratings.
        reg: λ.
        power: γ; a user or item with n ratings is penalised by λ n^γ.
        effects: whether users and items have effects in addition to their factors.
        learning_rate: learning rate of the first epoch of ``sgd``.
        decay: factor by which the learning rate falls from one epoch to the next.
        reg_decay: the same for λ.
        schedule: how they fall, ``geometric`` or ``inverse``: see ``hushrec.solvers.descent.scheduled``.
        threads: number of threads of ``sgd``; with more than one, runs are not reproducible.

    Privacy: private. It takes no budget, adds no noise, and its statement says so.
    """

    instead: ClassVar = "with a budget, use InputPerturbationMF, PrivateSGD or PrivateALS"
    blockwise: ClassVar = True

    rank: int = Field(default=16, ge=1, le=LARGEST_RANK)
    solver: Literal["als", "sgd"] = "als"
    epochs: int = Field(default=20, ge=1, le=1000)
    reg: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    power: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    effects: bool = True
    learning_rate: float = Field(default=0.02, gt=0, le=1, allow_inf_nan=False)
    decay: float = Field(default=0.93, gt=0, le=1, allow_inf_nan=False)
    reg_decay: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    schedule: Schedule = "geometric"
    threads: int = Field(default=1, ge=1, le=256)

    @model_validator(mode="after")
    def _solvable(self) -> Self:
        if self.solver == "als" and self.rank > _ALS_RANK:
            raise ValueError(f'solver="als" takes a rank of at most {_ALS_RANK}; set solver="sgd"')
        return self

    def release(self, ratings: Ratings | Blocks, budget: Budget, grant: Grant) -> Release:
        """The mean, then factors and effects of the residuals.

        Lists the users on the domain's roster, or else those who rated. For ratings in blocks without a
        roster it lists nobody, and everybody folds in.

        Raises:
            ConfigError: ``als`` is given ratings in blocks, or there are fewer items than factors.

        Privacy: private.
        """
        domain = ratings.domain
        require_rank(self.rank, domain)
        star = domain.scale.star
        if self.solver == "als":
            global_mean, person_counts, item_counts, found = self._least_squares(ratings, star)
        else:
            global_mean, source = survey(ratings, star)
            learned = gradient_descent(
                source,
                self.rank,
                rates=scheduled(self.learning_rate, self.decay, self.epochs, self.schedule),
                regs=scheduled(self.reg, self.reg_decay, self.epochs, self.schedule),
                power=self.power,
                effects=self.effects,
                threads=self.threads,
                checkpoint=grant.checkpoint,
            )
            if domain.users is None and not isinstance(ratings, Ratings):
                return self._unlisted(domain, global_mean, star, source, learned)
            person_counts, item_counts, found = source.person_counts, source.item_counts, Factors.of(learned)
        found = found.times(star)
        biases = Biases(
            global_mean + found.column_effects,
            np.zeros(domain.n_items),
            item_counts.astype(np.float64),
            found.row_effects,
            np.zeros(len(found.rows)),
            person_counts.astype(np.float64),
        )
        users = tuple(ratings.users.to_list()) if isinstance(ratings, Ratings) and not domain.users else ()
        return people_release(self, domain, biases, found.rows, found.columns, users)

    def _unlisted(
        self, domain: Domain, global_mean: float, star: float, source: DescentData, found: Factored
    ) -> Release:
        """Only items, rotated as in ``people_release``; there are too many users to copy their factors."""
        weights = source.person_counts + 1e-9
        effects = found.person_effects if self.effects else np.zeros(len(weights))
        user_mean = star * float(np.average(effects, weights=weights)) if len(weights) else 0.0
        parts = (found.people[at : at + _ROWS].astype(np.float64) for at in range(0, len(weights), _ROWS))
        squares = sum((part.T @ part for part in parts), np.zeros((self.rank, self.rank)))
        squares *= star**2 / max(len(weights), 1)
        root = second_moment_root(squares, star)
        item_effects = global_mean + star * (found.item_effects if self.effects else np.zeros(domain.n_items))
        baseline = ItemEffects(
            item_effects.astype(np.float64),
            np.zeros(domain.n_items),
            source.item_counts.astype(np.float64),
            user_mean,
        )
        return factor_release(self, domain, baseline, found.items.astype(np.float64) @ root)

    def _least_squares(self, ratings: Ratings | Blocks, star: float) -> tuple[float, Ints, Ints, Factors]:
        if not isinstance(ratings, Ratings):
            raise ConfigError('solver="als" needs all ratings in memory; for blocks set solver="sgd"')
        domain = ratings.domain
        indptr = ratings.indptr if domain.users is None else ratings.roster_indptr()
        values = ratings.values()
        global_mean = float(values.mean()) if len(values) else domain.scale.mid
        known = Sparse(
            indptr, ratings.items, ((values - global_mean) / star).astype(np.float32), domain.n_items
        )
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
        return global_mean, known.counts, np.bincount(ratings.items, minlength=domain.n_items), found
