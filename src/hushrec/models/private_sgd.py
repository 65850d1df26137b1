"""Gradient descent under noise, unit rating (after Friedman, Berkovsky & Kaafar 2016, §4.3)."""

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
from hushrec.statistics.footprint import COPIED, DRAWS, LISTED, Footprint
from hushrec.statistics.population import Population

_EPOCHS = 12


class PrivateSGD(PrivateModel):
    """Noisy gradients of all user and item factors, taken at the released factors.

    With e_ui = clamp(x_ui − w⟨p_u, q_i⟩, ±B) and g_u = Σ_i e_ui q_i + N(0, σ²):
    p_u ← p_u + η (w g_u − λ p_u), η = a v/(a² v + w² σ²) for curvature a and remaining variance v; then the
    same for every item, with p_u. A rating affects one user's row and one item's row. Prediction:
    r̂_ui = μ_i + b_u + w⟨p_u, q_i⟩.

    Privacy: unit ``rating`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    glance: ClassVar = {
        "measures": "sums and counts per item and per user, and gradients of all factors",
        "predicts by": "user and item factors, fitted to noisy gradients",
        "noise": "Gaussian",
        "lists users": "yes",
        "paper": "Friedman, Berkovsky & Kaafar 2016, §4.3",
    }
    supports: ClassVar = frozenset({("rating", "add-remove"), ("rating", "replace")})
    informed: ClassVar = True

    rank: int = Field(default=8, ge=1, le=128)
    """d, number of factors."""
    epochs: int | None = Field(default=None, ge=1, le=100)
    """k, how often each side takes a step; by default 12 times, or never where the noise would hide the
    factors of the domain's crowd, and the averages get the whole budget.
    """
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    """B, bound on a rating's error, as a fraction of the scale's width."""
    radius: float = Field(default=0.42, gt=0.001, le=1, allow_inf_nan=False)
    """bound on the factors' norms; p·q is in widths of the scale."""
    biases: BiasSettings = BiasSettings()
    """how the averages are measured."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """The averages, then the gradients of every epoch."""
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
        """The averages, then both sides; the larger side's gradients are held at once."""
        epochs = self._epochs(domain, budget)
        if not epochs:
            return biases_footprint(domain, budget)
        n, people, items = self.rank, domain.n_users, domain.n_items
        rows, side = people + items, max(people, items)
        memory = 1e7 + LISTED * people + 8 * 4 * rows * n + 2 * COPIED * side * n
        per_million = epochs * n / 100
        rounds = Footprint(memory, 40, 32, epochs * rows * n / DRAWS, per_million)
        return biases_footprint(domain, budget).then(rounds)

    def release(self, feedback: Ratings | Blocks, run: Run) -> Release:
        """Biases (Algorithms 1 and 2), then clipped gradients of both sides in turn (after Algorithm 4).

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
        raters, rated = biases.user_counts, biases.item_counts
        users = np.zeros((domain.n_users, self.rank))
        items = sums.in_ball(self.radius * normal_factors(domain.n_items, self.rank))
        for epoch in range(1, sums.rounds + 1):
            how = {
                "width": sums.width,
                "span": domain.scale.span,
                "remaining_variance": max(0.9 ** (epoch - 1), 0.05),
            }
            noisy = run.measure(sums.query("users", epoch), sums.users(residuals, users, items))
            users = sums.in_ball(factor_steps.step(users, noisy, raters, items, rated, **how))
            noisy = run.measure(sums.query("items", epoch), sums.items(residuals, users, items))
            items = sums.in_ball(factor_steps.step(items, noisy, rated, users, raters, **how))
        return people_release(self, domain, biases, users * sums.width, items)

    def _epochs(self, domain: Domain, terms: Terms) -> int:
        """None where the noise would hide the factors of the declared crowd."""
        if self.epochs is not None:
            return self.epochs
        return _EPOCHS if shows_listed(domain, terms) else 0

    def _sums(self, domain: Domain, terms: Terms) -> FactorSums:
        clip = self.clip * domain.scale.span
        return FactorSums(domain, terms.adjacency, self.rank, self._epochs(domain, terms), clip, self.radius)
