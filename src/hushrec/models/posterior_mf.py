"""Noisy Langevin dynamics of item factors; user factors stay on devices (after Liu, Wang & Smola 2015)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.estimation.clipped_gradients import Reach, item_scales, reach
from hushrec.estimation.factor_steps import langevin_step, leading, prior_variance
from hushrec.estimation.shrinkage import RATING_VARIANCE
from hushrec.models.phases.biases import require_rank
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import factor_release
from hushrec.models.phases.repeated import EFFECTS_SPLIT
from hushrec.models.private import PrivateModel
from hushrec.models.visibility import MARGINAL_GRADIENTS, mu
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.query import AnyQuery, Sum
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.solvers.initial import normal_factors
from hushrec.statistics.footprint import COPIED, DRAWS, Footprint
from hushrec.statistics.item_sums import OVERALL, EffectSums
from hushrec.statistics.person_gradients import MarginalGradients
from hushrec.statistics.population import Population

# Chosen by hand: no page records the runs that chose these numbers.
_REMAINING = 0.27
"""Assumed fraction of the prior variance that remains before the last epoch; it falls geometrically."""
_AVERAGED = 0.3
"""Fraction of the epochs whose states are averaged."""
_EPOCHS = 32
"""Default number of epochs, with which ``MARGINAL_GRADIENTS`` of ``models/visibility.py`` was measured."""
_DOUBT = 0.3
"""Variance of an item's factors around public ones, over that of unknown factors."""
_CLIP_NORM = 0.6
"""Default clip norm in widths of the scale, up to ε = 20."""
_WIDEST_CLIP = 100.0
"""ε beyond which the default clip norm no longer grows; the non-private baseline has this one."""


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
    sample_rate: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    """probability that a user takes part in a step."""
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    """bound on a rating's error, as a fraction of the scale's width."""
    clip_norm: float | None = Field(default=None, ge=1e-6, le=1000, allow_inf_nan=False)
    """C, bound on the norm of a user's whole gradient, in widths of the scale; by default 0.6, and from ε
    = 20 on 0.03 ε.
    """
    factor_variance: float = Field(default=0.005, ge=1e-6, le=1, allow_inf_nan=False)
    """prior variance of p·q, in squared widths of the scale."""
    effects: EffectSettings = EffectSettings()
    """how the item effects are measured."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """List the item effects, then every epoch's gradients."""
        require_rank(self.rank, domain)
        return [*self._effects(domain, terms).queries(), *self._gradients(domain, terms).queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give every epoch the same part, more in all the noisier they are, and effects the rest."""
        epochs = self._epochs(domain, budget)
        if not epochs:
            return EFFECTS_SPLIT
        noise = self._reach(domain, budget).noise ** 2
        gradients_part = 0.6 + 0.3 * noise / (1 + noise)
        effects = {**dict.fromkeys(OVERALL, 0.02), "item sums": 0.8, "item counts": 0.14}
        split = {name: part * (1 - gradients_part) for name, part in effects.items()}
        return split | {f"items, epoch {t + 1}": gradients_part / epochs for t in range(epochs)}

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the item effects, then an epoch's gradients and the states to average."""
        n, items = self.rank, domain.n_items
        epochs = self._epochs(domain, budget)
        if not epochs:
            return effects_footprint(domain, budget)
        states = 2 + _AVERAGED * epochs
        memory = 1e7 + 8 * items * n * (states + 12) + COPIED * items * n
        per_million = epochs * (1 + n**2 / 20) / 10
        steps = Footprint(memory, 48, 64, epochs * items * n / DRAWS, per_million)
        return effects_footprint(domain, budget).then(steps)

    def fit(self, feedback: People, run: Run) -> Release:
        """Measure item effects, then take Langevin steps of the item factors.

        Privacy: charged (the events of ``queries``).
        """
        domain, gradients = feedback.domain, self._gradients(feedback.domain, run.terms)
        people, prior = Population(feedback, run.weights), self._prior(domain)
        baseline = self.effects.measure(self._effects(domain, run.terms), people, run)
        public = run.prior.factors if run.prior.factors.size else np.zeros((domain.n_items, 0))
        if not gradients.epochs:
            return factor_release(self, domain, baseline, public)
        reached, counts = self._reach(domain, run.terms), np.maximum(baseline.counts, 1e-3)
        information, scales = counts * reached.information, item_scales(counts)
        mean, untouched = leading(public, self.rank)
        items = np.where(mean, mean, np.sqrt(prior * self.rank) * normal_factors(*mean.shape))
        spread = np.where(mean.any(axis=1), _DOUBT, 1.0) * prior
        initial_weight = np.ones(domain.n_items)  # how much of each row is still its start
        states = []
        for t in range(1, gradients.epochs + 1):
            query = gradients.query(t)
            sums = partial(_gradient, gradients, query, people, run, baseline.item_effects, items, scales)
            noisy, seen_part = run.measure(query, sums), query.rate * reached.kept * scales
            sampling = (1 - query.rate) / query.rate * information * gradients.noise
            # Welling & Teh 2011, with the noise of the measurement as the noise of the dynamics.
            items, covered = langevin_step(
                items,
                noisy.values / seen_part[:, None],
                (noisy.sigma / seen_part) ** 2 + sampling,
                information,
                mean=mean,
                pull=gradients.noise / spread * (1 + reached.noise),
                variance=spread * _REMAINING ** ((t - 1) / gradients.epochs),
            )
            initial_weight *= 1 - covered
            if t > gradients.epochs * (1 - _AVERAGED):
                states.append(items)
        # Users fold in only on what was learned or is public, not on a random start.
        learned = np.where(mean, 1.0, np.sqrt(1 - initial_weight)[:, None])
        factors = np.hstack([np.mean(states, axis=0) * learned, untouched])
        return factor_release(self, domain, baseline, factors)

    def learns_factors(self, domain: Domain, terms: Terms) -> bool:
        """Return whether there are epochs: none where noise or few ratings each hide the factors."""
        return self._epochs(domain, terms) > 0

    def _epochs(self, domain: Domain, terms: Terms) -> int:
        """Return no epochs where the noise would hide the factors of the declared crowd."""
        if self.epochs is not None:
            return self.epochs
        reached = self._reach(domain, terms)
        return _EPOCHS if not reached.noise or reached.prospect >= MARGINAL_GRADIENTS else 0

    def _prior(self, domain: Domain) -> float:
        return prior_variance(self.factor_variance, self.rank, domain.scale.span)

    def _clip_norm(self, terms: Terms) -> float:
        """Return C in widths of the scale."""
        return self.clip_norm or _CLIP_NORM * max(min(terms.epsilon, _WIDEST_CLIP) / 20, 1)

    def _reach(self, domain: Domain, terms: Terms) -> Reach:
        """Expect how much the declared crowd's gradients show."""
        deviation = np.sqrt(RATING_VARIANCE)
        ratio = self.factor_variance / self.rank / RATING_VARIANCE
        clip_norm = self._clip_norm(terms) / deviation
        people, ratings, _ = domain.crowd
        return reach(people, ratings, domain.n_items, self.rank, ratio, clip_norm, mu(terms))

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return self.effects.sums(domain, terms, self.norm, personal_epsilon=True)

    def _gradients(self, domain: Domain, terms: Terms) -> MarginalGradients:
        span = domain.scale.span
        return MarginalGradients(
            domain=domain,
            rank=self.rank,
            epochs=self._epochs(domain, terms),
            rate=self.sample_rate,
            noise=RATING_VARIANCE * span**2,
            clip=self.clip * span,
            clip_norm=self._clip_norm(terms) * span,
        )


def _gradient(
    gradients: MarginalGradients,
    query: Sum,
    people: Population,
    run: Run,
    effects: Floats,
    items: Floats,
    scales: Floats,
) -> Ints:
    """Sum an epoch's gradients over all users, or over the sample that the run draws."""
    sample = run.sample(query)
    return gradients.measure(people if sample is None else people.sampled(sample), effects, items, scales)
