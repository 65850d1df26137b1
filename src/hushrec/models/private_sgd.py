"""Gradient descent under noise (Friedman, Berkovsky & Kaafar 2016, §4.3)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.estimation import factor_steps
from hushrec.models.base import Model, Noise
from hushrec.models.phases.biases import (
    Biases,
    BiasSettings,
    average_shares,
    bias_share,
    biases_footprint,
    require_rank,
)
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import factor_release, people_release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import EVERY_RATING
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.solvers.factorizers import Sparse
from hushrec.solvers.initial import normal_factors, uniform_factors
from hushrec.statistics.factor_sums import FactorSums, in_ball
from hushrec.statistics.footprint import COPIED, DRAWS, LISTED, Footprint
from hushrec.statistics.person_gradients import RidgeGradients
from hushrec.statistics.query import Query
from hushrec.statistics.residuals import Residuals


class PrivateSGD(Model):
    """Noisy gradients of all user and item factors, taken at the released factors.

    Args:
        rank: d, number of factors.
        epochs: k, how often each side takes a step.
        clip: bound on a rating's error, as a fraction of the scale's width.
        radius: bound on the factors' norms; p·q is in widths of the scale.
        biases: how the averages are measured (unit ``rating``).
        effects: how the item effects are measured (unit ``user``).
        clip_norm: bound on the norm of a user's whole gradient (errors times own vector), in widths times
            quarters of the width of the scale (unit ``user``).
        learning_rate, reg: γ and λ (published analysis).
        error_bound: e_max of Algorithm 4, as a fraction of the scale's width (published analysis).
        user_norm, item_norm: p_max and q_max, where p·q is in quarters of the scale's width (published
            analysis).

    Privacy: unit ``rating`` under both adjacencies, with a vector for every user on the roster; unit ``user``
    under add-remove, where every user's vector stays on their device.
    """

    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")})

    rank: int = Field(default=8, ge=1, le=128)
    epochs: int = Field(default=12, ge=1, le=100)
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    radius: float = Field(default=0.42, gt=0.001, le=1, allow_inf_nan=False)
    biases: BiasSettings = BiasSettings()
    effects: EffectSettings = EffectSettings()
    clip_norm: float = Field(default=0.375, gt=0, le=1000, allow_inf_nan=False)
    learning_rate: float = Field(default=0.01, gt=0, le=1, allow_inf_nan=False)
    reg: float = Field(default=0.045, gt=0, allow_inf_nan=False)
    error_bound: float = Field(default=0.5, gt=0, le=1, allow_inf_nan=False)
    user_norm: float = Field(default=0.4, gt=0, allow_inf_nan=False)
    item_norm: float = Field(default=0.5, gt=0, allow_inf_nan=False)

    @property
    def noise_distribution(self) -> Noise:
        """Laplace noise in the published form; Gaussian noise, which composes exactly, otherwise."""
        return "laplace" if self.published else "gaussian"

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """The averages, then the gradients of every epoch."""
        require_rank(self.rank, domain)
        if budget.unit == "user":
            if self.published:
                raise BudgetUnsupported('the paper does not cover unit user; set analysis="corrected"')
            effects = self.effects.sums(domain, budget, self.norm, published=False)
            return self.allocate([*effects.queries(), *self._gradients(domain).queries()], budget)
        biases = self.biases.queries(domain, budget, self.norm, published=self.published)
        rounds = self._printed(domain, budget) if self.published else self._sums(domain, budget).queries()
        return self.allocate([*biases, *rounds], budget)

    def default_split(self, budget: Budget) -> Mapping[str, float]:
        """The averages get 0.3 as published, else less at larger ε; all epochs get equal shares."""
        # A changed value moves a sum twice as far as a new one.
        bias_part = bias_share(budget.epsilon / (2 if budget.adjacency == "replace" else 1))
        parts = (0.14, 0.14, 0.7) if self.published else (0.3 * bias_part, 0.7 * bias_part, 1 - bias_part)
        items, users, rest = parts
        if budget.unit == "user":
            rest = min(0.7, budget.epsilon / 8)  # at small ε only the item effects rise above the noise
            effects = {"global sum": 0.02, "global count": 0.02, "item sums": 0.8, "item counts": 0.16}
            biases = {name: part * (1 - rest) for name, part in effects.items()}
        else:
            biases = average_shares(budget, published=self.published, items=items, users=users)
        alone = budget.unit == "user" or (self.published and budget.adjacency == "replace")
        each = rest / self.epochs * (1.0 if alone else 0.5)
        sides = ("ratings", "users", "items")
        rounds = {f"{side}, round {t + 1}": each for side in sides for t in range(self.epochs)}
        return biases | rounds

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The averages or item effects, then both sides; the larger side's gradients are held at once."""
        n, people, items = self.rank, domain.n_users, domain.n_items
        if budget.unit == "user":
            first, people = effects_footprint(domain, budget, published=False), 0
        else:
            first = biases_footprint(domain, budget, published=self.published)
        rows, side = people + items, max(people, items)
        memory = 1e7 + LISTED * people + 8 * 4 * rows * n + 2 * COPIED * side * n
        per_million = self.epochs * n / 100
        return first.then(Footprint(memory, 40, 32, self.epochs * rows * n / DRAWS, per_million))

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Biases (Algorithms 1 and 2), then gradients (Algorithm 4 or 5, or their corrected form).

        Privacy: charged (the events of ``queries``).
        """
        if budget.unit == "user":
            return self._per_user(ratings, budget, grant)
        biases = self.biases.measure(ratings, budget, self.norm, grant, published=self.published)
        published = self._algorithm_4 if budget.adjacency == "replace" else self._algorithm_5
        descend = published if self.published else self._corrected
        people, items = descend(ratings, biases, budget, grant)
        return people_release(self, ratings.domain, biases, people, items)

    def _corrected(
        self, ratings: Ratings, biases: Biases, budget: Budget, grant: Grant
    ) -> tuple[Floats, Floats]:
        """Clipped gradients at the released factors: a rating affects one user's row and one item's row."""
        domain, span = ratings.domain, ratings.domain.scale.span
        sums = self._sums(domain, budget)
        residuals = sums.residuals.entries(ratings, biases.item_effects, biases.user_effects)
        users, rated = biases.user_counts, biases.item_counts
        people = np.zeros((domain.n_users, self.rank))
        items = sums.in_ball(self.radius * normal_factors(domain.n_items, self.rank))
        for epoch in range(1, self.epochs + 1):
            step_settings = {
                "width": sums.width,
                "span": span,
                "remaining_variance": max(0.9 ** (epoch - 1), 0.05),
            }
            noisy = sums.query("users", epoch).release(grant, sums.users(residuals, people, items))
            people = sums.in_ball(factor_steps.step(people, noisy, users, items, rated, **step_settings))
            noisy = sums.query("items", epoch).release(grant, sums.items(residuals, people, items))
            items = sums.in_ball(factor_steps.step(items, noisy, rated, people, users, **step_settings))
        return people * sums.width, items

    def _algorithm_4(
        self, ratings: Ratings, biases: Biases, budget: Budget, grant: Grant
    ) -> tuple[Floats, Floats]:
        """As published for ``replace``: the noise on an error in step 4 is noise on its rating."""
        domain, residuals = ratings.domain, self._residuals(ratings.domain, budget)
        entries = residuals.entries(ratings, biases.item_effects, biases.user_effects)
        star = domain.scale.star  # the paper's settings are for one to five stars
        rated = Sparse.of(entries, domain.n_items, residuals.grid.step / star)
        people, items = self._start(domain)
        for epoch in range(1, self.epochs + 1):
            noisy = _copy(residuals, epoch).release(grant, entries.values.astype(np.int64))
            known = rated.with_values(noisy.values / star)
            people, items = known.descend(people, items, self.learning_rate, self.reg, 4 * self.error_bound)
            people, items = in_ball(people, self.user_norm), in_ball(items, self.item_norm)
        return people * star, items

    def _algorithm_5(
        self, ratings: Ratings, biases: Biases, budget: Budget, grant: Grant
    ) -> tuple[Floats, Floats]:
        """As published for add-remove, ``max`` in its step 6 read as clamp."""
        domain, residuals = ratings.domain, self._residuals(ratings.domain, budget)
        entries = residuals.entries(ratings, biases.item_effects, biases.user_effects)
        star = domain.scale.star  # the paper's settings are for one to five stars
        rated = Sparse.of(entries, domain.n_items, residuals.grid.step / star)
        people, items = self._start(domain)
        bound = residuals.change / star + self.user_norm * self.item_norm
        reach_q = self.learning_rate * (bound * self.user_norm + self.reg * self.item_norm)
        reach_p = self.learning_rate * (bound * self.item_norm + self.reg * self.user_norm)
        split = self.split(domain, budget)
        for epoch in range(1, self.epochs + 1):
            people, items = rated.descend(people, items, self.learning_rate, self.reg, bound)
            name = f"users, round {epoch}"
            scales = np.full(len(people), reach_p / (budget.epsilon * split[name]))
            people = in_ball(grant.release_rows(name, people, scales).values, self.user_norm)
            name = f"items, round {epoch}"
            scales = np.full(len(items), reach_q / (budget.epsilon * split[name]))
            items = in_ball(grant.release_rows(name, items, scales).values, self.item_norm)
        return people * star, items

    def _start(self, domain: Domain) -> tuple[Floats, Floats]:
        people = in_ball(uniform_factors(domain.n_users, self.rank), self.user_norm)
        return people, in_ball(uniform_factors(domain.n_items, self.rank), self.item_norm)

    def _per_user(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Unit ``user``: each user fits their own vector and contributes a clipped gradient of the items."""
        domain, gradients = ratings.domain, self._gradients(ratings.domain)
        effects = self.effects.sums(domain, budget, self.norm, published=False)
        baseline = self.effects.measure(effects, effects.measure(ratings), grant)
        items, span = in_ball(normal_factors(domain.n_items, self.rank), 1.0), domain.scale.span
        initial_weight = np.ones(domain.n_items)  # how much of each row is still its random start
        for epoch in range(1, self.epochs + 1):
            ridge = factor_steps.user_ridge(items, baseline.counts)
            sums = gradients.measure(ratings, baseline.item_effects, items, ridge)
            step_settings = {
                "ridge": ridge,
                "span": span,
                "remaining_variance": max(0.9 ** (epoch - 1), 0.05),
            }
            noisy = gradients.query(epoch).release(grant, sums)
            items, part = factor_steps.user_gradient_step(items, noisy, baseline.counts, **step_settings)
            items, initial_weight = in_ball(items, 1.0), initial_weight * (1 - part)
        # Users fold in with a prior of unit variance, and only on what was learned.
        scale = span * np.sqrt(factor_steps.RESIDUAL / factor_steps.user_ridge(items, baseline.counts))
        return factor_release(self, domain, baseline, items * scale * np.sqrt(1 - initial_weight)[:, None])

    def _sums(self, domain: Domain, budget: Budget) -> FactorSums:
        clip = self.clip * domain.scale.span
        return FactorSums(domain, budget.adjacency, self.rank, self.epochs, clip, self.radius)

    def _residuals(self, domain: Domain, budget: Budget) -> Residuals:
        return Residuals(domain, budget.adjacency, self.clip * domain.scale.span)

    def _gradients(self, domain: Domain) -> RidgeGradients:
        clip = self.clip * domain.scale.span
        clip_norm = self.clip_norm * domain.scale.span * domain.scale.star
        return RidgeGradients(domain, self.rank, self.epochs, clip, clip_norm)

    def _printed(self, domain: Domain, budget: Budget) -> Iterator[Query]:
        """The noise of Algorithms 4 and 5. No bound on the privacy loss of Algorithm 5 is known."""
        residuals = self._residuals(domain, budget)
        for epoch in range(1, self.epochs + 1):
            if budget.adjacency == "replace":
                yield _copy(residuals, epoch)
            else:
                for side, rows in (("users", domain.n_users), ("items", domain.n_items)):
                    name, size = f"{side}, round {epoch}", rows * self.rank
                    yield Query(name, math.inf, "l2", 2.0**-20, size, spherical=True)


def _copy(residuals: Residuals, epoch: int) -> Query:
    """All ratings with fresh noise, as one epoch of Algorithm 4 uses them."""
    return Query(f"ratings, round {epoch}", residuals.change, "l1", residuals.grid.step, EVERY_RATING)
