"""Alternating least squares under noise (after Friedman, Berkovsky & Kaafar 2016, §4.4)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.estimation import factor_steps
from hushrec.models.phases.biases import (
    BiasSettings,
    average_shares,
    biases_footprint,
    require_rank,
)
from hushrec.models.phases.outputs import people_release
from hushrec.models.phases.visible_factors import listed_share, shows_listed
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.query import AnyQuery
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.solvers.initial import normal_factors
from hushrec.statistics.factor_sums import FactorSums
from hushrec.statistics.footprint import COPIED, DRAWS, FLOPS, LISTED, Footprint
from hushrec.statistics.population import Population

_EPOCHS = 5


class PrivateALS(PrivateModel):
    """Least squares for every user, then for every item, from noisy right-hand sides.

    b_u = Σ_i clamp(x_ui, ±B) q_i + N(0, σ²) and p_u = S A (A S A + s² A + σ² I)⁻¹ b_u, the posterior mean
    under the prior N(0, S), with A = n_u M for the released count n_u and mean M of q qᵀ; then the same for
    every item, with p_u. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Privacy: unit ``rating`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    glance: ClassVar = {
        "measures": "sums and counts per item and per user, and right-hand sides of least squares",
        "predicts by": "user and item factors, fitted by noisy least squares",
        "noise": "Gaussian",
        "lists users": "yes",
        "paper": "Friedman, Berkovsky & Kaafar 2016, §4.4",
    }
    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace")})
    informed: ClassVar = True

    rank: int = Field(default=8, ge=1, le=128)
    """d, number of factors."""
    epochs: int | None = Field(default=None, ge=1, le=100)
    """k, how often each side is solved; by default 5 times, or never where the noise would hide the
    factors of the domain's crowd, and the averages get the whole budget.
    """
    clip: float = Field(default=0.225, gt=0, le=1, allow_inf_nan=False)
    """B, bound on a residual x, as a fraction of the scale's width."""
    biases: BiasSettings = BiasSettings()
    """how the averages are measured."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """The averages, then both sides of every epoch."""
        require_rank(self.rank, domain)
        return [*self.biases.queries(domain, terms, self.norm), *self._sums(domain, terms).queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """The averages get a third where factors show, and all where these are hidden."""
        epochs = self._epochs(domain, budget)
        part = 1 - listed_share(domain, budget) if epochs else 1.0
        each = (1 - part) / (2 * max(epochs, 1))
        rounds = {f"{side}, round {t + 1}": each for side in ("users", "items") for t in range(epochs)}
        return average_shares(budget, items=0.3 * part, users=0.7 * part) | rounds

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The averages, then both sides; all equations of the larger side are held at once."""
        epochs = self._epochs(domain, budget)
        if not epochs:
            return biases_footprint(domain, budget)
        n, people, items = self.rank, domain.n_users, domain.n_items
        rows, side = people + items, max(people, items)
        systems = 8.0 * 3.4 * side * n**2
        memory = 1e7 + LISTED * people + 8 * 4 * rows * n + COPIED * side * n + systems
        solved = rows * n * (1 / DRAWS + 16 * n**2 / FLOPS)
        factors = Footprint(memory, 24, 32, epochs * solved, epochs * n / 100)
        return biases_footprint(domain, budget).then(factors)

    def release(self, feedback: Ratings | Blocks, run: Run) -> Release:
        """Biases (Algorithms 1 and 2), then both sides in turn (after Algorithm 6).

        Privacy: charged (the events of ``queries``).
        """
        domain, people = feedback.domain, Population(feedback)
        biases = self.biases.measure(people, run, self.norm)
        sums = self._sums(domain, run.terms)
        if not sums.rounds:
            return people_release(
                self, domain, biases, np.zeros((domain.n_users, 0)), np.zeros((domain.n_items, 0))
            )
        residuals = sums.residuals.rows(people, biases.item_effects, biases.user_effects)
        no_users, no_items = np.zeros((domain.n_users, self.rank)), np.zeros((domain.n_items, self.rank))
        raters, rated = biases.user_counts, biases.item_counts
        items = normal_factors(domain.n_items, self.rank)
        for epoch in range(1, sums.rounds + 1):
            items = sums.in_ball(factor_steps.filled(items))
            noisy = run.measure(sums.query("users", epoch), sums.users(residuals, no_users, items))
            users = factor_steps.solve(noisy, raters, items, rated, domain.scale.span)
            users = sums.in_ball(factor_steps.filled(users))
            noisy = run.measure(sums.query("items", epoch), sums.items(residuals, users, no_items))
            items = factor_steps.solve(noisy, rated, users, raters, domain.scale.span)
        return people_release(self, domain, biases, users * domain.scale.star, items / domain.scale.star)

    def _epochs(self, domain: Domain, terms: Terms) -> int:
        """None where the noise would hide the factors of the declared crowd."""
        if self.epochs is not None:
            return self.epochs
        return _EPOCHS if shows_listed(domain, terms) else 0

    def _sums(self, domain: Domain, terms: Terms) -> FactorSums:
        clip = self.clip * domain.scale.span
        return FactorSums(domain, terms.adjacency, self.rank, self._epochs(domain, terms), clip, radius=1.0)
