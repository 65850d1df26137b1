"""Alternating least squares under noise (Friedman, Berkovsky & Kaafar 2016, §4.4)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
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
from hushrec.models.phases.outputs import people_release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.solvers.factorizers import Sparse
from hushrec.solvers.initial import normal_factors
from hushrec.statistics.factor_sums import FactorSums, in_ball
from hushrec.statistics.footprint import COPIED, DRAWS, FLOPS, LISTED, Footprint
from hushrec.statistics.query import Query
from hushrec.statistics.residuals import Residuals


class PrivateALS(Model):
    """Least squares for every user, then for every item, from noisy right-hand sides.

    Args:
        rank: d, number of factors.
        epochs: k, how often each side is solved.
        clip: B, bound on a residual, as a fraction of the scale's width.
        biases: how the averages are measured.
        reg: λ (published analysis).
        user_norm, item_norm: p_max and q_max, where p·q is in quarters of the scale's width (published
            analysis).
        exchanged_bounds: use p_max and q_max as in lines 4 and 8 of Algorithm 6, which contradict Theorem 6
            (published analysis).

    Privacy: unit ``rating`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace")})

    rank: int = Field(default=8, ge=1, le=128)
    epochs: int = Field(default=5, ge=1, le=100)
    clip: float = Field(default=0.225, gt=0, le=1, allow_inf_nan=False)
    biases: BiasSettings = BiasSettings()
    reg: float = Field(default=0.045, gt=0, allow_inf_nan=False)
    user_norm: float = Field(default=0.4, gt=0, allow_inf_nan=False)
    item_norm: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    exchanged_bounds: bool = True

    @property
    def noise_distribution(self) -> Noise:
        """Laplace noise in the published form; Gaussian noise, which composes exactly, otherwise."""
        return "laplace" if self.published else "gaussian"

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """The averages, then both sides of every epoch."""
        require_rank(self.rank, domain)
        biases = self.biases.queries(domain, budget, self.norm, published=self.published)
        rounds = self._solved(domain, budget) if self.published else self._sums(domain, budget).queries()
        return self.allocate([*biases, *rounds], budget)

    def default_split(self, budget: Budget) -> Mapping[str, float]:
        """The averages get 0.3 as published, else less at larger ε; all epochs get equal shares."""
        # A changed value moves a sum twice as far as a new one.
        bias_part = bias_share(budget.epsilon / (2 if budget.adjacency == "replace" else 1))
        parts = (0.14, 0.14, 0.7) if self.published else (0.3 * bias_part, 0.7 * bias_part, 1 - bias_part)
        items, users, rest = parts
        each = rest / (2 * self.epochs)
        rounds = {f"{side}, round {t + 1}": each for side in ("users", "items") for t in range(self.epochs)}
        return average_shares(budget, published=self.published, items=items, users=users) | rounds

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The averages, then both sides; all equations of the larger side are held at once."""
        n, people, items = self.rank, domain.n_users, domain.n_items
        rows, side = people + items, max(people, items)
        systems = 8.0 * 3.4 * side * n**2
        memory = 1e7 + LISTED * people + 8 * 4 * rows * n + COPIED * side * n + systems
        solved = rows * n * (1 / DRAWS + 16 * n**2 / FLOPS)
        factors = Footprint(memory, 24, 32, self.epochs * solved, self.epochs * n / 100)
        return biases_footprint(domain, budget, published=self.published).then(factors)

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """Biases (Algorithms 1 and 2), then both sides in turn (Algorithm 6).

        Privacy: charged (the events of ``queries``).
        """
        biases = self.biases.measure(ratings, budget, self.norm, grant, published=self.published)
        factorise = self._published if self.published else self._corrected
        people, items = factorise(ratings, biases, budget, grant)
        return people_release(self, ratings.domain, biases, people, items)

    def _corrected(
        self, ratings: Ratings, biases: Biases, budget: Budget, grant: Grant
    ) -> tuple[Floats, Floats]:
        """b_u = Σ_i x_ui q_i + noise for every user; solve; then the same for every item, with p_u."""
        domain, span = ratings.domain, ratings.domain.scale.span
        sums = self._sums(domain, budget)
        residuals = sums.residuals.entries(ratings, biases.item_effects, biases.user_effects)
        absent = np.zeros((domain.n_users, self.rank)), np.zeros((domain.n_items, self.rank))
        users, rated = biases.user_counts, biases.item_counts
        items = normal_factors(domain.n_items, self.rank)
        people = absent[0]
        for epoch in range(1, self.epochs + 1):
            items = sums.in_ball(factor_steps.filled(items))
            noisy = sums.query("users", epoch).release(grant, sums.users(residuals, absent[0], items))
            people = factor_steps.solve(noisy, users, items, rated, span)
            people = sums.in_ball(factor_steps.filled(people))
            noisy = sums.query("items", epoch).release(grant, sums.items(residuals, people, absent[1]))
            items = factor_steps.solve(noisy, rated, people, users, span)
        return people * domain.scale.star, items / domain.scale.star

    def _sums(self, domain: Domain, budget: Budget) -> FactorSums:
        clip = self.clip * domain.scale.span
        return FactorSums(domain, budget.adjacency, self.rank, self.epochs, clip, radius=1.0)

    def _published(
        self, ratings: Ratings, biases: Biases, budget: Budget, grant: Grant
    ) -> tuple[Floats, Floats]:
        """Algorithm 6: solve, add noise of density ∝ exp(−‖b‖/s) to each vector, bound its norm."""
        domain, star = ratings.domain, ratings.domain.scale.star  # the settings assume one to five stars
        residuals = Residuals(domain, budget.adjacency, self.clip * domain.scale.span)
        entries = residuals.entries(ratings, biases.item_effects, biases.user_effects)
        by_user = Sparse.of(entries, domain.n_items, residuals.grid.step / star)
        by_item, split = by_user.transposed(), self.split(domain, budget)

        def solved(side: str, epoch: int, rows: Sparse, others: Floats) -> Floats:
            counts, name = np.maximum(rows.counts, 1), f"{side}, round {epoch}"
            reach = self._max_residual(side, budget.adjacency, residuals.change / star) / (counts * self.reg)
            vectors = rows.solve(others, self.reg * counts)
            return grant.release_rows(name, vectors, reach / (budget.epsilon * split[name])).values

        items = in_ball(normal_factors(domain.n_items, self.rank), self.item_norm)
        for epoch in range(1, self.epochs + 1):
            people = in_ball(solved("users", epoch, by_user, items), self.user_norm)
            items = in_ball(solved("items", epoch, by_item, people), self.item_norm)
        return people * star, items

    def _max_residual(self, side: str, adjacency: str, change: float) -> float:
        """n λ times the sensitivity of a solved vector, as Algorithm 6 and Table 1 have it."""
        own, other = (self.user_norm, self.item_norm) if side == "users" else (self.item_norm, self.user_norm)
        if adjacency == "replace":
            return (own if self.exchanged_bounds else other) * change
        return other * (change + self.user_norm * self.item_norm) + self.reg * own

    def _solved(self, domain: Domain, budget: Budget) -> Iterator[Query]:
        """The noise of Algorithm 6, with its true cost in units of its claim (Theorem 6)."""
        ratio = self.item_norm / self.user_norm if self.exchanged_bounds else 1.0
        replace = budget.adjacency == "replace"
        for epoch in range(1, self.epochs + 1):
            for side, rows, loss in (
                ("users", domain.n_users, ratio if replace else math.inf),
                ("items", domain.n_items, 1 / ratio if replace else math.inf),
            ):
                yield Query(f"{side}, round {epoch}", loss, "l2", 2.0**-20, rows * self.rank, spherical=True)
