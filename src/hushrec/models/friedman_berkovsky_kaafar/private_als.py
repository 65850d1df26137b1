"""Alternating least squares under noise (after Friedman, Berkovsky & Kaafar 2016, §4.4)."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.estimation import factor_steps
from hushrec.estimation.factor_steps import normal_factors
from hushrec.models.friedman_berkovsky_kaafar.alternating_model import AlternatingModel, Sides
from hushrec.sums.footprint import COPIED, DRAWS, FLOPS, Footprint


class PrivateALS(AlternatingModel):
    """Least squares for every user, then for every item, from noisy right-hand sides.

    b_u = Σ_i clamp(x_ui, ±B) q_i + N(0, σ²) and p_u = S A (A S A + s² A + σ² I)⁻¹ b_u, the posterior mean
    under the prior N(0, S), with A = n_u M for the released count n_u and mean M of q qᵀ; then the same for
    every item, with p_u. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Privacy: unit ``record`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    glance: ClassVar = {
        "measures": "sums and counts per item and per user, and right-hand sides of least squares",
        "predicts by": "user and item factors, fitted by noisy least squares",
        "noise": "Gaussian",
        "lists users": "yes",
        "paper": "Friedman, Berkovsky & Kaafar 2016, §4.4",
    }
    usual_epochs: ClassVar = 5

    epochs: int | None = Field(default=None, ge=1, le=100)
    """k, how often each side is solved; by default 5 times, or never where the noise would hide the
    factors of the domain's crowd, and the averages get the whole budget.
    """
    clip: float = Field(default=0.225, gt=0, le=1, allow_inf_nan=False)
    """B, bound on a residual x, as a fraction of the scale's width."""

    def _factors(self, sides: Sides) -> tuple[Floats, Floats]:
        """Solve both sides in turn (after Algorithm 6).

        Privacy: charged (the measurements of every epoch).
        """
        sums, domain, biases = sides.sums, sides.sums.domain, sides.biases
        raters, rated, span = biases.user_counts, biases.item_counts, domain.scale.span
        no_users, no_items = np.zeros((domain.n_users, self.rank)), np.zeros((domain.n_items, self.rank))
        items = normal_factors(domain.n_items, self.rank)
        for epoch in range(1, sums.epochs + 1):
            items = sums.in_ball(factor_steps.fill_ball(items))  # line 10
            # Lines 4 and 5, with noise on the right-hand sides and not on the solutions.
            users = factor_steps.solve(sides.users(epoch, no_users, items), raters, items, rated, span)
            users = sums.in_ball(factor_steps.fill_ball(users))  # line 6
            # Lines 8 and 9.
            items = factor_steps.solve(sides.items(epoch, users, no_items), rated, users, raters, span)
        return users * domain.scale.star, items / domain.scale.star

    def _epoch(self, rows: int, side: int) -> Footprint:
        """Estimate an epoch, which holds the equations of the larger side at once."""
        n = self.rank
        memory = side * n * (COPIED + 8.0 * 3.4 * n)
        return Footprint(memory, 24, seconds=rows * n * (1 / DRAWS + 16 * n**2 / FLOPS))
