"""Gradient descent under noise, unit user: each user's gradient is made from their own ratings alone."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.estimation import factor_steps
from hushrec.estimation.factor_steps import normal_factors
from hushrec.estimation.shrinkage import RATING_VARIANCE
from hushrec.models.base import EFFECTS_SPLIT, PrivateModel
from hushrec.models.biases import require_rank
from hushrec.models.effects import EffectSettings, effects_footprint
from hushrec.models.liu_wang_smola.sums import RidgeGradients
from hushrec.models.outputs import factor_release
from hushrec.models.visibility import gradients_split, shows_gradients
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.sums.factor_sums import in_ball
from hushrec.sums.footprint import COPIED, DRAWS, Footprint
from hushrec.sums.item_sums import OVERALL, EffectSums

_EPOCHS = 12
"""Default number of epochs, with which ``GRADIENTS`` of ``models/visibility.py`` was measured."""


class UserLevelSGD(PrivateModel):
    """Noisy gradients of the item factors; every user's own vector stays on their device.

    Each epoch, every user fits p_u = (Σ_i q_i q_iᵀ + λI)⁻¹ Σ_i x_ui q_i to their own residuals, and adds to
    the row of every item i that they rated the gradient clamp(x_ui − ⟨p_u, q_i⟩, ±B) p_u, all of it scaled
    down to L2 norm C. With G the sum plus N(0, σ²): q_i ← q_i + η_i (G_i − λ′ q_i), with η_i adapted to the
    noise (DP-FedSGD of McMahan et al. 2018, for matrix factorisation). Prediction:
    r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Privacy: unit ``user`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, and gradients of item factors",
        "predicts by": "regression of the user's own ratings on item factors",
        "noise": "Gaussian",
        "lists users": "no",
        "paper": "after Friedman, Berkovsky & Kaafar 2016, §4.3; McMahan et al. 2018",
    }
    supports: ClassVar = frozenset({("user", "add-remove")})
    informed: ClassVar = True

    rank: int = Field(default=8, ge=1, le=128)
    """d, number of factors."""
    epochs: int | None = Field(default=None, ge=1, le=100)
    """k, number of epochs; by default 12, or none where the noise would hide the factors of the domain's
    crowd, and the release is that of ``GlobalEffects``.
    """
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    """B, bound on a rating's error, as a fraction of the scale's width."""
    clip_norm: float = Field(default=0.375, gt=0, le=1000, allow_inf_nan=False)
    """C, bound on the norm of a user's whole gradient (errors times own vector), in widths times quarters
    of the width of the scale.
    """
    effects: EffectSettings = EffectSettings()
    """how the item effects are measured."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List the item effects, then the gradients of every epoch."""
        require_rank(self.rank, domain)
        return [*self._effects(domain, terms).queries(), *self._gradients(domain, terms).queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give every epoch the same part, at most half of the budget in all, and effects the rest."""
        epochs = self._epochs(domain, budget)
        if not epochs:
            return EFFECTS_SPLIT
        gradients_part = gradients_split(domain, budget)
        effects = {**dict.fromkeys(OVERALL, 0.02), "item sums": 0.8, "item counts": 0.14}
        epochs_parts = {f"items, epoch {t + 1}": gradients_part / epochs for t in range(epochs)}
        return {name: part * (1 - gradients_part) for name, part in effects.items()} | epochs_parts

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the item effects, then an epoch's gradients."""
        n, items, epochs = self.rank, domain.n_items, self._epochs(domain, budget)
        if not epochs:
            return effects_footprint(domain, budget)
        memory = 1e7 + 8 * 4 * items * n + 2 * COPIED * items * n
        per_million = epochs * n / 100
        gradients = Footprint(memory, 40, 32, epochs * items * n / DRAWS, per_million)
        return effects_footprint(domain, budget).then(gradients)

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Measure item effects, then a clipped gradient of every user in each epoch.

        Privacy: charged (the measurements of ``queries``).
        """
        domain, span = people.domain, people.domain.scale.span
        baseline = self.effects.measure(self._effects(domain, run.terms), people, run)
        gradients = self._gradients(domain, run.terms)
        if not gradients.epochs:
            return factor_release(self, domain, baseline, run.prior.factors_of(domain.n_items))
        items = in_ball(normal_factors(domain.n_items, self.rank), 1.0)
        initial_weight = np.ones(domain.n_items)  # how much of each row is still its random start
        for epoch in range(1, gradients.epochs + 1):
            ridge = factor_steps.user_ridge(items, baseline.counts)
            sums = gradients.measure(people, baseline.item_effects, items, ridge)
            noisy = run.measure(gradients.query(epoch), sums)
            arguments = {"ridge": ridge, "span": span, "remaining_variance": max(0.9 ** (epoch - 1), 0.05)}
            items, covered = factor_steps.user_gradient_step(items, noisy, baseline.counts, **arguments)
            items, initial_weight = in_ball(items, 1.0), initial_weight * (1 - covered)
        # Users fold in with a prior of unit variance, and only on what was learned.
        scale = span * np.sqrt(RATING_VARIANCE / factor_steps.user_ridge(items, baseline.counts))
        return factor_release(self, domain, baseline, items * scale * np.sqrt(1 - initial_weight)[:, None])

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return self.effects.sums(domain, terms, self.norm)

    def _epochs(self, domain: Domain, terms: Terms) -> int:
        """Return no epochs where the noise would hide the factors of the declared crowd."""
        if self.epochs is not None:
            return self.epochs
        return _EPOCHS if shows_gradients(domain, terms) else 0

    def _gradients(self, domain: Domain, terms: Terms) -> RidgeGradients:
        clip = self.clip * domain.scale.span
        clip_norm = self.clip_norm * domain.scale.span * domain.scale.star
        return RidgeGradients(domain, self.rank, self._epochs(domain, terms), clip, clip_norm)
