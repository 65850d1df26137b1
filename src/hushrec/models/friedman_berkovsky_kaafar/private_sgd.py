"""Gradient descent under noise, unit record (after Friedman, Berkovsky & Kaafar 2016, §4.3)."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.estimation import factor_steps
from hushrec.estimation.factor_steps import normal_factors
from hushrec.models.friedman_berkovsky_kaafar.alternating_model import AlternatingModel, Sides
from hushrec.sums.footprint import COPIED, DRAWS, Footprint


class PrivateSGD(AlternatingModel):
    """Noisy gradients of all user and item factors, taken at the released factors.

    With e_ui = clamp(x_ui − w⟨p_u, q_i⟩, ±B) and g_u = Σ_i e_ui q_i + N(0, σ²):
    p_u ← p_u + η (w g_u − λ p_u), η = a v/(a² v + w² σ²) for curvature a and remaining variance v; then the
    same for every item, with p_u. A rating affects one user's row and one item's row. Prediction:
    r̂_ui = μ_i + b_u + w⟨p_u, q_i⟩.

    Privacy: unit ``record`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    glance: ClassVar = {
        "measures": "sums and counts per item and per user, and gradients of all factors",
        "predicts by": "user and item factors, fitted to noisy gradients",
        "noise": "Gaussian",
        "lists users": "yes",
        "paper": "Friedman, Berkovsky & Kaafar 2016, §4.3",
        "page": "private_als",
    }
    usual_epochs: ClassVar = 12

    epochs: int | None = Field(default=None, ge=1, le=100)
    """k, how often each side takes a step; by default 12 times, or never where the noise would hide the
    factors of the domain's crowd, and the averages get the whole budget.
    """
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    """B, bound on a rating's error, as a fraction of the scale's width."""
    radius: float = Field(default=0.42, gt=0.001, le=1, allow_inf_nan=False)
    """bound on the factors' norms; p·q is in widths of the scale."""

    def _factors(self, sides: Sides) -> tuple[Floats, Floats]:
        """Take steps along clipped gradients of both sides in turn (after Algorithm 4).

        Privacy: charged (the measurements of every epoch).
        """
        sums, domain, biases = sides.sums, sides.sums.domain, sides.biases
        raters, rated = biases.user_counts, biases.item_counts
        users = np.zeros((domain.n_users, self.rank))
        # People start at 0 and items at random: with both at 0 every gradient would be 0.
        items = sums.in_ball(self.radius * normal_factors(domain.n_items, self.rank))
        for epoch in range(1, sums.epochs + 1):
            arguments = {
                "width": sums.width,
                "span": domain.scale.span,
                "remaining_variance": max(0.9 ** (epoch - 1), 0.05),
            }
            # Lines 5 and 7, with the sum of a user's errors and noise on it; then line 13 of Algorithm 5.
            noisy = sides.users(epoch, users, items)
            users = sums.in_ball(factor_steps.step(users, noisy, raters, items, rated, **arguments))
            # Lines 5 and 6, then line 17 of Algorithm 5.
            noisy = sides.items(epoch, users, items)
            items = sums.in_ball(factor_steps.step(items, noisy, rated, users, raters, **arguments))
        return users * sums.width, items

    def _epoch(self, rows: int, side: int) -> Footprint:
        """Estimate an epoch, which holds the larger side's gradients at once."""
        return Footprint(2 * COPIED * side * self.rank, 40, seconds=rows * self.rank / DRAWS)

    @property
    def _norm_bound(self) -> float:
        return self.radius
