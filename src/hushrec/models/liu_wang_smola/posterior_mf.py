"""Noisy Langevin dynamics of item factors; user factors stay on devices (after Liu, Wang & Smola 2015)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.models.base import EFFECTS_SPLIT, PrivateModel
from hushrec.models.biases import require_rank
from hushrec.models.effects import EffectSettings, effects_footprint
from hushrec.models.liu_wang_smola.noisy_descent import Descent
from hushrec.models.outputs import factor_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.sums.footprint import Footprint
from hushrec.sums.item_sums import OVERALL, EffectSums


class PosteriorMF(PrivateModel):
    """Langevin dynamics on the posterior of item factors; each step measures clipped gradients.

    With g_u = clip(W s² ∇_Q ln p(x_u | Q), C), the user's vector integrated out, and G = Σ_u g_u + N(0, σ²):
    q_i ← q_i + η_i (G_i/(κ w_i) − λ q_i). W = diag(w) weighs items by their counts, κ is what the clipping is
    expected to leave, and η_i makes the posterior mean of the row's remaining step. The
    charged noise drives the dynamics, so ε holds after any number of steps; the release averages the last
    states. Public factors, where a prior has them, are where rows start and what they shrink to. Prediction:
    r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Privacy: unit ``user`` under add-remove; every user's vector stays on their device. All users may ask for
    their own ε.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, and gradients of item factors",
        "predicts by": "regression of the user's own ratings on item factors",
        "noise": "Gaussian",
        "lists users": "no",
        "paper": "after Liu, Wang & Smola 2015",
    }
    supports: ClassVar = frozenset({("user", "add-remove")})
    informed: ClassVar = True
    personal_epsilon: ClassVar = True

    rank: int = Field(default=5, ge=1, le=128)
    """number of factors."""
    epochs: int | None = Field(default=None, ge=1, le=1000)
    """T, number of steps; by default 32, or none where the noise would hide the factors of the domain's
    crowd, and the release is that of ``GlobalEffects``.
    """
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    """bound on a rating's error, as a fraction of the scale's width."""
    clip_norm: float | None = Field(default=None, ge=1e-6, le=1000, allow_inf_nan=False)
    """C, bound on the norm of a user's whole gradient, in widths of the scale; by default 0.6, and up to 3
    for crowds so large that clipping hides more than noise.
    """
    factor_variance: float = Field(default=0.005, ge=1e-6, le=1, allow_inf_nan=False)
    """prior variance of p·q, in squared widths of the scale."""
    effects: EffectSettings = EffectSettings()
    """how the item effects are measured."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List the item effects, then every epoch's gradients."""
        require_rank(self.rank, domain)
        gradients = self._descent.queries(domain) if self._descends(domain, terms) else ()
        return [*self._effects(domain, terms).queries(), *gradients]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give every epoch the same part, more in all the noisier they are, and effects the rest."""
        if not self._descends(domain, budget):
            return EFFECTS_SPLIT
        noise = self._descent.reach(domain.crowd, domain.n_items, budget).noise ** 2
        gradients_part = 0.6 + 0.3 * noise / (1 + noise)
        effects = {**dict.fromkeys(OVERALL, 0.02), "item sums": 0.8, "item counts": 0.14}
        split = {name: part * (1 - gradients_part) for name, part in effects.items()}
        names = [query.name for query in self._descent.queries(domain)]
        return split | dict.fromkeys(names, gradients_part / len(names))

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the item effects, then an epoch's gradients and the states to average."""
        effects = effects_footprint(domain, budget)
        if not self._descends(domain, budget):
            return effects
        return effects.then(self._descent.footprint(domain.n_items))

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Measure item effects, then take Langevin steps of the item factors.

        Privacy: charged (the measurements of ``queries``).
        """
        domain, weighted = people.domain, people.with_weights(run.weights)
        baseline = self.effects.measure(self._effects(domain, run.terms), weighted, run)
        if not self._descends(domain, run.terms):
            return factor_release(self, domain, baseline, run.prior.factors_of(domain.n_items))
        factors = self._descent.factors(domain.crowd, baseline, weighted, run)
        return factor_release(self, domain, baseline, factors)

    @property
    def _descent(self) -> Descent:
        return Descent(
            rank=self.rank,
            clip=self.clip,
            clip_norm=self.clip_norm,
            factor_variance=self.factor_variance,
            epochs=self.epochs,
        )

    def _descends(self, domain: Domain, terms: Terms) -> bool:
        """Return whether there are epochs: by default, only where noise leaves factors of the crowd."""
        return self.epochs is not None or self._descent.shows(domain.crowd, domain.n_items, terms)

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return self.effects.sums(domain, terms, self.norm, personal_epsilon=True)
